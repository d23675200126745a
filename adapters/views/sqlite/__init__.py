"""The views of a SQLite log, in a file beside it."""
