"""What a conversation is as the model sees it: a fold of its events."""
