"""What a model saw at a version, and what changed since another one."""
