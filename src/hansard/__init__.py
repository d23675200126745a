"""Hansard: the verbatim record of what agents said and did.

``hansard.connect(url)`` gives a `Store`, ``store.conversation(key)`` a `Talk`; both say the rest.
All errors are `HansardError`; hansard/domain/errors.py shows their tree.
"""

from hansard.adapters.app import connect
from hansard.adapters.capability_files import capabilities
from hansard.adapters.capture.spool import RecordingWarning
from hansard.adapters.request_check import Verdict, check_request
from hansard.adapters.results import Rejected
from hansard.adapters.store import Store
from hansard.adapters.talk import Talk
from hansard.adapters.tools.a2a_cards import agent_card
from hansard.adapters.tools.mcp_listing import mcp_listing
from hansard.adapters.tools.mcp_meta import allow, deny
from hansard.adapters.tools.mcp_session import mcp_tools
from hansard.adapters.tools.python_tools import tool
from hansard.adapters.tools.runner import ToolRun, ToolRunner
from hansard.adapters.tools.tool import Failed, Tool
from hansard.adapters.tools.tool_loop import run_until_answered
from hansard.adapters.tools.toolset import Toolset
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
)
from hansard.domain.log import Duplicate, Recorded
from hansard.domain.tool_context import ToolCallContext
from hansard.domain.tools import BuiltinTool, ToolDefinition, ToolSource
from hansard.projections.capabilities import Capabilities, Given
from hansard.projections.referee.violation import Violation
from hansard.projections.server_tools import Activity
from hansard.projections.window import MessageWindow, Window

__version__ = "0.1.0"

__all__ = [
    "Activity",
    "BuiltinTool",
    "Capabilities",
    "ConversationClosed",
    "ConversationForgotten",
    "ConversationNotFound",
    "CorruptRecord",
    "Document",
    "Duplicate",
    "Failed",
    "ForeignDatabase",
    "Given",
    "HansardError",
    "HeldFile",
    "IdempotencyMismatch",
    "InvalidContent",
    "InvalidExport",
    "InvalidInput",
    "InvalidModel",
    "MalformedJson",
    "MessageWindow",
    "Native",
    "NotInstalled",
    "NotRecorded",
    "NothingToSend",
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
    "run_until_answered",
    "tool",
]
