"""AES-256-GCM, where the keys of subjects are kept, and what encrypts these keys."""
