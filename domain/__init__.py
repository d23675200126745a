"""What a conversation is: pure values and decisions, with no clock, no randomness and no I/O."""
