"""Whether a provider would take a request: the SDKs' types, and the providers' rules."""
