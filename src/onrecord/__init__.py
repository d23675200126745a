"""Onrecord: the verbatim record of what agents said and did.

``onrecord.connect(url)`` gives a `Store`, ``store.conversation(key)`` a `Talk`; both say the rest.
All errors are `OnrecordError`; onrecord/domain/errors.py shows their tree.
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from onrecord.adapters.app import connect
from onrecord.adapters.conversation.conversation import Talk
from onrecord.adapters.recording.spool import RecordingWarning
from onrecord.adapters.store import ForgetResult, Store, SweepResult
from onrecord.adapters.streams.results import Rejected
from onrecord.domain.content import Document, HeldFile, Native, Text, Url
from onrecord.domain.errors import (
    ConversationClosed,
    ConversationForgotten,
    ConversationNotFound,
    CorruptRecord,
    DocumentMissing,
    ForeignDatabase,
    IdempotencyMismatch,
    InvalidContent,
    InvalidExport,
    InvalidInput,
    InvalidModel,
    InvalidProvider,
    MalformedJson,
    NothingToSend,
    NotInstalled,
    NotRecorded,
    OnrecordError,
    ResultsWithoutConversation,
    RoundOpen,
    SchemaNewer,
    SchemaOlder,
    SchemaUnreleased,
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
    WrongNode,
)
from onrecord.domain.log import Duplicate, Recorded
from onrecord.domain.tool_context import ToolCallContext
from onrecord.domain.tools import BuiltinTool, ToolDefinition, ToolSource
from onrecord.projections.history.window import MessageWindow, Window

if TYPE_CHECKING:
    from onrecord.adapters.check.check import Verdict, check_request
    from onrecord.adapters.settings import capabilities
    from onrecord.adapters.tools.a2a import agent_card
    from onrecord.adapters.tools.mcp import allow, deny, mcp_listing, mcp_tools
    from onrecord.adapters.tools.python import tool
    from onrecord.adapters.tools.runner.runner import ToolRun, ToolRunner, run_until_answered
    from onrecord.adapters.tools.tool import Failed, Tool, Toolset
    from onrecord.adapters.views.pages import Page
    from onrecord.adapters.views.reading import Views
    from onrecord.adapters.wire.clients.requirement import require_recording
    from onrecord.projections.apis.capabilities import Capabilities, Given
    from onrecord.projections.apis.rules import Violation
    from onrecord.projections.history.documents import HeldDocument
    from onrecord.projections.history.server_tools import Activity
    from onrecord.projections.views.audit import Deed
    from onrecord.projections.views.conversations import Overview
    from onrecord.projections.views.search import Hit
    from onrecord.projections.views.tool_ledger import LedgerCall
    from onrecord.projections.views.usage import ModelUsage
    from onrecord.projections.views.window import Exchange, remembered

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
    "DocumentMissing",
    "Duplicate",
    "Exchange",
    "Failed",
    "ForeignDatabase",
    "ForgetResult",
    "Given",
    "HeldDocument",
    "HeldFile",
    "Hit",
    "IdempotencyMismatch",
    "InvalidContent",
    "InvalidExport",
    "InvalidInput",
    "InvalidModel",
    "InvalidProvider",
    "LedgerCall",
    "MalformedJson",
    "MessageWindow",
    "ModelUsage",
    "Native",
    "NotInstalled",
    "NotRecorded",
    "NothingToSend",
    "OnrecordError",
    "Overview",
    "Page",
    "Recorded",
    "RecordingWarning",
    "Rejected",
    "ResultsWithoutConversation",
    "RoundOpen",
    "SchemaNewer",
    "SchemaOlder",
    "SchemaUnreleased",
    "StaleCursor",
    "StorageBusy",
    "StorageError",
    "StorageFull",
    "StorageReadOnly",
    "StorageUnavailable",
    "Store",
    "SweepResult",
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
    "WrongNode",
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
    "require_recording",
    "run_until_answered",
    "tool",
]

# What few programs use, and where it is: importing it with the rest would double the time.
_LATER: Final = {
    "capabilities": "onrecord.adapters.settings",
    "require_recording": "onrecord.adapters.wire.clients.requirement",
    "Verdict": "onrecord.adapters.check.check",
    "check_request": "onrecord.adapters.check.check",
    "agent_card": "onrecord.adapters.tools.a2a",
    "mcp_listing": "onrecord.adapters.tools.mcp",
    "allow": "onrecord.adapters.tools.mcp",
    "deny": "onrecord.adapters.tools.mcp",
    "mcp_tools": "onrecord.adapters.tools.mcp",
    "tool": "onrecord.adapters.tools.python",
    "ToolRun": "onrecord.adapters.tools.runner.runner",
    "ToolRunner": "onrecord.adapters.tools.runner.runner",
    "Failed": "onrecord.adapters.tools.tool",
    "Tool": "onrecord.adapters.tools.tool",
    "run_until_answered": "onrecord.adapters.tools.runner.runner",
    "Toolset": "onrecord.adapters.tools.tool",
    "Page": "onrecord.adapters.views.pages",
    "Views": "onrecord.adapters.views.reading",
    "Capabilities": "onrecord.projections.apis.capabilities",
    "Given": "onrecord.projections.apis.capabilities",
    "HeldDocument": "onrecord.projections.history.documents",
    "Violation": "onrecord.projections.apis.rules",
    "Activity": "onrecord.projections.history.server_tools",
    "Deed": "onrecord.projections.views.audit",
    "Overview": "onrecord.projections.views.conversations",
    "Hit": "onrecord.projections.views.search",
    "LedgerCall": "onrecord.projections.views.tool_ledger",
    "ModelUsage": "onrecord.projections.views.usage",
    "Exchange": "onrecord.projections.views.window",
    "remembered": "onrecord.projections.views.window",
}


def __getattr__(name: str) -> Any:
    """Return a name that is imported when it is first asked for; AttributeError for any other."""
    if name not in _LATER:
        raise AttributeError(f"module 'onrecord' has no attribute {name!r}")
    return getattr(import_module(_LATER[name]), name)


def __dir__() -> list[str]:
    """Return all names, those that are imported later too."""
    return sorted({*globals(), *_LATER})


if os.environ.get("ONRECORD_REQUIRE_RECORDING"):
    from onrecord.adapters.wire.clients.requirement import require_by_environment

    require_by_environment()
