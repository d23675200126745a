"""Onrecord: the verbatim record of what agents said and did. `onrecord.connect(url)` gives a `Store`."""

import os
from typing import TYPE_CHECKING, Any

from onrecord import errors
from onrecord.adapters.app import connect
from onrecord.adapters.conversation.conversation import Conversation
from onrecord.adapters.recording.spool import RecordingWarning
from onrecord.adapters.store import Store
from onrecord.adapters.streams.results import Rejected, Unmatched
from onrecord.adapters.upkeep.access import StoreAccess
from onrecord.adapters.upkeep.erasing import ForgetResult, SweepResult
from onrecord.domain.content import Document, HeldFile, Native, Text, Url
from onrecord.domain.log import Duplicate, Recorded
from onrecord.domain.tool_context import ToolCallContext
from onrecord.domain.tools import BuiltinTool, ToolDefinition, ToolSource
from onrecord.errors import *
from onrecord.projections.history.windows import MessageWindow, Window

if TYPE_CHECKING:
    from onrecord.adapters.asynchronous.access import AsyncStoreAccess
    from onrecord.adapters.asynchronous.conversation import AsyncConversation, AsyncConversationLog
    from onrecord.adapters.asynchronous.conversation_tools import AsyncConversationTools
    from onrecord.adapters.asynchronous.iteration import AsyncSubscription
    from onrecord.adapters.asynchronous.reading import AsyncReading
    from onrecord.adapters.asynchronous.retention import AsyncStoreRetention
    from onrecord.adapters.asynchronous.store import AsyncStore, Connecting, connect_async
    from onrecord.adapters.asynchronous.subjects import AsyncStoreSubjects
    from onrecord.adapters.asynchronous.views import AsyncFollowing, AsyncKeeper, AsyncViews
    from onrecord.adapters.check.check import RequestCheck, check_request
    from onrecord.adapters.conversation.approvals import ApprovalQuestion, PendingApproval
    from onrecord.adapters.conversation.conversation_log import ConversationLog
    from onrecord.adapters.conversation.conversation_tools import ConversationTools, DeclaredTool
    from onrecord.adapters.conversation.found_documents import result_type
    from onrecord.adapters.conversation.program_answers import AssistantCall
    from onrecord.adapters.inputs.cursors import cursor_text, parse_cursor
    from onrecord.adapters.inputs.document_inputs import GivenDocument
    from onrecord.adapters.recording.actor_names import AttributionNames
    from onrecord.adapters.redis.relay import Relay
    from onrecord.adapters.seals.checkpoints import SealedCheckpoint
    from onrecord.adapters.settings import capabilities
    from onrecord.adapters.streams.listing import Listed
    from onrecord.adapters.streams.results import ResultDone
    from onrecord.adapters.streams.stream import Done
    from onrecord.adapters.subjects.certificate import ErasureCertificate
    from onrecord.adapters.subjects.store_subjects import StoreSubjects, SubjectConversation
    from onrecord.adapters.tools.a2a import agent_card
    from onrecord.adapters.tools.mcp import allow, deny, mcp_listing, mcp_tools
    from onrecord.adapters.tools.python import tool
    from onrecord.adapters.tools.runner.loop import run_until_answered, run_until_answered_async
    from onrecord.adapters.tools.runner.runner import ToolRun, ToolRunner
    from onrecord.adapters.tools.tool import Failed, Tool, Toolset
    from onrecord.adapters.upkeep.archives import ArchivedConversation
    from onrecord.adapters.upkeep.dispositions import Disposition, DispositionResult
    from onrecord.adapters.upkeep.retention import StoreRetention
    from onrecord.adapters.upkeep.verified import Verified, VerifiedSeal, VerifiedView
    from onrecord.adapters.views.following import Following
    from onrecord.adapters.views.pages import Page
    from onrecord.adapters.views.ports import Keeper, Parked, ViewStatus, Workforce
    from onrecord.adapters.views.reading import Views
    from onrecord.adapters.wire.clients.binding import Unbound, require_recording
    from onrecord.domain.content import Blob, Reasoning, ToolCall, ToolResult
    from onrecord.domain.encoding import Erased, Unrecognised
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
    from onrecord.domain.header import ClientHeader
    from onrecord.domain.items import (
        ItemAmended,
        ItemRecorded,
        ItemsReplaced,
        ItemWithdrawn,
        StatePut,
        StreamCleared,
    )
    from onrecord.domain.log import Cursor, RecordedEvent, Subscription, Told
    from onrecord.domain.operators import (
        ErasureCompleted,
        ErasureIntended,
        ErasureRefused,
        HoldLifted,
        HoldPlaced,
        RetentionCleared,
        RetentionSet,
    )
    from onrecord.domain.request_template import LiteralSpan, Recipe, SharedSpan, Template
    from onrecord.domain.seals.checkpoint import Checkpoint
    from onrecord.domain.seals.merkle import Root
    from onrecord.domain.tools import ApprovalDecided, ApprovalRequested, ToolCallBegun
    from onrecord.projections.access.access_records import AccessEntry
    from onrecord.projections.apis.capabilities import Capabilities, CapabilityOverride
    from onrecord.projections.apis.declared_tools import Declared
    from onrecord.projections.apis.request import Options, Report, Request, Route
    from onrecord.projections.apis.rules import Violation
    from onrecord.projections.history.causes import (
        Actor,
        AttributedEvent,
        Cause,
        ExplainedRequest,
        Explanation,
    )
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
    from onrecord.projections.retention.hold_records import HoldEntry
    from onrecord.projections.retention.retention_records import RetentionEntry
    from onrecord.projections.verification.verification import Fault
    from onrecord.projections.views.audit import (
        AuditEntry,
        ErasureDeed,
        HoldDeed,
        InForce,
        RetentionDeed,
    )
    from onrecord.projections.views.conversations import Overview
    from onrecord.projections.views.projection import (
        EventSink,
        LibraryProjection,
        ProjectionRow,
        ProjectionTransaction,
        RowProjection,
        TableProjection,
    )
    from onrecord.projections.views.search import Hit
    from onrecord.projections.views.tool_ledger import ToolCallEntry
    from onrecord.projections.views.usage import ModelUsage
    from onrecord.projections.views.view import EventBatch
    from onrecord.projections.views.window import Exchange, remembered

__version__ = "0.1.0"

__all__: list[str] = [
    "AccessEntry",
    "Activity",
    "Actor",
    "AnnotationAdded",
    "ApprovalDecided",
    "ApprovalQuestion",
    "ApprovalRequested",
    "ArchivedConversation",
    "AssistantCall",
    "AsyncConversation",
    "AsyncConversationLog",
    "AsyncConversationTools",
    "AsyncFollowing",
    "AsyncKeeper",
    "AsyncReading",
    "AsyncStore",
    "AsyncStoreAccess",
    "AsyncStoreRetention",
    "AsyncStoreSubjects",
    "AsyncSubscription",
    "AsyncViews",
    "AttemptFailed",
    "AttributedEvent",
    "AttributionNames",
    "AuditEntry",
    "Blob",
    "Block",
    "BuiltinTool",
    "Capabilities",
    "CapabilityOverride",
    "Cause",
    "Checkpoint",
    "ClientHeader",
    "CompactionRecorded",
    "Connecting",
    "ContentRedacted",
    "ContextCarried",
    "Conversation",
    "ConversationEnded",
    "ConversationForked",
    "ConversationLog",
    "ConversationStarted",
    "ConversationTools",
    "Cursor",
    "Declared",
    "DeclaredTool",
    "Disposition",
    "DispositionResult",
    "Document",
    "DocumentExtracted",
    "Done",
    "Duplicate",
    "Erased",
    "ErasureCertificate",
    "ErasureCompleted",
    "ErasureDeed",
    "ErasureEntry",
    "ErasureIntended",
    "ErasureRefused",
    "Event",
    "EventBatch",
    "EventChange",
    "EventSink",
    "Exchange",
    "ExplainedRequest",
    "Explanation",
    "Failed",
    "Fault",
    "Following",
    "ForgetResult",
    "GivenDocument",
    "Head",
    "HeldDocument",
    "HeldFile",
    "HistoryCompacted",
    "Hit",
    "HoldDeed",
    "HoldEntry",
    "HoldLifted",
    "HoldPlaced",
    "InForce",
    "InstructionsChange",
    "InstructionsSet",
    "ItemAmended",
    "ItemRecorded",
    "ItemWithdrawn",
    "ItemsReplaced",
    "Keeper",
    "LibraryProjection",
    "LineAdopted",
    "Listed",
    "LiteralSpan",
    "MessageRecorded",
    "MessageWindow",
    "ModelUsage",
    "Native",
    "NextInput",
    "Note",
    "OpaqueRecorded",
    "Options",
    "Overview",
    "Page",
    "Parked",
    "PendingApproval",
    "ProjectionRow",
    "ProjectionTransaction",
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
    "RetentionCleared",
    "RetentionDeed",
    "RetentionEntry",
    "RetentionSet",
    "Root",
    "Route",
    "RowProjection",
    "SealedCheckpoint",
    "ServerToolCallRecorded",
    "ServerToolResultRecorded",
    "SharedSpan",
    "SignalReceived",
    "StatePut",
    "Store",
    "StoreAccess",
    "StoreRetention",
    "StoreSubjects",
    "StreamCleared",
    "SubjectConversation",
    "Subscription",
    "SweepResult",
    "TableProjection",
    "Template",
    "Text",
    "Told",
    "Tool",
    "ToolCall",
    "ToolCallBegun",
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
    "Unmatched",
    "Unrecognised",
    "Url",
    "Usage",
    "Verified",
    "VerifiedSeal",
    "VerifiedView",
    "ViewStatus",
    "Views",
    "Violation",
    "Window",
    "Workforce",
    "__version__",
    "agent_card",
    "allow",
    "capabilities",
    "check_request",
    "connect",
    "connect_async",
    "cursor_text",
    "deny",
    "errors",
    "mcp_listing",
    "mcp_tools",
    "parse_cursor",
    "remembered",
    "require_recording",
    "result_type",
    "run_until_answered",
    "run_until_answered_async",
    "tool",
]
__all__ += errors.__all__


def __getattr__(name: str) -> Any:
    """Return a name that is imported when it is first asked for; AttributeError for any other."""
    from onrecord.later import imported

    return imported(name)


def __dir__() -> list[str]:
    """Return all names, those that are imported later too."""
    return sorted({*globals(), *__all__})


if os.environ.get("ONRECORD_REQUIRE_RECORDING"):
    from onrecord.adapters.wire.clients.binding import require_by_environment

    require_by_environment()
