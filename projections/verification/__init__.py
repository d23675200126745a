"""What must hold of a log, whoever wrote it."""
