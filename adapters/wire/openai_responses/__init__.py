"""The wire of OpenAI's Responses API."""
