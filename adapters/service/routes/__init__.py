"""The table of routes: what the service answers, and what its document describes."""
