"""The gateway: the service put together with its keys, and the server that runs it."""
