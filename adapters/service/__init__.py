"""The service: the store over HTTP, in any language. `onrecord serve` starts it."""
