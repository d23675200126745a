"""The wire of Gemini's API: the Developer API's and Vertex AI's."""
