"""Onrecord: the verbatim record of what agents said and did.

``onrecord.connect(url)`` gives a `Store`, ``store.conversation(key)`` a `Conversation`; both say the rest.
What a store refuses is an `OnrecordError`; `onrecord.errors` shows their tree.
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from onrecord import errors
from onrecord.adapters.app import connect
from onrecord.adapters.conversation.conversation import Conversation
from onrecord.adapters.recording.spool import RecordingWarning
from onrecord.adapters.store import Store
from onrecord.adapters.streams.results import Rejected, Unmatched
from onrecord.adapters.upkeep.erasing import ForgetResult, SweepResult
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
    SecretMissing,
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
from onrecord.projections.history.windows import MessageWindow, Window

if TYPE_CHECKING:
    from onrecord.adapters.check.check import RequestCheck, check_request
    from onrecord.adapters.conversation.conversation_log import ConversationLog
    from onrecord.adapters.conversation.conversation_tools import ConversationTools, DeclaredTool
    from onrecord.adapters.conversation.found_documents import result_type
    from onrecord.adapters.inputs.document_inputs import GivenDocument
    from onrecord.adapters.redis.relay import Relay
    from onrecord.adapters.settings import capabilities
    from onrecord.adapters.store import Listed
    from onrecord.adapters.streams.results import ResultDone
    from onrecord.adapters.streams.stream import Done
    from onrecord.adapters.tools.a2a import agent_card
    from onrecord.adapters.tools.mcp import allow, deny, mcp_listing, mcp_tools
    from onrecord.adapters.tools.python import tool
    from onrecord.adapters.tools.runner.runner import ToolRun, ToolRunner, run_until_answered
    from onrecord.adapters.tools.tool import Failed, Tool, Toolset
    from onrecord.adapters.upkeep.verifying import Verified, VerifiedView
    from onrecord.adapters.views.pages import Page
    from onrecord.adapters.views.ports import Keeper
    from onrecord.adapters.views.reading import Views
    from onrecord.adapters.wire.clients.binding import Unbound, require_recording
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
        Event,
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
    from onrecord.domain.request_template import LiteralSpan, Recipe, SharedSpan, Template
    from onrecord.projections.apis.capabilities import Capabilities, CapabilityOverride
    from onrecord.projections.apis.declared_tools import Declared
    from onrecord.projections.apis.request import Options, Report, Request, Route
    from onrecord.projections.apis.rules import Violation
    from onrecord.projections.history.erasure_records import ErasureEntry
    from onrecord.projections.history.held_documents import HeldDocument
    from onrecord.projections.history.history import Block, NextInput, Note, Turn, Usage
    from onrecord.projections.history.server_tools import Activity
    from onrecord.projections.matching.request_diff import (
        EventChange,
        InstructionsChange,
        RequestDiff,
        ToolsChange,
    )
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
    "DeclaredTool",
    "Document",
    "DocumentExtracted",
    "DocumentMissing",
    "Done",
    "Duplicate",
    "Erased",
    "ErasureCompleted",
    "ErasureDeed",
    "ErasureEntry",
    "ErasureIntended",
    "Event",
    "EventChange",
    "Exchange",
    "Failed",
    "Fault",
    "ForeignDatabase",
    "ForgetResult",
    "GivenDocument",
    "Head",
    "HeldDocument",
    "HeldFile",
    "HistoryCompacted",
    "Hit",
    "IdempotencyMismatch",
    "InstructionsChange",
    "InstructionsSet",
    "InvalidContent",
    "InvalidExport",
    "InvalidInput",
    "InvalidModel",
    "InvalidProvider",
    "Keeper",
    "LineAdopted",
    "Listed",
    "LiteralSpan",
    "MalformedJson",
    "MessageRecorded",
    "MessageWindow",
    "ModelUsage",
    "Native",
    "NextInput",
    "NotInstalled",
    "NotRecorded",
    "Note",
    "NothingToSend",
    "OnrecordError",
    "OpaqueRecorded",
    "Options",
    "Overview",
    "Page",
    "Reasoning",
    "ReasoningRecorded",
    "Recipe",
    "Recorded",
    "RecordedEvent",
    "RecordingWarning",
    "Rejected",
    "Relay",
    "Report",
    "Request",
    "RequestCheck",
    "RequestDiff",
    "RequestSent",
    "ResponseCompleted",
    "ResponseInterrupted",
    "ResultDone",
    "ResultsWithoutConversation",
    "Root",
    "RoundOpen",
    "Route",
    "SchemaNewer",
    "SchemaOlder",
    "SchemaUnreleased",
    "SecretMissing",
    "ServerToolCallRecorded",
    "ServerToolResultRecorded",
    "SharedSpan",
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
    "Template",
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
    "ToolsChange",
    "ToolsDeclared",
    "Toolset",
    "Turn",
    "Unbound",
    "Unfinished",
    "UnknownApi",
    "UnknownTool",
    "Unmatched",
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
    "result_type",
    "run_until_answered",
    "tool",
]

# What few programs use, and where it is: importing it with the rest would double the time.
_NAMES: Final = {
    "onrecord.adapters.check.check": "RequestCheck check_request",
    "onrecord.adapters.conversation.conversation_log": "ConversationLog",
    "onrecord.adapters.conversation.conversation_tools": "ConversationTools DeclaredTool",
    "onrecord.adapters.conversation.found_documents": "result_type",
    "onrecord.adapters.inputs.document_inputs": "GivenDocument",
    "onrecord.adapters.redis.relay": "Relay",
    "onrecord.adapters.settings": "capabilities",
    "onrecord.adapters.store": "Listed",
    "onrecord.adapters.streams.results": "ResultDone",
    "onrecord.adapters.streams.stream": "Done",
    "onrecord.adapters.tools.a2a": "agent_card",
    "onrecord.adapters.tools.mcp": "allow deny mcp_listing mcp_tools",
    "onrecord.adapters.tools.python": "tool",
    "onrecord.adapters.tools.runner.runner": "ToolRun ToolRunner run_until_answered",
    "onrecord.adapters.tools.tool": "Failed Tool Toolset",
    "onrecord.adapters.upkeep.verifying": "Verified VerifiedView",
    "onrecord.adapters.views.pages": "Page",
    "onrecord.adapters.views.ports": "Keeper",
    "onrecord.adapters.views.reading": "Views",
    "onrecord.adapters.wire.clients.binding": "Unbound require_recording",
    "onrecord.domain.content": "Blob Reasoning ToolCall ToolResult",
    "onrecord.domain.encoding": "Erased Unrecognised",
    "onrecord.domain.erasures": "ErasureCompleted ErasureIntended",
    "onrecord.domain.events": (
        "AnnotationAdded AttemptFailed CompactionRecorded ContentRedacted ContextCarried "
        "ConversationEnded ConversationForked ConversationStarted DocumentExtracted Event "
        "HistoryCompacted InstructionsSet LineAdopted MessageRecorded OpaqueRecorded "
        "ReasoningRecorded RequestSent ResponseCompleted ResponseInterrupted "
        "ServerToolCallRecorded ServerToolResultRecorded SignalReceived ToolCallRecorded "
        "ToolResultRecorded ToolResultRejected ToolsDeclared Unfinished"
    ),
    "onrecord.domain.head": "Head",
    "onrecord.domain.header": "ClientHeader Root",
    "onrecord.domain.log": "Cursor RecordedEvent Subscription Told",
    "onrecord.domain.request_template": "LiteralSpan Recipe SharedSpan Template",
    "onrecord.projections.apis.capabilities": "Capabilities CapabilityOverride",
    "onrecord.projections.apis.declared_tools": "Declared",
    "onrecord.projections.apis.request": "Options Report Request Route",
    "onrecord.projections.apis.rules": "Violation",
    "onrecord.projections.history.erasure_records": "ErasureEntry",
    "onrecord.projections.history.held_documents": "HeldDocument",
    "onrecord.projections.history.history": "Block NextInput Note Turn Usage",
    "onrecord.projections.history.server_tools": "Activity",
    "onrecord.projections.matching.request_diff": (
        "EventChange InstructionsChange RequestDiff ToolsChange"
    ),
    "onrecord.projections.verification.verification": "Fault",
    "onrecord.projections.views.audit": "AuditEntry ErasureDeed",
    "onrecord.projections.views.conversations": "Overview",
    "onrecord.projections.views.search": "Hit",
    "onrecord.projections.views.tool_ledger": "ToolCallEntry",
    "onrecord.projections.views.usage": "ModelUsage",
    "onrecord.projections.views.window": "Exchange remembered",
}
_LATER: Final = {name: module for module, names in _NAMES.items() for name in names.split()}


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
