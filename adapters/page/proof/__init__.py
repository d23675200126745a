"""The proof of a conversation: what is sealed of it, and whether it is as it was sealed."""
