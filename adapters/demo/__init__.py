"""A small local model server and the tour that `onrecord demo` gives of it."""
