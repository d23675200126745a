"""The page: the record in a browser, made on the server from what the routes of the service read."""
