"""The logs of `llm` (simonw/llm): a SQLite file whose threads and conversations were kept.

Release 0.36 keeps chains of messages; those before it kept a row a response, and what they wrote
stays in the file. A conversation that goes on in a thread is read there: the chain holds all of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final, cast

import apsw

from onrecord.adapters.histories.database import Database, opened
from onrecord.adapters.histories.foreign_history import (
    Histories,
    History,
    Transcript,
    TranscriptContext,
    microseconds,
)
from onrecord.adapters.histories.llm_turns import Message, Turn, transcribe_turns
from onrecord.adapters.storage.sqlite.connection import Row
from onrecord.domain.errors import InvalidInput, MalformedJson
from onrecord.domain.jsontext import JsonObject, read_bounded
from onrecord.domain.tools import ToolDefinition
from onrecord.projections.members import nonempty_text

# What rows of the logs of `llm` hold: JSON, counts, tools, attachments.

_ENVELOPE: Final = (
    *("id", "model", "resolved_model", "options_json", "schema_id", "token_details"),
    *("duration_ms", "datetime_utc", "prompt_json", "response_json"),
)
_JSON: Final = ("_json", "_details")


def json_of(text: object) -> Any:
    """Return the value of a column of JSON, None where it is empty."""
    if not isinstance(text, str) or not text:
        return None
    try:
        return read_bounded(text)
    except MalformedJson as exc:
        raise InvalidInput(f"a column of JSON cannot be read: {exc}") from exc


def envelope_of(row: JsonObject) -> JsonObject:
    """Return what a row says of a call of a model, without what was said in it."""
    return {
        member.removesuffix("_json"): json_of(row[member])
        if member.endswith(_JSON)
        else row[member]
        for member in _ENVELOPE
        if row.get(member) not in (None, "")
    }


def text_of(row: JsonObject, member: str) -> str | None:
    """Return a column that is a text."""
    return nonempty_text(row.get(member))


def count_of(row: JsonObject, member: str) -> int | None:
    """Return a column that counts tokens."""
    value = row.get(member)
    return value if isinstance(value, int) and value >= 0 else None


def tools_of(rows: Iterable[JsonObject]) -> tuple[ToolDefinition, ...]:
    """Return the tools that a model was told of."""
    return tuple(
        ToolDefinition(
            name=str(row["name"]),
            description=text_of(row, "description"),
            input_schema=json_of(row.get("input_schema")) or {},
        )
        for row in rows
    )


def turn_of(
    row: JsonObject,
    place: str,
    said: tuple[Message, ...],
    answered: tuple[Message, ...],
    tools: Iterable[JsonObject],
) -> Turn:
    """Return a turn, of which a row tells all but what was said."""
    return Turn(
        place=place,
        said=said,
        answered=answered,
        tools=tools_of(tools),
        occurred_at=microseconds(row.get("datetime_utc")),
        envelope=envelope_of(row),
        model=text_of(row, "resolved_model") or text_of(row, "model"),
        input_tokens=count_of(row, "input_tokens"),
        output_tokens=count_of(row, "output_tokens"),
    )


def attachment(database: Database, attachment_id: str) -> JsonObject:
    """Return an attachment by its id; its `content` is bytes."""
    row = next(iter(database.rows("attachment", attachment_id)), None)
    if row is None:
        raise InvalidInput("an attachment is missing")
    return {member: value for member, value in row.items() if value}


# The turns of a conversation of `llm` before its release 0.36: a row a response.


def response_turns(database: Database, tables: frozenset[str], conversation: str) -> Iterator[Turn]:
    """Yield the turns of a conversation; `tables` are those that its file has."""
    reading = _Reading(database, tables)
    return (reading.turn(row) for row in database.rows("responses", conversation))


class _Reading:
    """A file, and the calls of the conversation that have no result yet: name and id of each."""

    def __init__(self, database: Database, tables: frozenset[str]) -> None:
        self._database = database
        self._tables = tables
        self._waiting: list[tuple[str, str]] = []

    def turn(self, row: JsonObject) -> Turn:
        """Return what a row and those that refer to it say."""
        response = str(row["id"])
        said = (self._system(row), self._results(response), self._prompt(row))
        answered = Message("assistant", tuple(self._answer(row)))
        messages = tuple(message for message in said if message.parts)
        tools = self._rows("response_tools", response, "tool_responses")
        return turn_of(row, f"response {response}", messages, (answered,), tools)

    def _rows(self, query: str, of: str | int, table: str) -> list[JsonObject]:
        return self._database.rows(query, of) if table in self._tables else []

    def _system(self, row: JsonObject) -> Message:
        """Return the system prompt as it was sent: its fragments before it."""
        parts = [*self._fragments("system_fragments", row["id"]), text_of(row, "system") or ""]
        text = "\n\n".join(part.strip() for part in parts if part.strip())
        return Message("system", ({"type": "text", "text": text},) if text else ())

    def _prompt(self, row: JsonObject) -> Message:
        """Return the prompt as it was sent: its fragments before it, its files after it."""
        prompt = text_of(row, "prompt")
        fragments = self._fragments("prompt_fragments", row["id"])
        text = "\n".join([*fragments, *([prompt] if prompt else [])])
        files = self._rows("prompt_attachments", row["id"], "prompt_attachments")
        parts: list[JsonObject] = [{"type": "text", "text": text}] if text else []
        parts += [
            {"type": "attachment", "attachment": attachment(self._database, file["attachment_id"])}
            for file in files
        ]
        return Message("user", tuple(parts))

    def _fragments(self, query: str, response: str) -> list[str]:
        return [str(row["content"]) for row in self._rows(query, response, query)]

    def _results(self, response: str) -> Message:
        rows = self._rows("tool_results", response, "tool_results")
        return Message("tool", tuple(self._result(row) for row in rows))

    def _result(self, row: JsonObject) -> JsonObject:
        files = self._rows("tool_result_attachments", row["id"], "tool_results_attachments")
        result: JsonObject = {
            "type": "tool_result",
            "name": row["name"],
            "output": row["output"] or "",
            "tool_call_id": self._answered(row),
            "attachments": [attachment(self._database, file["attachment_id"]) for file in files],
        }
        if row.get("exception"):
            result["exception"] = row["exception"]
        return result

    def _answered(self, row: JsonObject) -> str:
        """Return the id of a result's call: models that gave none answer by the tool's name."""
        name = str(row["name"])
        given = text_of(row, "tool_call_id")
        found = next(
            (call for call in self._waiting if call[1] == given or (not given and call[0] == name)),
            None,
        )
        if found is None:
            return given or f"{row['response_id']}-result-{row['id']}"
        self._waiting.remove(found)
        return found[1]

    def _answer(self, row: JsonObject) -> Iterator[JsonObject]:
        if reasoning := text_of(row, "reasoning"):
            yield {"type": "reasoning", "text": reasoning}
        if text := text_of(row, "response"):
            yield {"type": "text", "text": text}
        for call in self._rows("tool_calls", row["id"], "tool_calls"):
            call_id = text_of(call, "tool_call_id") or f"{row['id']}-{call['id']}"
            self._waiting.append((str(call["name"]), call_id))
            yield {
                "type": "tool_call",
                "name": call["name"],
                "arguments": json_of(call["arguments"]) or {},
                "tool_call_id": call_id,
            }


# The turns of a thread of `llm`, since its release 0.36: a chain of messages and their parts.


def thread_turns(database: Database, thread: str, tip: str) -> Iterator[Turn]:
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
        tools = database.rows("turn_tools", row["id"])
        yield turn_of(row, f"turn {row['id']}", tuple(said), tuple(answered), tools)
        said, hashes = [], []
    if said:
        yield Turn("the end", tuple(said))


def _chain(database: Database, tip: str) -> list[Row]:
    """Return the messages up to one, the first one first."""
    rows = database.all("chain", tip)
    if len({digest for digest, *_ in rows}) < len(rows):
        raise InvalidInput("a message comes before itself: the file is damaged")
    return rows


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


_SUBJECT: Final = "simonw_llm"


def conversations_in(path: Path) -> Histories:
    """Return the conversations of a file; InvalidInput where it holds no such logs."""
    with opened(path, _SUBJECT) as database:
        tables = _tables(database)
        if not tables & {"threads", "responses"}:
            raise InvalidInput("the file is no log of llm: it has neither threads nor responses")
        count = sum(1 for _ in _named(database, tables))
    return Histories(count, are_several=True, read=partial(_conversations, path))


def _conversations(path: Path) -> Iterator[History]:
    with opened(path, _SUBJECT) as database:
        tables = _tables(database)
        for name, tip in _named(database, tables):
            place = f"conversation {name}"
            yield History(place, name, partial(_transcribe, database, tables, name, tip))


def _named(database: Database, tables: frozenset[str]) -> Iterator[tuple[str, str | None]]:
    """Yield the id of each conversation, and of a thread its last message."""
    rows = database.all("threads") if "threads" in tables else []
    threads: dict[str, str] = dict(rows)
    if "responses" in tables:
        for (name,) in database.all("conversations"):
            if name not in threads:
                yield name, None
    yield from threads.items()


def _transcribe(
    database: Database,
    tables: frozenset[str],
    name: str,
    tip: str | None,
    context: TranscriptContext,
) -> Transcript:
    try:
        if tip is None:
            return transcribe_turns(response_turns(database, tables, name), context)
        return transcribe_turns(thread_turns(database, name, tip), context)
    except InvalidInput:
        raise
    except (KeyError, TypeError, ValueError, apsw.Error) as exc:
        raise InvalidInput("a row is not what llm writes: the file is damaged") from exc


def _tables(database: Database) -> frozenset[str]:
    return frozenset(name for (name,) in database.all("tables"))
