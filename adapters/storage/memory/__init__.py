"""A store in dictionaries."""
