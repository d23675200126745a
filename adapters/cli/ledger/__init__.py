"""The commands of the ledger: audit, seals, proofs and evidence, and the move into encryption."""
