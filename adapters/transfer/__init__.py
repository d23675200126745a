"""A conversation to a file and back: export and import."""
