"""What `onrecord verify` cannot find without an anchor outside the log: docs/verify.md has the same list.

Each line names columns of the log's tables, of which rows, and why. `table.*` is a whole row: that it
was taken away, or put there. The tests change every column of every table, as the database itself
lists them: what goes unnoticed is named here.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

Rows = Literal["all", "of a forgotten conversation", "of what has not begun", "unreferenced"]
"""Which rows of a table a limit is about."""


class Limit(NamedTuple):
    """Columns that are not verified, in some rows, and why."""

    columns: tuple[str, ...]
    rows: Rows
    why: str


LEASES: Final = Limit(
    (
        "part.owner",
        "part.epoch",
        "part.leased_until",
        "worker.*",
        "worker.name",
        "worker.view",
        "worker.seen_at",
    ),
    "all",
    "who works at what just now: a lease ends by itself, and its epoch only fences",
)
HINTS: Final = Limit(
    ("meta.unemptied", "meta.place", "meta.identity"),
    "all",
    "hints about the place of the log: the next one to open it sets them right",
)
LIMITS: Final = (
    LEASES,
    HINTS,
    Limit(
        ("meta.residue", "meta.written_anew"),
        "all",
        "whether the disk may still hold what was erased: where in doubt, run `onrecord sweep`",
    ),
    Limit(
        ("meta.incarnation",),
        "all",
        "a random id; on SQLite the mark beside the file has it too, on PostgreSQL only cursors do",
    ),
    Limit(
        ("meta.seal",),
        "all",
        "a random key that proves what Redis holds: under another one it is made anew",
    ),
    Limit(
        ("caller.*", "caller.role", "caller.kind", "caller.tenant"),
        "all",
        "which role was let in as what, and for whom: compare it with the roles that you let in",
    ),
    Limit(
        ("migration.applied_at", "migration.*", "migration.number", "migration.digest"),
        "all",
        "when a step was done; a store with other steps than this release's is not opened at all",
    ),
    Limit(
        ("blob.stored_at", "blob.boot", "blob.uptime"),
        "all",
        "when a document came: it says how long one that no event refers to is kept",
    ),
    Limit(
        (
            *("blob.*", "blob.number", "blob.blob_id", "blob.conversation_id", "blob.tenant"),
            *("blob.sha256", "blob.digest", "blob.size"),
            *("blob_piece.*", "blob_piece.blob", "blob_piece.ordinal", "blob_piece.data"),
            *("blob_chunk.*", "blob_chunk.blob_id", "blob_chunk.number", "blob_chunk.data"),
        ),
        "unreferenced",
        "a document that no event refers to yet, or ever: nothing commits to it",
    ),
    Limit(
        (
            "conversation_key.*",
            "conversation_key.digest",
            "conversation_key.key",
            "conversation_key.conversation_id",
            "conversation_key.tenant",
        ),
        "of what has not begun",
        "a key that somebody asked for, and no event says it yet",
    ),
    Limit(
        ("tenant.*", "tenant.tenant"),
        "of what has not begun",
        "a tenant that has recorded nothing",
    ),
    Limit(
        ("actor_name.*",),
        "all",
        "the name of an actor that was taken away: names may be erased; another one is found",
    ),
    Limit(
        (
            *("event.exchange", "event.opens_exchange", "event.points", "event.pointer"),
            *("conversation_head.input_tokens", "conversation_head.output_tokens"),
            *("conversation_head.instructions", "conversation_head.tools"),
            *("conversation_head.request", "conversation_head.adopted"),
            *("conversation_head.amended", "conversation_head.exchange"),
        ),
        "of a forgotten conversation",
        "the bodies that they followed from are gone; they must still be such as the types allow",
    ),
    Limit(
        (
            "tracking.*",
            "tracking.tenant",
            "tracking.follower",
            "tracking.application",
            "tracking.notification_id",
            "tracking.recorder",
            "tracking.position",
        ),
        "all",
        "how far a program's own projection came: a position that the log does not have is found",
    ),
    Limit(
        (
            "snapshot.*",
            "snapshot.topic",
            "snapshot.state",
            "snapshot.type",
            "snapshot.body",
            "snapshot.originator_version",
            "snapshot.version",
            "snapshot.originator_id",
        ),
        "all",
        "snapshots are no facts; what they hold only their application can tell",
    ),
    Limit(
        ("erasure.*", "erasure.number", "erasure.conversation_id", "erasure.erased_at"),
        "of a forgotten conversation",
        "when it was erased, and that it was noted twice, or in another order",
    ),
    Limit(
        (
            *("view.*", "view.name", "view.paused", "view.stopped", "view.build_stopped"),
            *("view.resumed_at", "generation.*", "generation.number", "generation.revision"),
            *("generation.status", "generation.began_at", "generation.switched_at"),
            *("generation.view", "checkpoint.*", "checkpoint.view", "checkpoint.generation"),
            *("checkpoint.shard", "checkpoint.part", "checkpoint.position", "parked.*"),
        ),
        "all",
        "how views are kept, and how far: it may be as it is; their rows are compared by `--views`",
    ),
    Limit(
        ("view_usage.shard", "view_usage.part"),
        "all",
        "sums are added up when they are read, whichever parts they are kept in",
    ),
    Limit(
        (
            *("view_usage.*", "view_usage.api", "view_usage.model", "view_usage.responses"),
            *("view_usage.input_tokens", "view_usage.output_tokens", "view_usage.cached_tokens"),
            *("view_usage.cache_write_tokens", "view_usage.reasoning_tokens"),
        ),
        "of a forgotten conversation",
        "sums keep what it had used that day: they must not be less than what can still be counted",
    ),
)
"""All of it. On an unnamed column of a named table's row, and on any other table, nothing is."""
