"""What a request on the wire means for a conversation, and how it is recorded."""
