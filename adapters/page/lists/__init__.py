"""What the page shows of all conversations."""
