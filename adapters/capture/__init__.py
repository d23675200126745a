"""From the bytes on the wire to events, one module an API."""
