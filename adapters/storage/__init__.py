"""The log of events on each database."""
