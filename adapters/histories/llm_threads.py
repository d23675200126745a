"""The turns of a thread of `llm`, since its release 0.36: a chain of messages and their parts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from onrecord.adapters.histories.database import Database, Row, microseconds
from onrecord.adapters.histories.llm_rows import (
    attachment,
    count_of,
    envelope_of,
    json_of,
    text_of,
    tools_of,
)
from onrecord.adapters.histories.llm_turns import Message, Turn
from onrecord.domain.errors import InvalidInput
from onrecord.domain.jsontext import JsonObject


def turns(database: Database, thread: str, tip: str) -> Iterator[Turn]:
    """Yield the turns up to a message; what no turn ends with comes last, as said."""
    said: list[Message] = []
    answered: list[Message] = []
    hashes: list[str] = []
    for digest, role, metadata in _chain(database, tip):
        said.append(Message(role, _parts(database, digest), json_of(metadata)))
        hashes.append(digest)
        row = next(iter(database.rows("turns", digest, thread)), None)
        if row is None:
            continue
        parent = row["parent_message_hash"]
        begun = hashes.index(parent) + 1 if parent in hashes else 0
        said, answered = said[:begun], said[begun:]
        yield _turn(database, row, tuple(said), tuple(answered))
        said, hashes = [], []
    if said:
        yield Turn("the end", tuple(said))


def _chain(database: Database, tip: str) -> list[Row]:
    """Return the messages up to one, the first one first."""
    rows = database.all("chain", tip)
    if len({digest for digest, *_ in rows}) < len(rows):
        raise InvalidInput("a message comes before itself: the file is damaged")
    return rows


def _turn(
    database: Database, row: JsonObject, said: tuple[Message, ...], answered: tuple[Message, ...]
) -> Turn:
    return Turn(
        place=f"turn {row['id']}",
        said=said,
        answered=answered,
        tools=tools_of(database.rows("turn_tools", row["id"])),
        occurred_at=microseconds(row.get("datetime_utc")),
        envelope=envelope_of(row),
        model=text_of(row, "resolved_model") or text_of(row, "model"),
        input_tokens=count_of(row, "input_tokens"),
        output_tokens=count_of(row, "output_tokens"),
    )


def _parts(database: Database, digest: str) -> tuple[JsonObject, ...]:
    return tuple(_part(database, row) for row in database.rows("parts", digest))


def _part(database: Database, row: JsonObject) -> JsonObject:
    """Return a part as `llm` spells it, what it refers to in its place."""
    payload: Any = json_of(row["payload"])
    part: JsonObject = {"type": row["type"], **(payload or {})}
    if row["text"] is not None:
        part["text"] = row["text"]
    if "text_ref" in part:
        part["text"] = "".join(_text(database, piece) for piece in part.pop("text_ref"))
    match part:
        case {"attachment": {"id": str(held)}}:
            part["attachment"] = attachment(database, held)
        case {"attachments": [*held]}:
            part["attachments"] = [attachment(database, each["id"]) for each in held]
        case _:
            pass
    return part


def _text(database: Database, piece: JsonObject) -> str:
    match piece:
        case {"literal": str(text)}:
            return text
        case {"fragment": int(number)}:
            found = database.one("fragment", number)
            if found is None:
                raise InvalidInput(f"fragment {number} is missing")
            return cast("str", found[0])
        case _:
            raise InvalidInput("a text is made of pieces that are not known")
