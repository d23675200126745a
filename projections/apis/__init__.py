"""All that is known of an API, pure: what it says in neutral form, requests, and their rules."""
