"""The stores of agent frameworks, over one log: one module a framework, and what all of them share."""
