"""The OpenAI Agents SDK keeps its sessions in a store: docs/frameworks-openai-agents.md."""
