"""Everything folded from events: turns, windows, requests and the views that are kept."""
