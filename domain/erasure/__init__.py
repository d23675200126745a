"""How a store takes back what was said, for good."""
