"""Hansard keeps the verbatim record of what agents said and did."""

__version__ = "0.1.0"
