"""What a caller does to one conversation: says, asks, reads, amends."""
