"""A conversation as the page shows it: its events, and what is done with them."""
