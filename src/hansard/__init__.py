"""Hansard: the verbatim record of what agents said and did.

``hansard.connect(url)`` gives a `Store`, ``store.conversation(key)`` a `Talk`; both say the rest.
All errors are `HansardError`; hansard/domain/errors.py shows their tree.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from hansard.adapters.app import connect
from hansard.adapters.capture.spool import RecordingWarning
from hansard.adapters.results import Rejected
from hansard.adapters.store import Store
from hansard.adapters.talk import Talk
from hansard.domain.content import Document, HeldFile, Native, Text, Url
from hansard.domain.errors import (
    ConversationClosed,
    ConversationForgotten,
    ConversationNotFound,
    CorruptRecord,
    ForeignDatabase,
    HansardError,
    IdempotencyMismatch,
    InvalidContent,
    InvalidExport,
    InvalidInput,
    InvalidModel,
    MalformedJson,
    NothingToSend,
    NotInstalled,
    NotRecorded,
    ResultsWithoutConversation,
    RoundOpen,
    SchemaNewer,
    SchemaOlder,
    StaleCursor,
    StorageBusy,
    StorageError,
    StorageFull,
    StorageReadOnly,
    StorageUnavailable,
    TooManyModelCalls,
    UnknownApi,
    UnknownTool,
    UnsupportedClient,
    UnsupportedDocument,
    UnsupportedFilesystem,
    UnsupportedTool,
    VersionConflict,
    ViewStopped,
)
from hansard.domain.log import Duplicate, Recorded
from hansard.domain.tool_context import ToolCallContext
from hansard.domain.tools import BuiltinTool, ToolDefinition, ToolSource
from hansard.projections.window import MessageWindow, Window

if TYPE_CHECKING:
    from hansard.adapters.capability_files import capabilities
    from hansard.adapters.request_check import Verdict, check_request
    from hansard.adapters.tools.a2a_cards import agent_card
    from hansard.adapters.tools.mcp_listing import mcp_listing
    from hansard.adapters.tools.mcp_meta import allow, deny
    from hansard.adapters.tools.mcp_session import mcp_tools
    from hansard.adapters.tools.python_tools import tool
    from hansard.adapters.tools.runner import ToolRun, ToolRunner
    from hansard.adapters.tools.tool import Failed, Tool
    from hansard.adapters.tools.tool_loop import run_until_answered
    from hansard.adapters.tools.toolset import Toolset
    from hansard.adapters.views.page import Page
    from hansard.adapters.views.reading import Views
    from hansard.projections.capabilities import Capabilities, Given
    from hansard.projections.documents import HeldDocument
    from hansard.projections.referee.violation import Violation
    from hansard.projections.server_tools import Activity
    from hansard.projections.views.audit import Deed
    from hansard.projections.views.conversations import Overview
    from hansard.projections.views.search import Hit
    from hansard.projections.views.tool_ledger import LedgerCall
    from hansard.projections.views.usage import ModelUsage
    from hansard.projections.views.window import Exchange, remembered

__version__ = "0.1.0"

__all__ = [
    "Activity",
    "BuiltinTool",
    "Capabilities",
    "ConversationClosed",
    "ConversationForgotten",
    "ConversationNotFound",
    "CorruptRecord",
    "Deed",
    "Document",
    "Duplicate",
    "Exchange",
    "Failed",
    "ForeignDatabase",
    "Given",
    "HansardError",
    "HeldDocument",
    "HeldFile",
    "Hit",
    "IdempotencyMismatch",
    "InvalidContent",
    "InvalidExport",
    "InvalidInput",
    "InvalidModel",
    "LedgerCall",
    "MalformedJson",
    "MessageWindow",
    "ModelUsage",
    "Native",
    "NotInstalled",
    "NotRecorded",
    "NothingToSend",
    "Overview",
    "Page",
    "Recorded",
    "RecordingWarning",
    "Rejected",
    "ResultsWithoutConversation",
    "RoundOpen",
    "SchemaNewer",
    "SchemaOlder",
    "StaleCursor",
    "StorageBusy",
    "StorageError",
    "StorageFull",
    "StorageReadOnly",
    "StorageUnavailable",
    "Store",
    "Talk",
    "Text",
    "TooManyModelCalls",
    "Tool",
    "ToolCallContext",
    "ToolDefinition",
    "ToolRun",
    "ToolRunner",
    "ToolSource",
    "Toolset",
    "UnknownApi",
    "UnknownTool",
    "UnsupportedClient",
    "UnsupportedDocument",
    "UnsupportedFilesystem",
    "UnsupportedTool",
    "Url",
    "Verdict",
    "VersionConflict",
    "ViewStopped",
    "Views",
    "Violation",
    "Window",
    "__version__",
    "agent_card",
    "allow",
    "capabilities",
    "check_request",
    "connect",
    "deny",
    "mcp_listing",
    "mcp_tools",
    "remembered",
    "run_until_answered",
    "tool",
]

# What few programs use, and where it is: importing it with the rest would double the time.
_LATER: Final = {
    "capabilities": "hansard.adapters.capability_files",
    "Verdict": "hansard.adapters.request_check",
    "check_request": "hansard.adapters.request_check",
    "agent_card": "hansard.adapters.tools.a2a_cards",
    "mcp_listing": "hansard.adapters.tools.mcp_listing",
    "allow": "hansard.adapters.tools.mcp_meta",
    "deny": "hansard.adapters.tools.mcp_meta",
    "mcp_tools": "hansard.adapters.tools.mcp_session",
    "tool": "hansard.adapters.tools.python_tools",
    "ToolRun": "hansard.adapters.tools.runner",
    "ToolRunner": "hansard.adapters.tools.runner",
    "Failed": "hansard.adapters.tools.tool",
    "Tool": "hansard.adapters.tools.tool",
    "run_until_answered": "hansard.adapters.tools.tool_loop",
    "Toolset": "hansard.adapters.tools.toolset",
    "Page": "hansard.adapters.views.page",
    "Views": "hansard.adapters.views.reading",
    "Capabilities": "hansard.projections.capabilities",
    "Given": "hansard.projections.capabilities",
    "HeldDocument": "hansard.projections.documents",
    "Violation": "hansard.projections.referee.violation",
    "Activity": "hansard.projections.server_tools",
    "Deed": "hansard.projections.views.audit",
    "Overview": "hansard.projections.views.conversations",
    "Hit": "hansard.projections.views.search",
    "LedgerCall": "hansard.projections.views.tool_ledger",
    "ModelUsage": "hansard.projections.views.usage",
    "Exchange": "hansard.projections.views.window",
    "remembered": "hansard.projections.views.window",
}


def __getattr__(name: str) -> Any:
    """Return a name that is imported when it is first asked for; AttributeError for any other."""
    if name not in _LATER:
        raise AttributeError(f"module 'hansard' has no attribute {name!r}")
    return getattr(import_module(_LATER[name]), name)


def __dir__() -> list[str]:
    """Return all names, those that are imported later too."""
    return sorted({*globals(), *_LATER})
