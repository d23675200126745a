"""Batches of requests, and their results, as they cross the wire."""
