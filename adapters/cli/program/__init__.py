"""What the commands of `onrecord` share: their options, the program before them, the store they work on."""
