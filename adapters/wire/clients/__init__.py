"""The clients of SDKs: wrapped, found unwrapped, required to be wrapped."""
