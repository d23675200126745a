"""What the streams of an agent framework's session hold, folded from its events."""
