"""A store in one SQLite file: the embedded default."""
