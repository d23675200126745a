"""Gemini's API: Google's own service, and Vertex."""
