"""The commands of `onrecord`: their arguments and their help."""
