"""Bedrock's Converse API."""
