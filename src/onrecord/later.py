"""The names of `onrecord` that are imported when they are first asked for, and where they are."""

from importlib import import_module
from typing import Any, Final

# What few programs use: importing it with the rest would double the time.
_NAMES: Final = {
    "onrecord.adapters.asynchronous.conversation": "AsyncConversation AsyncConversationLog",
    "onrecord.adapters.asynchronous.conversation_tools": "AsyncConversationTools",
    "onrecord.adapters.asynchronous.iteration": "AsyncSubscription",
    "onrecord.adapters.asynchronous.reading": "AsyncReading",
    "onrecord.adapters.asynchronous.access": "AsyncStoreAccess",
    "onrecord.adapters.asynchronous.retention": "AsyncStoreRetention",
    "onrecord.adapters.asynchronous.subjects": "AsyncStoreSubjects",
    "onrecord.adapters.asynchronous.store": "AsyncStore Connecting connect_async",
    "onrecord.adapters.asynchronous.views": "AsyncFollowing AsyncKeeper AsyncViews",
    "onrecord.adapters.check.check": "RequestCheck check_request",
    "onrecord.adapters.conversation.approvals": "ApprovalQuestion PendingApproval",
    "onrecord.adapters.conversation.conversation_log": "ConversationLog",
    "onrecord.adapters.conversation.conversation_tools": "ConversationTools DeclaredTool",
    "onrecord.adapters.conversation.found_documents": "result_type",
    "onrecord.adapters.conversation.program_answers": "AssistantCall",
    "onrecord.adapters.inputs.document_inputs": "GivenDocument",
    "onrecord.adapters.recording.actor_names": "AttributionNames",
    "onrecord.adapters.redis.relay": "Relay",
    "onrecord.adapters.seals.checkpoints": "SealedCheckpoint",
    "onrecord.adapters.settings": "capabilities",
    "onrecord.adapters.inputs.cursors": "cursor_text parse_cursor",
    "onrecord.adapters.streams.listing": "Listed",
    "onrecord.adapters.streams.results": "ResultDone",
    "onrecord.adapters.streams.stream": "Done",
    "onrecord.adapters.subjects.certificate": "ErasureCertificate",
    "onrecord.adapters.subjects.store_subjects": "StoreSubjects SubjectConversation",
    "onrecord.adapters.tools.a2a": "agent_card",
    "onrecord.adapters.tools.mcp": "allow deny mcp_listing mcp_tools",
    "onrecord.adapters.tools.python": "tool",
    "onrecord.adapters.tools.runner.loop": "run_until_answered run_until_answered_async",
    "onrecord.adapters.tools.runner.runner": "ToolRun ToolRunner",
    "onrecord.adapters.tools.tool": "Failed Tool Toolset",
    "onrecord.adapters.upkeep.archives": "ArchivedConversation",
    "onrecord.adapters.upkeep.dispositions": "Disposition DispositionResult",
    "onrecord.adapters.upkeep.retention": "StoreRetention",
    "onrecord.adapters.upkeep.verified": "Verified VerifiedSeal VerifiedView",
    "onrecord.adapters.views.pages": "Page",
    "onrecord.adapters.views.following": "Following",
    "onrecord.adapters.views.ports": "Keeper Parked ViewStatus Workforce",
    "onrecord.adapters.views.reading": "Views",
    "onrecord.adapters.wire.clients.binding": "Unbound require_recording",
    "onrecord.domain.content": "Blob Reasoning ToolCall ToolResult",
    "onrecord.domain.encoding": "Erased Unrecognised",
    "onrecord.domain.operators": (
        "ErasureCompleted ErasureIntended ErasureRefused HoldLifted HoldPlaced RetentionCleared "
        "RetentionSet"
    ),
    "onrecord.domain.events": (
        "AnnotationAdded AttemptFailed CompactionRecorded ContentRedacted ContextCarried "
        "ConversationEnded ConversationForked ConversationStarted DocumentExtracted Event "
        "HistoryCompacted InstructionsSet LineAdopted MessageRecorded OpaqueRecorded "
        "ReasoningRecorded RequestSent ResponseCompleted ResponseInterrupted "
        "ServerToolCallRecorded ServerToolResultRecorded SignalReceived ToolCallRecorded "
        "ToolResultRecorded ToolResultRejected ToolsDeclared Unfinished"
    ),
    "onrecord.domain.head": "Head",
    "onrecord.domain.header": "ClientHeader",
    "onrecord.domain.seals.checkpoint": "Checkpoint",
    "onrecord.domain.log": "Cursor RecordedEvent Subscription Told",
    "onrecord.domain.request_template": "LiteralSpan Recipe SharedSpan Template",
    "onrecord.domain.items": (
        "ItemAmended ItemRecorded ItemsReplaced ItemWithdrawn StatePut StreamCleared"
    ),
    "onrecord.domain.seals.merkle": "Root",
    "onrecord.domain.tools": "ApprovalDecided ApprovalRequested ToolCallBegun",
    "onrecord.projections.access.access_records": "AccessEntry",
    "onrecord.projections.apis.capabilities": "Capabilities CapabilityOverride",
    "onrecord.projections.apis.declared_tools": "Declared",
    "onrecord.projections.apis.request": "Options Report Request Route",
    "onrecord.projections.apis.rules": "Violation",
    "onrecord.projections.history.causes": "Actor Cause AttributedEvent ExplainedRequest Explanation",
    "onrecord.projections.history.erasure_records": "ErasureEntry",
    "onrecord.projections.history.held_documents": "HeldDocument",
    "onrecord.projections.history.history": "Block NextInput Note Turn Usage",
    "onrecord.projections.history.server_tools": "Activity",
    "onrecord.projections.matching.request_diff": (
        "EventChange InstructionsChange RequestDiff ToolsChange"
    ),
    "onrecord.projections.retention.hold_records": "HoldEntry",
    "onrecord.projections.retention.retention_records": "RetentionEntry",
    "onrecord.projections.verification.verification": "Fault",
    "onrecord.projections.views.audit": "AuditEntry ErasureDeed HoldDeed InForce RetentionDeed",
    "onrecord.projections.views.conversations": "Overview",
    "onrecord.projections.views.projection": (
        "EventSink LibraryProjection ProjectionRow ProjectionTransaction RowProjection "
        "TableProjection"
    ),
    "onrecord.projections.views.search": "Hit",
    "onrecord.projections.views.tool_ledger": "ToolCallEntry",
    "onrecord.projections.views.usage": "ModelUsage",
    "onrecord.projections.views.view": "EventBatch",
    "onrecord.projections.views.window": "Exchange remembered",
}
LATER: Final = {name: module for module, names in _NAMES.items() for name in names.split()}
"""Name to module."""


def imported(name: str) -> Any:
    """Return a name of `onrecord` that is imported now; AttributeError for any other."""
    if name not in LATER:
        raise AttributeError(f"module 'onrecord' has no attribute {name!r}")
    return getattr(import_module(LATER[name]), name)
