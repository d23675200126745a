"""Our errors as types of problems (RFC 9457): the one table that service and client share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from onrecord.domain import errors

TYPES: Final = "/problems/"
"""Where the types of problems are: relative to the service, which tells what each one means."""


@dataclass(frozen=True, slots=True)
class ProblemType:
    """A kind of problem: its name, the status, what it means, and after how long to try again."""

    name: str
    status: int
    title: str
    retry_after: int | None = None


INVALID: Final = ProblemType("invalid-input", 422, "What was given cannot be taken.")

BYTES_MISSING: Final = ProblemType(
    "bytes-missing", 404, "The bytes of a document are missing, or are not those of its digest."
)

_UNAVAILABLE: Final = ProblemType("unavailable", 503, "The store cannot be reached.", 2)

OF_ERRORS: Final[dict[type[errors.OnrecordError], ProblemType]] = {
    errors.ConversationNotFound: ProblemType("not-found", 404, "There is nothing at this path."),
    errors.ConversationClosed: ProblemType("closed", 409, "The conversation is closed."),
    errors.ConversationForgotten: ProblemType("forgotten", 410, "The conversation was forgotten."),
    errors.ConversationOnHold: ProblemType("on-hold", 409, "A legal hold keeps the conversation."),
    errors.VersionConflict: ProblemType("version-conflict", 409, "Someone else appended first."),
    errors.IdempotencyMismatch: ProblemType(
        "idempotency-mismatch", 409, "The id was recorded before, with other content."
    ),
    errors.RoundOpen: ProblemType("round-open", 409, "Calls await their results."),
    errors.DocumentMissing: ProblemType(
        "document-missing", 409, "The bytes of a document are not stored."
    ),
    errors.ApprovalNotAsked: ProblemType("approval-not-asked", 409, "Nobody is asked about it."),
    errors.AlreadyDecided: ProblemType("already-decided", 409, "The call was decided before."),
    errors.InvalidInput: INVALID,
    errors.ViewStopped: ProblemType("view-stopped", 503, "A view stands still.", 60),
    errors.StaleCursor: ProblemType("stale-cursor", 410, "The cursor is of another log."),
    errors.StorageBusy: ProblemType("busy", 503, "Another process holds the lock.", 1),
    errors.StorageFull: ProblemType("storage-full", 507, "There is no room left."),
    errors.StorageReadOnly: ProblemType("not-allowed", 403, "The store does not take this."),
    errors.StorageUnavailable: _UNAVAILABLE,
    errors.CorruptRecord: ProblemType("corrupt-record", 500, "Stored bytes are damaged."),
    errors.StorageError: _UNAVAILABLE,
}
"""The nearest class counts."""
