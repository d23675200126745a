"""The store and its conversations, awaited: the verbs of the other face, driven by an event loop."""
