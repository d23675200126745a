"""From the histories that other programs keep to conversations, one module a kind of source."""
