"""What commands and the demo write to a terminal: drawn, plain, or JSON."""
