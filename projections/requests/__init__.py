"""From turns to the request of each API, one module an API."""
