"""What an operator does to a store: erase, verify, sweep."""
