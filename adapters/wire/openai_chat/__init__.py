"""The wire of OpenAI's Chat Completions API, and of compatible servers."""
