"""A request beside the log: which branch it goes on from, and what of it is new."""
