"""BPMN models whose sub-processes are tools of an agent, as process engines run them (docs/bpmn.md)."""

from onrecord.adapters.bpmn.gateways import answers_of, mcp_call, mcp_discovery
from onrecord.adapters.bpmn.lint import lint, lint_tools
from onrecord.adapters.bpmn.process_tools import DeployedModels, tools_of
from onrecord.adapters.bpmn.wiring import wiring_of
from onrecord.adapters.conversation.ingest import inputs_of

__all__ = [
    "DeployedModels",
    "answers_of",
    "inputs_of",
    "lint",
    "lint_tools",
    "mcp_call",
    "mcp_discovery",
    "tools_of",
    "wiring_of",
]
