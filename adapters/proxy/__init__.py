"""The recording proxy: a program is recorded whose base URL is changed, and nothing else of it."""
