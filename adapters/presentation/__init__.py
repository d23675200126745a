"""What is shown of a store, on a terminal, on the page and as JSON alike: its words, not its layout."""
