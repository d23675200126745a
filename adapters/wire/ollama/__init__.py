"""The wire of Ollama's chat API."""
