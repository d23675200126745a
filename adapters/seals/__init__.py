"""How a log is sealed: keys that sign, places that keep checkpoints and tiles, and what they prove."""
