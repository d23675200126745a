"""The calls that wait for a person, as the page shows them, and what the person decides."""
