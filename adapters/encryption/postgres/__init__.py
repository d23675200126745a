"""The key store on PostgreSQL: a schema of its own, in another database than the log."""
