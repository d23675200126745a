"""Signals as callers give them: what is recorded, and what becomes of the calls that are open."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import onrecord
from onrecord.domain import events
from onrecord.domain.content import Document, Text, ToolCall, ToolResult
from onrecord.domain.conversation import CANCELLED
from onrecord.domain.log import Duplicate
from tests.patience import PATIENCE, join
from tests.postgres_places import fresh_log
from tests.postgres_server import VERSIONS, server
from tests.projections.happenings import words

CANCELS = ToolResult(call_id="toolu_1", content=(), is_error=True)


@pytest.fixture
def store() -> onrecord.Store:
    return onrecord.connect("memory://")


@pytest.fixture
def chat(store: onrecord.Store) -> onrecord.Conversation:
    return store.conversation("support/4711")


def asks(chat: onrecord.Conversation, *call_ids: str) -> None:
    chat.user("Look")
    calls(chat, *call_ids)


def calls(chat: onrecord.Conversation, *call_ids: str) -> None:
    for call_id in call_ids:
        call = ToolCall(id=call_id, name="look", arguments={})
        chat.log.append(events.ToolCallRecorded(call_id=call_id, name="look", content=call))


def types(chat: onrecord.Conversation, since: int = 0) -> list[str]:
    return [recorded.type for recorded in chat.events(after=since)]


def received(chat: onrecord.Conversation) -> events.SignalReceived:
    [event] = [
        event
        for recorded in chat.events(after=0)
        if isinstance(event := recorded.event(), events.SignalReceived)
    ]
    return event


def last_turn(chat: onrecord.Conversation) -> list[str]:
    return [words(block) for block in chat.history()[-1].blocks]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("a bell rang", ("a bell rang",)),
        ({"order": 4711}, ('{"order":4711}',)),
        ([1, "two"], ('[1,"two"]',)),
        (0, ("0",)),
        (False, ("false",)),
        (0.0, ("0.0",)),
        (None, ()),
        ("", ()),
        (" \n", ()),
        ([], ()),
        ({}, ()),
        ((), ()),
    ],
)
def test_what_is_empty_is_no_content_and_zero_and_false_are(
    chat: onrecord.Conversation, content: object, said: tuple[str, ...]
) -> None:
    chat.signal(content)
    assert received(chat).content == tuple(Text(text=each) for each in said)


def test_no_words_for_an_empty_signal_are_stored(chat: onrecord.Conversation) -> None:
    chat.signal(interrupts=True)
    assert received(chat) == events.SignalReceived()


def test_documents_stand_behind_the_text_wherever_they_are_given(
    chat: onrecord.Conversation, tmp_path: Path
) -> None:
    report = tmp_path / "report.pdf"
    report.write_bytes(b"%PDF-1.7 the report")
    chat.signal({"see": {"this": report}}, documents=[b"%PDF-1.7 another"], name="mail")
    text, first, second = received(chat).content
    assert isinstance(text, Text)
    assert isinstance(first, Document)
    assert isinstance(second, Document)
    assert first.name == "report.pdf"
    assert first.blob is not None
    assert first.blob.sha256[:8] in text.text
    assert received(chat).name == "mail"


def test_a_document_that_a_signal_shows_twice_is_there_once(chat: onrecord.Conversation) -> None:
    chat.signal([b"%PDF-1.7 same"], documents=[b"%PDF-1.7 same", b"%PDF-1.7 same"])
    documents = [part for part in received(chat).content if isinstance(part, Document)]
    assert len(documents) == 1


@pytest.mark.parametrize("how", [{"name": 4}, {"message_id": 4}, {"documents": "report.pdf"}])
def test_a_signal_that_is_none_is_refused_and_nothing_recorded(
    chat: onrecord.Conversation, how: dict[str, Any]
) -> None:
    with pytest.raises(onrecord.InvalidContent):
        chat.signal("a bell rang", **how)
    assert chat.head().version == 0


def test_a_signal_may_begin_a_conversation(chat: onrecord.Conversation) -> None:
    chat.signal("a bell rang", interrupts=True)
    assert types(chat) == ["conversation.started", "signal.received"]
    assert chat.request("openai-chat")["messages"] == [{"role": "user", "content": "a bell rang"}]


def test_a_signal_waits_for_the_round_and_is_durable_at_once(chat: onrecord.Conversation) -> None:
    asks(chat, "toolu_1")
    chat.signal("a bell rang")
    assert types(chat)[-1] == "signal.received"
    assert [call.id for call in chat.open_calls()] == ["toolu_1"]
    chat.tool_result("toolu_1", "seen")
    assert last_turn(chat) == ["toolu_1: seen", "a bell rang"]


def test_a_signal_that_interrupts_gives_up_the_open_calls_in_their_order_in_one_commit(
    chat: onrecord.Conversation,
) -> None:
    asks(chat, "toolu_1", "toolu_2", "toolu_3")
    chat.tool_result("toolu_2", "seen")
    before = chat.head().version
    done = chat.signal("a bell rang", interrupts=True)
    assert (done.first, done.last) == (before + 1, before + 3)
    first, third, signal = (recorded.event() for recorded in chat.events(after=before))
    assert first == events.ToolResultRecorded(
        call_id="toolu_1", content=CANCELS, is_error=True, cancelled=True
    )
    assert isinstance(third, events.ToolResultRecorded)
    assert third.call_id == "toolu_3"
    assert isinstance(signal, events.SignalReceived)
    assert signal.interrupts
    assert chat.open_calls() == []
    assert last_turn(chat) == [
        f"toolu_1: {CANCELLED}",
        "toolu_2: seen",
        f"toolu_3: {CANCELLED}",
        "a bell rang",
    ]


def test_the_words_for_a_cancelled_result_are_not_stored(chat: onrecord.Conversation) -> None:
    asks(chat, "toolu_1")
    chat.cancel("toolu_1")
    assert not any(
        CANCELLED.encode() in (recorded.body or b"") for recorded in chat.events(after=0)
    )
    assert last_turn(chat) == [f"toolu_1: {CANCELLED}"]


def test_a_signal_that_interrupts_nothing_is_one_that_waits(chat: onrecord.Conversation) -> None:
    """So it opens an exchange, as a prompt does."""
    chat.user("Hello")
    exchange = chat.head().exchange
    chat.signal("a bell rang", interrupts=True)
    assert received(chat).interrupts is False
    assert chat.head().exchange == exchange + 1


def test_a_signal_that_interrupts_stays_in_the_exchange_of_its_round(
    chat: onrecord.Conversation,
) -> None:
    """A window never drops the question whose calls were given up."""
    asks(chat, "toolu_1")
    exchange = chat.head().exchange
    chat.signal("a bell rang", interrupts=True)
    assert chat.head().exchange == exchange
    request = chat.request("openai-chat", window=onrecord.Window(exchanges=1, step=1))
    assert request["messages"][0]["content"] == "Look"


def test_calls_of_an_earlier_round_are_not_given_up_again(chat: onrecord.Conversation) -> None:
    asks(chat, "toolu_1")
    chat.signal(interrupts=True)
    calls(chat, "toolu_2")
    before = chat.head().version
    chat.signal(interrupts=True)
    assert types(chat, before) == ["tool_result.recorded", "signal.received"]


def test_an_id_that_is_used_again_is_given_up_again(chat: onrecord.Conversation) -> None:
    """Servers exist that number the calls of each answer from 0."""
    asks(chat, "0")
    chat.signal("one", interrupts=True)
    calls(chat, "0")
    chat.signal("two", interrupts=True)
    assert chat.open_calls() == []
    assert types(chat).count("tool_result.recorded") == 2


def test_a_fork_gives_up_the_calls_that_its_origin_left_open(
    store: onrecord.Store, chat: onrecord.Conversation
) -> None:
    asks(chat, "toolu_1")
    fork = chat.fork("support/4711-b")
    fork.signal("a bell rang", interrupts=True)
    assert fork.open_calls() == []
    assert [call.id for call in chat.open_calls()] == ["toolu_1"]


@pytest.mark.parametrize("interrupts", [False, True])
def test_a_signal_with_an_id_is_recorded_once(
    chat: onrecord.Conversation, interrupts: bool
) -> None:
    asks(chat, "toolu_1")
    chat.signal("a bell rang", interrupts=interrupts, message_id="s1")
    version = chat.head().version
    done = chat.signal("a bell rang", interrupts=interrupts, message_id="s1")
    assert isinstance(done, Duplicate)
    calls(chat, "toolu_2")
    assert isinstance(chat.signal("a bell rang", interrupts=interrupts, message_id="s1"), Duplicate)
    assert chat.head().version == version + 1


def test_a_signal_that_comes_again_gives_up_no_later_call(chat: onrecord.Conversation) -> None:
    chat.user("Look")
    chat.signal("a bell rang", interrupts=True, message_id="s1")
    calls(chat, "toolu_1")
    chat.signal("a bell rang", interrupts=True, message_id="s1")
    assert [call.id for call in chat.open_calls()] == ["toolu_1"]


def test_the_same_id_with_another_message_is_an_error(chat: onrecord.Conversation) -> None:
    asks(chat, "toolu_1")
    chat.signal("a bell rang", message_id="s1")
    for interrupts in (False, True):
        with pytest.raises(onrecord.IdempotencyMismatch, match="use a new message_id"):
            chat.signal("two bells rang", interrupts=interrupts, message_id="s1")
    assert [call.id for call in chat.open_calls()] == ["toolu_1"]


def test_a_closed_conversation_takes_no_signal(chat: onrecord.Conversation) -> None:
    asks(chat, "toolu_1")
    chat.end()
    for interrupts in (False, True):
        with pytest.raises(onrecord.ConversationClosed):
            chat.signal("a bell rang", interrupts=interrupts)


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    match request.param:
        case "postgres":
            version = VERSIONS[-1]
            url = fresh_log(version)
            yield url
            server(version).drop(url)
        case "sqlite":
            yield f"sqlite:///{tmp_path / 'talks.db'}"
        case _:
            yield "memory://"


def test_a_result_that_is_quicker_stands_and_each_call_has_one(where: str) -> None:
    store = onrecord.connect(where)
    chat = store.conversation("race")
    call_ids = [f"toolu_{number}" for number in range(24)]
    asks(chat, *call_ids)
    begin = threading.Barrier(3, timeout=PATIENCE)

    def give(mine: list[str]) -> None:
        other = store.conversation("race")
        begin.wait()
        for call_id in mine:
            other.tool_result(call_id, f"{call_id} found")

    givers = [threading.Thread(target=give, args=(call_ids[at::2],)) for at in range(2)]
    for giver in givers:
        giver.start()
    begin.wait()
    chat.signal("a bell rang", interrupts=True)
    for giver in givers:
        join(giver)
    recorded = [event.event() for event in chat.events(after=0)]
    results = [event for event in recorded if isinstance(event, events.ToolResultRecorded)]
    assert sorted(result.call_id for result in results) == sorted(call_ids)
    place = next(
        at for at, event in enumerate(recorded) if isinstance(event, events.SignalReceived)
    )
    # No half of it: what was given up stands right before the signal.
    cancelled = [at for at, event in enumerate(recorded) if event in results and is_given_up(event)]
    assert cancelled == list(range(place - len(cancelled), place))
    assert chat.open_calls() == []
    store.close()


def is_given_up(event: object) -> bool:
    return isinstance(event, events.ToolResultRecorded) and event.cancelled
