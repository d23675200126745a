"""One conversation in the log: its events appended, read, and told by lineage."""
