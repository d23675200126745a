"""The stores of agent frameworks over one log: a module for each framework (docs/frameworks.md)."""
