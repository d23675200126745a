"""The `hansard` command."""
