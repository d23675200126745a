"""The marks of ids that are kept for operators."""
