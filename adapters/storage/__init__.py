"""The log of events on each database, and files that are written whole."""
