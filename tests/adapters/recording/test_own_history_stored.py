"""Programs that keep their own list: what is stored of their requests, and how lines are shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from onrecord.adapters.conversation.conversation import Conversation, stream_of
from onrecord.adapters.conversation.rendering import replays
from onrecord.adapters.recording.tenancy import Tenancy
from onrecord.adapters.streams.history_changes import changes_at
from onrecord.domain import events, jsontext
from onrecord.domain.content import Text
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.request_template import LiteralSpan, SharedSpan
from onrecord.projections.history.timeline import timeline
from tests.adapters.every_spelling import EVERY
from tests.adapters.recorded_calls import Recorded
from tests.adapters.recording.own_history import Anthropic, Program, Spelling


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    return Recorded(tmp_path)


@pytest.fixture(params=EVERY, ids=[spelling.api for spelling in EVERY])
def program(request: pytest.FixtureRequest, recorded: Recorded) -> Program:
    spelling: Spelling = request.param
    return Program(recorded, spelling)


def test_each_line_is_shown_with_where_it_stands_and_what_became_of_it(recorded: Recorded) -> None:
    program = Program(recorded, Anthropic())
    history = program.ask(program.user("u1"), "a1")
    program.ask([*history, *program.user("u2")], "a2")
    edited = program.ask([*history, *program.user("u2b")], "b2")
    program.ask(program.user("x1"), "y1", system="You give titles.")
    program.ask([*edited, *program.user("u3")], "a3")
    chat = recorded.chat
    changes = changes_at(stream_of(chat).backend, chat.conversation_id, chat.head().version)
    rows = list(timeline(recorded.chat.events(after=0), side_lines=True, standing=changes.losses))
    edit, other = (row for row in rows if row.kind == "line")
    assert edit.text.startswith("branches after version 5 (an edit, ")
    assert edit.text.endswith("), 4 events, history since version 18")
    given_up = {row.version for row in rows if row.marks == ("given up",)}
    aside = {row.version for row in rows if row.marks == ("aside",)}
    assert given_up == {6, 7, 8, 9}
    assert min(aside) == other.version
    assert other.text.startswith("unrelated (a request of its own, such as a sub-agent's ")
    assert other.text.endswith("), 4 events, aside: the conversation never went on from it")
    sent = [row.text.partition(", ")[2] for row in rows if row.kind == "request"]
    assert sent == ["", "", "branches after version 5", "unrelated", ""]


def test_of_a_window_only_what_is_new_is_stored(program: Program) -> None:
    history = program.ask(program.user("u0"), "a0")
    for number in range(1, 12):
        prompt = program.user(f"u{number} " + "x" * 500)
        history = program.ask([*history[-6:], *prompt], f"a{number} " + "y" * 500)
    (*_, sent) = program.recorded.requests()
    assert sent.relation == "view"
    kept = [span.text for span in sent.template.spans if isinstance(span, LiteralSpan)]
    assert sum(map(len, kept)) < sent.template.size / 2


def test_each_request_comes_back_as_it_was_sent(program: Program) -> None:
    first = program.user("u1")
    history = program.ask(first, "a1")
    edited = program.ask(program.user("u1"), "b1")
    program.ask([*edited, *program.user("u2")], "b2")
    program.ask([*history, *program.user("u2")], "a2")
    assert [outcome.is_whole for outcome in replays(program.recorded.chat)] == [True] * 4


def test_a_key_of_the_conversation_tells_all_holders_the_same(program: Program) -> None:
    history = program.ask(program.user("u1"), "a1")
    program.ask([*program.ask(program.user("u1"), "b1"), *program.user("u2")], "b2")
    program.ask([*history, *program.user("u3")], "a3")
    chat = program.recorded.chat
    other = Conversation(
        Tenancy(stream_of(chat).backend, stream_of(chat).tenant, program.recorded.spool), chat.key
    )
    api = program.spelling.api
    assert jsontext.write(dict(other.request(api))) == jsontext.write(dict(chat.request(api)))


def test_a_request_goes_back_to_few_others(program: Program) -> None:
    history = program.user("u " + "x" * 500)
    for number in range(40):
        history = program.ask(history, f"a{number} " + "y" * 500)
        history = [*history, *program.user(f"u{number} " + "z" * 500)]
    depths: dict[UUID, int] = {}
    for recorded in program.recorded.chat.events(after=0):
        sent = recorded.event()
        if isinstance(sent, events.RequestSent):
            shared = [s.request for s in sent.template.spans if isinstance(s, SharedSpan)]
            depths[recorded.event_id] = max((depths[request] + 1 for request in shared), default=0)
            kept = [s.text for s in sent.template.spans if isinstance(s, LiteralSpan)]
            assert sum(map(len, kept)) < 8000
    assert max(depths.values()) == 32
    assert list(depths.values()).count(0) == 2
    assert {outcome.is_whole for outcome in replays(program.recorded.chat)} == {True}


def test_of_a_long_list_a_request_goes_back_to_more_others(program: Program) -> None:
    said = [program.user(f"u{number} " + "x" * 200) for number in range(200)]
    history = [message for messages in said for message in messages]
    for number in range(36):
        history = [*program.ask(history, f"a{number}"), *program.user(f"v{number}")]
    spans = [sent.template.spans for sent in program.recorded.requests()]
    assert all(isinstance(held[0], SharedSpan) for held in spans[1:])
    assert all(len(held) < 10 for held in spans[1:])


def test_other_calls_are_looked_through_together(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that calls for something else each time has a line a call: they are read once."""
    program = Program(recorded, Anthropic())
    read, reads = recorded.counting.read, list[tuple[UUID, int]]()

    def counted(conversation_id: UUID, *, after: int = 0, until: int | None = None) -> Any:
        reads.append((conversation_id, after))
        return read(conversation_id, after=after, until=until)

    monkeypatch.setattr(recorded.counting, "read", counted)
    by_call: list[int] = []
    for number in range(24):
        before = len(reads)
        program.ask(program.user(f"u{number}"), f"a{number}")
        by_call.append(len(reads) - before)
    assert program.relations()[-1].endswith("aside")
    assert by_call[-1] <= by_call[3]


def test_the_end_of_a_long_history_is_known_again_behind_a_new_beginning(
    recorded: Recorded,
) -> None:
    said = [
        events.MessageRecorded(role=role, content=(Text(text=f"{role[0]}{number}"),))
        for number in range(400)
        for role in ("user", "assistant")
    ]
    recorded.chat.log.append(*said)
    program = Program(recorded, Anthropic())
    answers: list[JsonObject] = [
        {"role": "assistant", "content": f"a{number}"} for number in (398, 399)
    ]
    window = [*program.user("u398"), answers[0], *program.user("u399"), answers[1]]
    program.ask([*window, *program.user("u400")], "a400")
    assert program.relations() == ["view"]
    assert program.said()[-2:] == ["u399", "u400"]
