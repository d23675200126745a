"""The wire of Bedrock's Converse API."""
