"""A store over HTTP: the backend that asks a service, and the forms that both sides share."""
