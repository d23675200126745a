"""The keys of subjects in a SQLite file."""
