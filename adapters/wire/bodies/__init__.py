"""Bodies as they pass: unpacked, framed, held in memory or in a file, freed of secrets."""
