"""The turns of a conversation of `llm` before its release 0.36: a row a response."""

from __future__ import annotations

from collections.abc import Iterator

from onrecord.adapters.histories.database import Database, microseconds
from onrecord.adapters.histories.llm_rows import (
    attachment,
    count_of,
    envelope_of,
    json_of,
    text_of,
    tools_of,
)
from onrecord.adapters.histories.llm_turns import Message, Turn
from onrecord.domain.jsontext import JsonObject


def turns(database: Database, tables: frozenset[str], conversation: str) -> Iterator[Turn]:
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
        return Turn(
            place=f"response {response}",
            said=tuple(message for message in said if message.parts),
            answered=(answered,),
            tools=tools_of(self._rows("response_tools", response, "tool_responses")),
            occurred_at=microseconds(row.get("datetime_utc")),
            envelope=envelope_of(row),
            model=text_of(row, "resolved_model") or text_of(row, "model"),
            input_tokens=count_of(row, "input_tokens"),
            output_tokens=count_of(row, "output_tokens"),
        )

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
