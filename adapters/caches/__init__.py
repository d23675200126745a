"""What is kept in memory because it was used last."""
