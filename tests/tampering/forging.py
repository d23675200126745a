"""What a forger does who knows the format: rows are changed, and all hashes are made anew."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from pathlib import Path
from uuid import UUID

import onrecord
from onrecord.adapters.seals.places import Folder
from onrecord.adapters.seals.sealing import Sealer
from onrecord.adapters.store import backend_of
from onrecord.domain.events import AnnotationAdded
from onrecord.domain.header import body_digest, leaf, recorded_header
from onrecord.domain.log import NewEvent
from onrecord.domain.seals.notes import PrivateKey
from tests.factories import drafted
from tests.tampering.rows import Row, Rows

FIRST, SECOND = "support/4711", "support/4712"


def record(store: onrecord.Store) -> None:
    """Two conversations, one with a document: eight events, the last four of both in turn."""
    chat, other = (store.conversation(key) for key in (FIRST, SECOND))
    chat.user("Where is parcel NW-20931?", documents=[b"%PDF the waybill"])
    other.user("Where is parcel NW-20932?")
    for conversation in (chat, other, chat, other):
        conversation.log.append(AnnotationAdded(labels={"depot": "North"}))


def go_on(store: onrecord.Store) -> None:
    """Two more events."""
    for key in (FIRST, SECOND):
        store.conversation(key).log.append(AnnotationAdded(labels={"depot": "South"}))


def seal(store: onrecord.Store, key: PrivateKey, *folders: Path) -> None:
    Sealer(backend_of(store), key, [Folder(folder) for folder in folders]).seal()


def events(rows: Rows) -> list[Row]:
    """The rows of all events, in order of position."""
    return sorted(rows.rows("event"), key=itemgetter("position"))


def forge(rows: Rows, forged: Sequence[Row]) -> None:
    """Put other events in place of all: places, digests, leaves and heads as they come to."""
    heads = {head["conversation_id"]: head for head in rows.rows("conversation_head")}
    for row in rows.rows("event"):
        rows.delete("event", row)
    ends: dict[UUID | bytes, Row] = {}
    for position, row in enumerate(forged, 1):
        last = ends.get(row["conversation_id"])
        placed = {**row, "position": position, "version": last["version"] + 1 if last else 1}
        ends[row["conversation_id"]] = hashed(placed)
        rows.insert("event", hashed(placed))
    for conversation, head in heads.items():
        rows.delete("conversation_head", head)
        if (last := ends.get(conversation)) is not None:
            names = ("version", "position", "recorded_at")
            rows.insert("conversation_head", head | {name: last[name] for name in names})


def hashed(row: Row) -> Row:
    """A row with the digest and the leaf that follow from it."""
    digest = body_digest(row["salt"], row["body"])
    names = ("header", "version", "position", "recorded_at")
    committed = recorded_header(*(row[name] for name in names))
    return {**row, "digest": digest, "leaf": leaf(committed, digest)}


def reworded(row: Row) -> Row:
    """An event that says something else."""
    assert b"North" in row["body"]
    return {**row, "body": row["body"].replace(b"North", b"Polar")}


def made_up(row: Row, tenant: UUID) -> Row:
    """An event behind another one, which its conversation never had."""
    conversation = row["conversation_id"]
    of = conversation if isinstance(conversation, UUID) else UUID(bytes=conversation)
    event: NewEvent = drafted(AnnotationAdded(labels={"depot": "East"}), of, tenant=tenant)
    is_text = isinstance(row["event_id"], UUID)
    return {
        **row,
        "event_id": event.event_id if is_text else event.event_id.bytes,
        "header": event.header,
        "salt": event.salt,
        "body": event.body,
    }


def swapped(rows: list[Row], one: int, other: int) -> list[Row]:
    """The rows with those at two indexes in each other's place."""
    order = list(range(len(rows)))
    order[one], order[other] = order[other], order[one]
    return [rows[index] for index in order]


def put_back(rows: Rows, backup: dict[str, list[Row]]) -> None:
    """Make every table what it was when a backup was made."""
    for table, kept in backup.items():
        for row in rows.rows(table):
            rows.delete(table, row)
        for row in kept:
            rows.insert(table, row)


def backup_of(rows: Rows) -> dict[str, list[Row]]:
    return {table: rows.rows(table) for table in rows.tables()}


def unmark(rows: Rows) -> None:
    """Take away the mark beside an SQLite file, which says how far it went."""
    if rows.url.startswith("sqlite:///"):
        Path(f"{rows.url.removeprefix('sqlite:///')}-lock").unlink()
