"""The views of a log on PostgreSQL, kept by workers."""
