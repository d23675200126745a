"""Sessions for Google's ADK: how its events and its three kinds of state are recorded, and read again."""
