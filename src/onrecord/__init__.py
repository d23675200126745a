"""Onrecord: the verbatim record of what agents said and did.

``onrecord.connect(url)`` gives a `Store`, ``store.conversation(key)`` a `Conversation`; both say the rest.
All errors are `OnrecordError`; `onrecord.errors` shows their tree.
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from onrecord import errors
from onrecord.adapters.app import connect
from onrecord.adapters.conversation.conversation import Conversation
from onrecord.adapters.recording.spool import RecordingWarning
from onrecord.adapters.store import ForgetResult, Store, SweepResult
from onrecord.adapters.streams.results import Rejected
from onrecord.domain.content import Document, HeldFile, Native, Text, Url
from onrecord.domain.log import Duplicate, Recorded
from onrecord.domain.tool_context import ToolCallContext
from onrecord.domain.tools import BuiltinTool, ToolDefinition, ToolSource
from onrecord.errors import (
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
from onrecord.projections.history.exchange_window import MessageWindow, Window

if TYPE_CHECKING:
    from onrecord.adapters.check.check import RequestCheck, check_request
    from onrecord.adapters.conversation.conversation import ConversationLog
    from onrecord.adapters.conversation.conversation_tools import ConversationTools
    from onrecord.adapters.redis.relay import Relay
    from onrecord.adapters.settings import capabilities
    from onrecord.adapters.store import Listed
    from onrecord.adapters.tools.a2a import agent_card
    from onrecord.adapters.tools.mcp import allow, deny, mcp_listing, mcp_tools
    from onrecord.adapters.tools.python import tool
    from onrecord.adapters.tools.runner.runner import ToolRun, ToolRunner, run_until_answered
    from onrecord.adapters.tools.tool import Failed, Tool, Toolset
    from onrecord.adapters.upkeep.verifying import Verified, VerifiedView
    from onrecord.adapters.views.pages import Page
    from onrecord.adapters.views.ports import Keeper
    from onrecord.adapters.views.reading import Views
    from onrecord.adapters.wire.clients.binding import require_recording
    from onrecord.domain.content import Blob, Reasoning, ToolCall, ToolResult
    from onrecord.domain.encoding import Erased, Unrecognised
    from onrecord.domain.erasures import ErasureCompleted, ErasureIntended
    from onrecord.domain.events import (
        AnnotationAdded,
        AttemptFailed,
        CompactionRecorded,
        ContentRedacted,
        ContextCarried,
        ConversationEnded,
        ConversationForked,
        ConversationStarted,
        DocumentExtracted,
        HistoryCompacted,
        InstructionsSet,
        LineAdopted,
        MessageRecorded,
        OpaqueRecorded,
        ReasoningRecorded,
        RequestSent,
        ResponseCompleted,
        ResponseInterrupted,
        ServerToolCallRecorded,
        ServerToolResultRecorded,
        SignalReceived,
        ToolCallRecorded,
        ToolResultRecorded,
        ToolResultRejected,
        ToolsDeclared,
        Unfinished,
    )
    from onrecord.domain.head import Head
    from onrecord.domain.header import ClientHeader, Root
    from onrecord.domain.log import Cursor, RecordedEvent, Subscription, Told
    from onrecord.projections.apis.capabilities import Capabilities, CapabilityOverride
    from onrecord.projections.apis.declared_tools import Declared
    from onrecord.projections.apis.request import Options, Request
    from onrecord.projections.apis.rules import Violation
    from onrecord.projections.history.erasure_records import ErasureEntry
    from onrecord.projections.history.held_documents import HeldDocument
    from onrecord.projections.history.history import Block, Turn, Usage
    from onrecord.projections.history.server_tools import Activity
    from onrecord.projections.verification.verification import Fault
    from onrecord.projections.views.audit import AuditEntry, ErasureDeed
    from onrecord.projections.views.conversations import Overview
    from onrecord.projections.views.search import Hit
    from onrecord.projections.views.tool_ledger import ToolCallEntry
    from onrecord.projections.views.usage import ModelUsage
    from onrecord.projections.views.window import Exchange, remembered

__version__ = "0.1.0"

__all__ = [
    "Activity",
    "AnnotationAdded",
    "AttemptFailed",
    "AuditEntry",
    "Blob",
    "Block",
    "BuiltinTool",
    "Capabilities",
    "CapabilityOverride",
    "ClientHeader",
    "CompactionRecorded",
    "ContentRedacted",
    "ContextCarried",
    "Conversation",
    "ConversationClosed",
    "ConversationEnded",
    "ConversationForgotten",
    "ConversationForked",
    "ConversationLog",
    "ConversationNotFound",
    "ConversationStarted",
    "ConversationTools",
    "CorruptRecord",
    "Cursor",
    "Declared",
    "Document",
    "DocumentExtracted",
    "DocumentMissing",
    "Duplicate",
    "Erased",
    "ErasureCompleted",
    "ErasureDeed",
    "ErasureEntry",
    "ErasureIntended",
    "Exchange",
    "Failed",
    "Fault",
    "ForeignDatabase",
    "ForgetResult",
    "Head",
    "HeldDocument",
    "HeldFile",
    "HistoryCompacted",
    "Hit",
    "IdempotencyMismatch",
    "InstructionsSet",
    "InvalidContent",
    "InvalidExport",
    "InvalidInput",
    "InvalidModel",
    "InvalidProvider",
    "Keeper",
    "LineAdopted",
    "Listed",
    "MalformedJson",
    "MessageRecorded",
    "MessageWindow",
    "ModelUsage",
    "Native",
    "NotInstalled",
    "NotRecorded",
    "NothingToSend",
    "OnrecordError",
    "OpaqueRecorded",
    "Options",
    "Overview",
    "Page",
    "Reasoning",
    "ReasoningRecorded",
    "Recorded",
    "RecordedEvent",
    "RecordingWarning",
    "Rejected",
    "Relay",
    "Request",
    "RequestCheck",
    "RequestSent",
    "ResponseCompleted",
    "ResponseInterrupted",
    "ResultsWithoutConversation",
    "Root",
    "RoundOpen",
    "SchemaNewer",
    "SchemaOlder",
    "SchemaUnreleased",
    "ServerToolCallRecorded",
    "ServerToolResultRecorded",
    "SignalReceived",
    "StaleCursor",
    "StorageBusy",
    "StorageError",
    "StorageFull",
    "StorageReadOnly",
    "StorageUnavailable",
    "Store",
    "Subscription",
    "SweepResult",
    "Text",
    "Told",
    "TooManyModelCalls",
    "Tool",
    "ToolCall",
    "ToolCallContext",
    "ToolCallEntry",
    "ToolCallRecorded",
    "ToolDefinition",
    "ToolResult",
    "ToolResultRecorded",
    "ToolResultRejected",
    "ToolRun",
    "ToolRunner",
    "ToolSource",
    "ToolsDeclared",
    "Toolset",
    "Turn",
    "Unfinished",
    "UnknownApi",
    "UnknownTool",
    "Unrecognised",
    "UnsupportedClient",
    "UnsupportedDocument",
    "UnsupportedFilesystem",
    "UnsupportedTool",
    "Url",
    "Usage",
    "Verified",
    "VerifiedView",
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
    "errors",
    "mcp_listing",
    "mcp_tools",
    "remembered",
    "require_recording",
    "run_until_answered",
    "tool",
]

# What few programs use, and where it is: importing it with the rest would double the time.
_LATER: Final = {
    "Activity": "onrecord.projections.history.server_tools",
    "AnnotationAdded": "onrecord.domain.events",
    "AttemptFailed": "onrecord.domain.events",
    "Blob": "onrecord.domain.content",
    "Block": "onrecord.projections.history.history",
    "Capabilities": "onrecord.projections.apis.capabilities",
    "ClientHeader": "onrecord.domain.header",
    "CompactionRecorded": "onrecord.domain.events",
    "ContentRedacted": "onrecord.domain.events",
    "ContextCarried": "onrecord.domain.events",
    "ConversationEnded": "onrecord.domain.events",
    "ConversationForked": "onrecord.domain.events",
    "ConversationLog": "onrecord.adapters.conversation.conversation",
    "ConversationStarted": "onrecord.domain.events",
    "ConversationTools": "onrecord.adapters.conversation.conversation_tools",
    "Cursor": "onrecord.domain.log",
    "Declared": "onrecord.projections.apis.declared_tools",
    "AuditEntry": "onrecord.projections.views.audit",
    "DocumentExtracted": "onrecord.domain.events",
    "Erased": "onrecord.domain.encoding",
    "ErasureCompleted": "onrecord.domain.erasures",
    "ErasureDeed": "onrecord.projections.views.audit",
    "Keeper": "onrecord.adapters.views.ports",
    "ErasureEntry": "onrecord.projections.history.erasure_records",
    "ErasureIntended": "onrecord.domain.erasures",
    "Exchange": "onrecord.projections.views.window",
    "Failed": "onrecord.adapters.tools.tool",
    "Fault": "onrecord.projections.verification.verification",
    "CapabilityOverride": "onrecord.projections.apis.capabilities",
    "Head": "onrecord.domain.head",
    "HeldDocument": "onrecord.projections.history.held_documents",
    "HistoryCompacted": "onrecord.domain.events",
    "Hit": "onrecord.projections.views.search",
    "InstructionsSet": "onrecord.domain.events",
    "ToolCallEntry": "onrecord.projections.views.tool_ledger",
    "LineAdopted": "onrecord.domain.events",
    "Listed": "onrecord.adapters.store",
    "MessageRecorded": "onrecord.domain.events",
    "ModelUsage": "onrecord.projections.views.usage",
    "OpaqueRecorded": "onrecord.domain.events",
    "Options": "onrecord.projections.apis.request",
    "Overview": "onrecord.projections.views.conversations",
    "Page": "onrecord.adapters.views.pages",
    "Reasoning": "onrecord.domain.content",
    "ReasoningRecorded": "onrecord.domain.events",
    "RecordedEvent": "onrecord.domain.log",
    "Relay": "onrecord.adapters.redis.relay",
    "Request": "onrecord.projections.apis.request",
    "RequestSent": "onrecord.domain.events",
    "ResponseCompleted": "onrecord.domain.events",
    "ResponseInterrupted": "onrecord.domain.events",
    "Root": "onrecord.domain.header",
    "ServerToolCallRecorded": "onrecord.domain.events",
    "ServerToolResultRecorded": "onrecord.domain.events",
    "SignalReceived": "onrecord.domain.events",
    "Subscription": "onrecord.domain.log",
    "Told": "onrecord.domain.log",
    "Tool": "onrecord.adapters.tools.tool",
    "ToolCall": "onrecord.domain.content",
    "ToolCallRecorded": "onrecord.domain.events",
    "ToolResult": "onrecord.domain.content",
    "ToolResultRecorded": "onrecord.domain.events",
    "ToolResultRejected": "onrecord.domain.events",
    "ToolRun": "onrecord.adapters.tools.runner.runner",
    "ToolRunner": "onrecord.adapters.tools.runner.runner",
    "ToolsDeclared": "onrecord.domain.events",
    "Toolset": "onrecord.adapters.tools.tool",
    "Turn": "onrecord.projections.history.history",
    "Unfinished": "onrecord.domain.events",
    "Unrecognised": "onrecord.domain.encoding",
    "Usage": "onrecord.projections.history.history",
    "RequestCheck": "onrecord.adapters.check.check",
    "Verified": "onrecord.adapters.upkeep.verifying",
    "VerifiedView": "onrecord.adapters.upkeep.verifying",
    "Views": "onrecord.adapters.views.reading",
    "Violation": "onrecord.projections.apis.rules",
    "agent_card": "onrecord.adapters.tools.a2a",
    "allow": "onrecord.adapters.tools.mcp",
    "capabilities": "onrecord.adapters.settings",
    "check_request": "onrecord.adapters.check.check",
    "deny": "onrecord.adapters.tools.mcp",
    "mcp_listing": "onrecord.adapters.tools.mcp",
    "mcp_tools": "onrecord.adapters.tools.mcp",
    "remembered": "onrecord.projections.views.window",
    "require_recording": "onrecord.adapters.wire.clients.binding",
    "run_until_answered": "onrecord.adapters.tools.runner.runner",
    "tool": "onrecord.adapters.tools.python",
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
    from onrecord.adapters.wire.clients.binding import require_by_environment

    require_by_environment()
