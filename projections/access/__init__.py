"""What was read, by whom and when, from what the operators' streams tell of it."""
