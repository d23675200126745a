"""Runs the calls that await a result."""
