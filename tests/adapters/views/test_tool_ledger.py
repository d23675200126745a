"""The tool ledger: each call with its result, paired as everywhere else, alike on every database."""

from __future__ import annotations

import hashlib
from typing import Any
from uuid import uuid4

import pytest
from uuid_utils.compat import uuid7

from onrecord.adapters.storage.memory.memory import Memory
from onrecord.domain import events
from onrecord.domain.content import Document, Native, Text, ToolCall, ToolResult
from onrecord.domain.events import ContentRedacted, Event
from onrecord.domain.log import NewEvent
from onrecord.domain.new_events import Stamp, draft
from onrecord.domain.tools import ToolDefinition
from onrecord.projections.history.server_tools import activity
from onrecord.projections.history.tool_names import ANTHROPIC, name_for
from onrecord.projections.views.tool_ledger import TOOL_LEDGER, ToolCallEntry, ledger_call_of
from tests.adapters.views.row_stores import RowStore, everything
from tests.adapters.views.tool_events import (
    LINE,
    RESPONSE,
    called,
    closed,
    gave,
    search_gave,
    searched,
)
from tests.factories import OCCURRED_AT, TENANT, appending, prompt, tool_call


class Book:
    """A conversation, and the ledger of it."""

    def __init__(self, rows: RowStore) -> None:
        self.rows = rows
        self.log = Memory()
        self.conversation = uuid4()
        self.folded = 0

    def happen(self, *said: Event | NewEvent) -> None:
        self.log.append([appending(self.conversation, *said)])
        new = everything(self.log)[self.folded :]
        self.folded += len(new)
        assert self.rows.step(TOOL_LEDGER, new) == []

    def calls(self, **filters: Any) -> list[ToolCallEntry]:
        """The calls of the ledger, the first one first."""
        page = self.rows.page(TOOL_LEDGER, TENANT, **filters)
        return [ledger_call_of(row) for row in reversed(page)]

    def results(self) -> list[tuple[int, str, str | None]]:
        return [(call.version, call.status, call.result) for call in self.calls()]


@pytest.fixture
def book(rows: RowStore) -> Book:
    return Book(rows)


def test_a_call_is_open_until_its_result_comes(book: Book) -> None:
    book.happen(prompt(), called("c1", response=RESPONSE, q="fog"), closed())
    call = book.calls()[0]
    assert (call.version, call.name, call.kind, call.status) == (2, "look_up", "tool", "open")
    assert (call.arguments, call.model, call.duration) == ('{"q":"fog"}', "claude-sonnet-5", None)
    assert call.arguments_digest == hashlib.sha256(b'{"q":"fog"}').hexdigest()
    book.happen(gave("c1", "thick"))
    moments = {event.version: event.recorded_at for event in everything(book.log)}
    call = book.calls()[0]
    assert (call.status, call.result, call.result_version) == ("done", "thick", 4)
    assert call.duration == (moments[4] - moments[2] or None)


def test_a_flag_is_a_truth_value_on_every_database(book: Book) -> None:
    book.happen(prompt(), called("c1"), gave("c1", "thick"))
    call = book.calls()[0]
    assert [call.arguments_cut, call.result_cut, call.is_error] == [False, False, False]
    assert {type(flag) for flag in (call.arguments_cut, call.result_cut, call.is_error)} == {bool}


def test_how_long_a_call_took_is_unknown_where_its_result_came_with_it(book: Book) -> None:
    book.happen(called("c1"), gave("c1", "thick"))
    call = book.calls()[0]
    assert (call.status, call.result_version, call.duration) == ("done", 2, None)


def test_how_a_call_ended_is_told(book: Book) -> None:
    book.happen(*(called(call_id) for call_id in ("c1", "c2", "c3")))
    book.happen(gave("c1", is_error=True), gave("c2", is_error=True, cancelled=True))
    failing = {"functionResponse": {"id": "c3", "name": "look_up", "response": {"error": "no"}}}
    native = Native(api="gemini", value=failing)
    book.happen(events.ToolResultRecorded(call_id="c3", content=native))
    content = ToolCall(id="c4", name="look_up", arguments={})
    book.happen(
        events.ToolCallRecorded(call_id="c4", name="look_up", content=content, awaited=False)
    )
    assert [(call.status, call.is_error) for call in book.calls()] == [
        ("failed", True),
        ("cancelled", True),
        ("failed", True),
        ("unawaited", False),
    ]


def test_a_late_result_counts_and_a_rejected_one_does_not(book: Book) -> None:
    book.happen(called("c1"), prompt("never mind"), gave("c1", "late"))
    rejected = ToolResult(call_id="c1", content=(Text(text="again"),))
    book.happen(
        events.ToolResultRejected(call_id="c1", content=rejected, reason="duplicate"),
    )
    assert book.results() == [(1, "done", "late")]


def test_a_result_is_of_the_call_that_it_names(book: Book) -> None:
    book.happen(called("0"), gave("0", "first"), called("0"), gave("0", "second", call=3))
    assert book.results() == [(1, "done", "first"), (3, "done", "second")]


def test_a_result_is_of_the_last_call_of_its_id(book: Book) -> None:
    book.happen(called("0"), prompt(), called("0"))
    book.happen(gave("0", "second"))
    assert book.results() == [(1, "open", None), (3, "done", "second")]


def test_of_calls_of_one_response_with_one_id_the_first_gets_the_first_result(book: Book) -> None:
    book.happen(called("0", response=RESPONSE), called("0", response=RESPONSE))
    book.happen(gave("0", "first"))
    book.happen(gave("0", "second", call=2))
    assert book.results() == [(1, "done", "first"), (2, "done", "second")]


def test_a_side_line_has_its_own_calls(book: Book) -> None:
    book.happen(called("0", line=LINE), called("0"), gave("0", "aside", line=LINE))
    assert book.results() == [(1, "done", "aside"), (2, "open", None)]
    assert [call.line for call in book.calls()] == [LINE, None]


def test_a_result_without_a_call_has_a_row_of_its_own(book: Book) -> None:
    book.happen(gave("c1", "of the origin's call"), called("c1"))
    book.happen(gave("c1", "of this one", call=2))
    first, second = book.calls()
    assert (first.name, first.status, first.duration) == (None, "done", None)
    assert (second.version, second.result) == (2, "of this one")


def test_results_of_providers_tools_find_their_calls(book: Book) -> None:
    book.happen(prompt(), searched("s1"), searched("s2"))
    book.happen(search_gave("s1", "first"), closed())
    book.happen(search_gave("other", "second"), search_gave("s3", "third"))
    assert [(call.kind, call.name, call.result, call.model) for call in book.calls()] == [
        ("server tool", "web_search", "first <https://a.b>", "claude-sonnet-5"),
        ("server tool", "web_search", "second <https://a.b>", "claude-sonnet-5"),
        ("server tool", "web_search", "third <https://a.b>", None),
    ]


def test_a_call_whose_block_is_of_an_unknown_kind_has_the_name_of_its_event(book: Book) -> None:
    content = Native(api="anthropic-messages", value={"type": "new_tool_use"})
    book.happen(
        prompt(),
        events.ServerToolCallRecorded(
            response=RESPONSE, index=0, call_id="s1", name="new_search", content=content
        ),
    )
    assert [call.name for call in book.calls()] == ["new_search"]


def test_a_provider_s_call_may_hold_what_it_gave(book: Book) -> None:
    value = {
        "type": "mcp_call",
        "id": "m1",
        "name": "roll",
        "server_label": "dice",
        "arguments": "{}",
        "output": "six",
    }
    book.happen(
        events.ServerToolCallRecorded(
            response=RESPONSE,
            index=0,
            call_id="m1",
            name="roll",
            content=Native(api="openai-responses", value=value),
        ),
        closed("gpt-6"),
    )
    call = book.calls()[0]
    assert (call.name, call.status, call.result) == ("mcp", "done", "six")
    assert (call.duration, call.model) == (None, "gpt-6")


def test_a_tool_has_the_name_that_its_caller_gave(book: Book) -> None:
    spelled = name_for("files/read", ANTHROPIC)
    tool = ToolDefinition(name="files/read", input_schema={})
    book.happen(events.ToolsDeclared(tools=(tool,)))
    book.happen(tool_call("c1", spelled))
    book.happen(events.ToolsDeclared(tools=()))
    book.happen(tool_call("c2", spelled))
    assert [call.name for call in book.calls()] == ["files/read", spelled]


def test_what_is_long_is_cut_and_what_is_held_apart_is_named(book: Book) -> None:
    blob = book.log.put_blob(TENANT, book.conversation, [b"x" * 70_000])
    held = {"$onrecord.blob": blob.sha256, "size": blob.size}
    value = {"type": "tool_use", "id": "c2", "name": "write", "input": {"text": held}}
    book.happen(
        called("c1", text="x" * 5000),
        gave("c1", "y" * 4097),
        events.ToolCallRecorded(
            call_id="c2", name="write", content=Native(api="anthropic-messages", value=value)
        ),
    )
    long, apart = book.calls()
    assert (len(long.arguments or ""), long.arguments_cut) == (4096, True)
    assert (len(long.result or ""), long.result_cut) == (4096, True)
    assert apart.arguments == f'{{"text":"[held apart, SHA-256 {blob.sha256}]"}}'


def test_documents_are_counted_and_what_the_header_carries_is_told(book: Book) -> None:
    report = Document(media_type="text/plain", name="a.txt", url="https://a.b/a.txt")
    content = ToolResult(call_id="c1", content=(Text(text="see"), report))
    result = events.ToolResultRecorded(call_id="c1", content=content)
    stamp = Stamp(
        event_id=uuid7(),
        occurred_at=OCCURRED_AT,
        salt=bytes(16),
        tenant=TENANT,
        conversation_id=book.conversation,
        metadata={"locale": "de"},
    )
    book.happen(called("c1"), draft(result, stamp))
    call = book.calls()[0]
    assert (call.documents, call.result) == (1, "see\n\na.txt")
    assert call.metadata == {"locale": "de"}


def test_of_a_redacted_call_the_row_stays_and_says_nothing(book: Book) -> None:
    book.happen(called("c1", q="secret"), ContentRedacted(version=1))
    book.happen(gave("c1", "secret"))
    call = book.calls()[0]
    assert (call.name, call.arguments, call.arguments_digest) == (None, None, None)
    assert (call.status, call.result) == ("done", None)


def test_of_a_redacted_result_that_it_came_stays(book: Book) -> None:
    book.happen(called("c1", q="fog"), gave("c1", "secret"))
    book.happen(ContentRedacted(version=2))
    call = book.calls()[0]
    assert (call.arguments, call.status, call.result) == ('{"q":"fog"}', "done", None)


def test_the_result_that_names_a_redacted_document_is_gone(book: Book) -> None:
    plan = Document(media_type="text/plain", name="plan.txt", url="https://a.b/plan")
    content = ToolResult(call_id="c1", content=(Text(text="plan.txt"), plan))
    book.happen(
        called("c1"),
        events.ToolResultRecorded(call_id="c1", content=content),
        events.DocumentExtracted(document=plan, call_id="c1", path="/0"),
        called("c2"),
        gave("c2", "other"),
    )
    book.happen(ContentRedacted(version=3))
    assert [call.result for call in book.calls()] == [None, "other"]


def test_of_what_is_erased_no_call_is_known(book: Book) -> None:
    book.happen(called("c1"), gave("c1"))
    book.rows.forget(TOOL_LEDGER, book.conversation)
    assert book.calls() == []
    book.log.forget(book.conversation)
    assert book.rows.step(TOOL_LEDGER, everything(book.log)) == []
    assert book.calls() == []


def test_only_the_calls_that_are_asked_for_are_shown(book: Book) -> None:
    book.happen(called("c1", q=1), tool_call("c2", "other"), searched("s1"), gave("c1"))
    first, other, server = book.calls()
    assert book.calls(name="other") == [other]
    assert book.calls(kind="server tool") == [server]
    assert book.calls(status="open") == [other, server]
    assert book.calls(arguments_digest=first.arguments_digest) == [first]
    assert book.calls(conversation_id=str(uuid4())) == []
    assert book.calls(since=server.recorded_at + 1) == []
    assert book.calls(until=first.recorded_at) == []
    page = book.rows.page(TOOL_LEDGER, TENANT, limit=2)
    rest = book.rows.page(TOOL_LEDGER, TENANT, after={"position": page[-1]["position"]})
    assert [row["version"] for row in (*page, *rest)] == [3, 2, 1]


def test_results_of_providers_tools_are_paired_as_the_conversation_says(book: Book) -> None:
    book.happen(searched("s1"), searched("s2"), search_gave("s1", "one"), search_gave("s2", "two"))
    told = [event.told() for event in everything(book.log)]
    first, second = activity(told, lambda native: native)
    assert [getattr(part, "title", "") for part in (*first.parts, *second.parts)] == ["one", "two"]
    assert [call.result for call in book.calls()] == ["one <https://a.b>", "two <https://a.b>"]
