"""The MCP server: agents read their own history, and change nothing. `onrecord mcp` starts it."""
