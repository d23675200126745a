"""Results of a program's own types: it says what they are recorded as."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

import onrecord
from onrecord.domain.content import Text
from tests.adapters.found_results import call, extracted, result

PDF = b"%PDF-1.7 the report"


class Report:
    """What no JSON tells by itself."""

    def __init__(self, summary: str, file: bytes) -> None:
        self.summary = summary
        self.file = file


class Draft(Report):
    """A report that is no more than a summary."""


class Rows(dict[str, str]):
    """A mapping that is told as something else."""


@dataclass
class Box:
    inside: object


@pytest.fixture
def chat(monkeypatch: pytest.MonkeyPatch) -> onrecord.Conversation:
    monkeypatch.setattr("onrecord.adapters.conversation.found_documents._OWN", {})
    chat = onrecord.connect("memory://").conversation("support/4711")
    call(chat)
    return chat


def text(chat: onrecord.Conversation) -> str:
    first = result(chat).content[0]
    assert isinstance(first, Text)
    return first.text


def parts(report: Report) -> object:
    return [report.summary, report.file]


def test_a_result_of_an_own_type_is_recorded_as_its_reader_says(
    chat: onrecord.Conversation,
) -> None:
    onrecord.result_type(Report, parts)
    chat.tool_result("call_1", Report("All is well.", PDF))
    assert text(chat) == "All is well."
    assert [event.document.media_type for event in extracted(chat)] == ["application/pdf"]


def test_it_is_read_wherever_it_stands(chat: onrecord.Conversation) -> None:
    onrecord.result_type(Report, parts)
    onrecord.result_type(Rows, lambda rows: sorted(rows))
    chat.tool_result("call_1", {"found": Box([Report("ok", PDF)]), "rows": Rows(b="2", a="1")})
    assert '"rows":["a","b"]' in text(chat)
    assert [event.path for event in extracted(chat)] == ["/found/inside/0/1"]


def test_the_reader_of_the_type_itself_goes_before_that_of_what_it_extends(
    chat: onrecord.Conversation,
) -> None:
    onrecord.result_type(Draft, lambda draft: f"draft: {draft.summary}")
    onrecord.result_type(Report, parts)
    chat.tool_result("call_1", Draft("soon", PDF))
    assert (text(chat), extracted(chat)) == ("draft: soon", [])


def fails(_: Report) -> object:
    raise LookupError("a secret")


def itself(report: Report) -> object:
    return report


def in_a_list(report: Report) -> object:
    return [report]


@pytest.mark.parametrize("read", [fails, itself, in_a_list])
def test_a_reader_that_fails_or_has_no_end_is_said_and_nothing_is_recorded(
    chat: onrecord.Conversation, read: Callable[[Any], object]
) -> None:
    onrecord.result_type(Report, read)
    version = chat.head().version
    with pytest.raises(onrecord.InvalidContent) as raised:
        chat.tool_result("call_1", Report("x", PDF))
    assert "secret" not in "".join(traceback.format_exception(raised.value))
    assert chat.head().version == version


def test_two_types_that_are_read_as_one_another_are_refused(chat: onrecord.Conversation) -> None:
    onrecord.result_type(Report, lambda _: Rows())
    onrecord.result_type(Rows, lambda _: Report("x", PDF))
    for content in (Report("x", PDF), [Report("x", PDF)]):
        with pytest.raises(onrecord.InvalidContent):
            chat.tool_result("call_1", content)


@pytest.mark.parametrize(("kind", "read"), [(dict, str), ("Report", str), (Report, "parts")])
def test_a_type_is_a_class_of_ones_own_and_its_reader_a_function(
    chat: onrecord.Conversation, kind: Any, read: Any
) -> None:
    with pytest.raises(onrecord.InvalidContent):
        onrecord.result_type(kind, read)
    assert chat.open_calls()


class Cursor:
    """Rows that can be read once."""

    def __init__(self) -> None:
        self.rows = iter([{"a": 1}, {"a": 2}])


def rows(cursor: Cursor) -> object:
    return list(cursor.rows)


@pytest.mark.parametrize(
    ("value", "recorded"),
    [
        (lambda: Cursor(), '[{"a":1},{"a":2}]'),
        (lambda: [Cursor()], '[[{"a":1},{"a":2}]]'),
        (lambda: ["rows:", Cursor(), Cursor()], '["rows:",[{"a":1},{"a":2}],[{"a":1},{"a":2}]]'),
        (lambda: {"rows": Cursor()}, '{"rows":[{"a":1},{"a":2}]}'),
    ],
)
def test_a_value_of_ones_own_type_is_read_once(
    chat: onrecord.Conversation, value: Callable[[], object], recorded: str
) -> None:
    onrecord.result_type(Cursor, rows)
    chat.tool_result("call_1", value())
    assert text(chat) == recorded


@pytest.mark.parametrize("given", [onrecord.Failed("it is closed"), Box("it is closed")])
def test_what_failed_is_an_error_also_where_no_runner_called_it(
    chat: onrecord.Conversation, given: object
) -> None:
    onrecord.result_type(Box, lambda box: onrecord.Failed(box.inside))
    chat.tool_result("call_1", given)
    assert (result(chat).is_error, text(chat)) == (True, "it is closed")


def test_what_failed_is_an_error_in_what_an_engine_hands_over(chat: onrecord.Conversation) -> None:
    chat.ingest([{"id": "call_1", "content": onrecord.Failed({"why": "it is closed"})}])
    assert (result(chat).is_error, text(chat)) == (True, '{"why":"it is closed"}')
