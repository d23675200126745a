"""Tools: where their definitions come from, and what runs them."""
