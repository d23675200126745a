"""The maintained views: each a fold of the log into rows that are kept, one module each."""
