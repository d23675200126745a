"""A small local model server and the tour that `hansard demo` gives of it."""
