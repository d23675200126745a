"""The wire of Anthropic's Messages API."""
