"""The providers' services as the demo's server speaks them."""
