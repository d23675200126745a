"""What a framework wrote is a history like any other: each API's request can be made of it."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import onrecord
from onrecord.adapters.frameworks.session import NewItem
from onrecord.adapters.frameworks.sessions import Sessions
from onrecord.adapters.store import Store
from onrecord.domain.blobs import blob_of
from onrecord.domain.log import Backend
from onrecord.projections.history.held_documents import bytes_of
from tests.adapters.frameworks.sessions_places import store_of
from tests.adapters.frameworks.written_sessions import (
    ADK,
    AGENTS,
    APIS,
    CLAUDE,
    ITEMS,
    PICTURE,
    SAID,
    TRANSCRIPT,
    WRITTEN,
    complaints,
    conversation_of,
    entry,
    event,
    session_of,
    text,
    texts,
    write,
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with onrecord.connect(f"sqlite:///{tmp_path / 'log.db'}", actor="eve") as store:
        yield store


@pytest.fixture
def any_store(backend: Backend, tmp_path: Path) -> Store:
    return store_of(backend, tmp_path)


@pytest.mark.parametrize("framework", WRITTEN)
def test_a_history_is_what_the_framework_said(store: Store, framework: str) -> None:
    assert texts(write(store, framework)) == SAID


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("framework", WRITTEN)
def test_a_session_goes_on_at_each_api_by_its_rules(store: Store, framework: str, api: str) -> None:
    request = write(store, framework).request(api)
    assert complaints(api, request) == ()
    spelled = str(request.body)
    assert all(said in spelled for _, said in SAID)
    assert "in depot North" in spelled
    assert "NW-1" in spelled
    assert "track" in spelled
    assert PICTURE in spelled or api == "bedrock-converse"


def test_native_blocks_go_back_to_their_api_as_they_came(store: Store) -> None:
    request = write(store, CLAUDE).request("anthropic-messages")
    answer = request.body["messages"][1]
    assert answer["content"][0] == {"type": "thinking", "thinking": "Look.", "signature": "c2ln"}
    assert [block["type"] for block in answer["content"]] == ["thinking", "text", "tool_use"]
    called = write(store, ADK).request("gemini").body["contents"][1]
    assert called["parts"][-1] == {
        "functionCall": {"id": "adk-1", "args": {"parcel": "NW-1"}, "name": "track"},
        "thoughtSignature": "+/8A",
    }
    items = write(store, AGENTS).request("openai-responses").body["input"]
    assert items[1:6] == [each.item for each in ITEMS[1:6]]
    assert items[7] == {"role": "assistant", "content": "Yes."}


@pytest.mark.parametrize("framework", WRITTEN)
def test_the_same_items_make_the_same_request(store: Store, framework: str) -> None:
    conversation = write(store, framework)
    for api in APIS:
        assert conversation.request(api).body == conversation.request(api).body


def test_what_was_taken_away_is_no_turn_any_more_but_was_one_then(store: Store) -> None:
    conversation = write(store, AGENTS)
    session, version = session_of(store, AGENTS), conversation.head().version
    assert texts(conversation) == SAID
    session.pop()
    assert texts(conversation) == SAID[:-1]
    assert conversation.history(at=version)[-1].text == "Thanks. And NW-2?"
    session.clear()
    assert conversation.history() == ()
    with pytest.raises(onrecord.errors.NothingToSend):
        conversation.request("gemini")
    session.record([NewItem({"role": "user", "content": "Anew."})])
    assert texts(conversation) == [("user", "Anew.")]


def test_what_replaces_items_is_said_in_their_place(store: Store) -> None:
    conversation = write(store, AGENTS)
    session = session_of(store, AGENTS)
    loaded = session.load()
    last = loaded.items[-1].version
    summary = NewItem({"role": "user", "content": "They asked for NW-1."})
    session.replace([(last, last)], [summary], expected_version=loaded.version)
    assert [turn.text for turn in conversation.history()] == [
        "Thanks. And NW-2?\nThey asked for NW-1."
    ]


def test_streams_beside_the_main_one_are_no_turns(store: Store) -> None:
    conversation = write(store, CLAUDE)
    side = [entry(1, "user", "Look into it."), entry(2, "assistant", [text("I did.")])]
    session_of(store, CLAUDE).record(side, stream="subagents/agent-1")
    assert texts(conversation) == SAID


def test_a_transcript_that_was_rewound_is_told_as_it_went_on(store: Store) -> None:
    session = session_of(store, CLAUDE)
    session.record(TRANSCRIPT)
    edited = entry(10, "user", "Where is NW-9?", parentUuid="uuid-6")
    session.record([edited, entry(11, "assistant", [text("In depot South.")])])
    said = [turn.text for turn in conversation_of(store, CLAUDE).history()]
    assert said == [*(each for _, each in SAID[:4]), "Where is NW-9?", "In depot South."]


def test_tools_that_ran_in_parallel_are_one_round(store: Store) -> None:
    calls = [
        {"type": "tool_use", "id": f"toolu_{number}", "name": "track", "input": {"n": number}}
        for number in (1, 2)
    ]
    results = [
        [{"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": f"result {number}"}]
        for number in (1, 2)
    ]
    session_of(store, CLAUDE).record(
        [
            entry(1, "user", "Where are both?"),
            entry(2, "assistant", calls[:1]),
            entry(3, "user", results[0]),
            entry(4, "assistant", calls[1:], parentUuid="uuid-2", message={"id": "msg_2"}),
            entry(5, "user", results[1]),
            entry(6, "assistant", [text("In depot North.")], parentUuid="uuid-5"),
        ]
    )
    request = conversation_of(store, CLAUDE).request("anthropic-messages")
    assert complaints("anthropic-messages", request) == ()
    asked, called, gave, _ = request.body["messages"]
    assert asked == {"role": "user", "content": [text("Where are both?")]}
    assert called["content"] == calls
    assert [block["content"] for block in gave["content"]] == ["result 1", "result 2"]


def test_what_cannot_travel_is_told_with_the_version_of_its_item(store: Store) -> None:
    session_of(store, CLAUDE).record(
        [
            entry(1, "user", "Where?"),
            NewItem({"type": "attachment", "uuid": "uuid-2", "parentUuid": "uuid-1"}, "uuid-2"),
            entry(3, "assistant", [text("API Error: 529")], isApiErrorMessage=True),
            entry(4, "user", ""),
            entry(5, "user", "Again: where?"),
        ]
    )
    conversation = conversation_of(store, CLAUDE)
    assert [turn.text for turn in conversation.history()] == ["Where?\nAgain: where?"]
    report = conversation.request("openai-responses").report
    assert [(note.deed, note.version) for note in report if note.rule == "item"] == [
        ("left out", 3),
        ("left out", 4),
        ("left out", 5),
    ]


CROOKED: tuple[dict[str, Any], ...] = (
    {},
    {"role": 7},
    {"role": "nobody", "content": "x"},
    {"role": "user"},
    {"role": "user", "content": [1]},
    {"role": "user", "content": {"text": "x"}},
    {"type": "message", "message": {"role": "user", "content": "x"}},
    {"type": "user"},
    {"type": "user", "message": []},
    {"type": "user", "message": {"role": "assistant", "content": "x"}},
    {"type": "assistant", "message": {"role": "assistant", "content": ["x"]}},
    {"type": "assistant", "uuid": [], "parentUuid": {}, "message": {"role": "assistant"}},
    {"type": ["user"], "isSidechain": "no"},
    {"type": "function_call", "call_id": 1, "name": None, "arguments": []},
    {"type": "function_call_output", "output": None},
    {"content": {"parts": [None, {"function_call": "x"}, {"inline_data": {"data": 7}}]}},
    {"content": {"parts": [{"function_call": {"id": [], "name": {}, "args": 1}}]}, "author": 7},
    {"actions": {"compaction": {"start_timestamp": "x", "compacted_content": {"parts": [{}]}}}},
    {"actions": {"rewind_before_invocation_id": "no invocation"}, "timestamp": "x"},
)


@pytest.mark.parametrize("crooked", CROOKED, ids=range(len(CROOKED)))
@pytest.mark.parametrize("framework", WRITTEN)
def test_no_item_keeps_the_others_from_being_read(
    store: Store, framework: str, crooked: dict[str, Any]
) -> None:
    session = session_of(store, framework)
    ids = {"uuid": "crooked"} if framework == CLAUDE else {}
    first, *rest = WRITTEN[framework][1]
    session.record([first, NewItem({**ids, **crooked}), *rest])
    conversation = conversation_of(store, framework)
    for api in APIS:
        spelled = str(conversation.request(api).body)
        assert all(said in spelled for _, said in SAID)


def test_items_of_a_framework_that_is_not_read_are_told_of(store: Store) -> None:
    Sessions(store, "another").session("one").record([NewItem({"n": 1})])
    conversation = store.conversation('["another","one"]')
    conversation.user("Hello?")
    report = conversation.request("openai-chat").report
    assert [note.version for note in report if note.rule == "item"] == [2]


@pytest.mark.parametrize("framework", WRITTEN)
def test_long_strings_are_read_from_their_blobs(any_store: Store, framework: str) -> None:
    store = any_store
    long = "a long text " * 10_000
    call = {"type": "function_call", "call_id": "call_9", "name": "read", "arguments": "{}"}
    result = {"type": "function_call_output", "call_id": "call_9", "output": long}
    items = {
        CLAUDE: [entry(1, "user", long)],
        AGENTS: [NewItem(call), NewItem(result)],
        ADK: [event(1, "user", {"text": long})],
    }
    session_of(store, framework).record(items[framework])
    conversation = conversation_of(store, framework)
    for api in APIS:
        assert long in str(conversation.request(api).body)


def test_a_picture_in_an_answer_is_read_though_no_blob_has_it(store: Store) -> None:
    drawn = {
        "type": "image_generation_call",
        "id": "ig_1",
        "status": "completed",
        "result": PICTURE,
    }
    session_of(store, AGENTS).record(
        [
            NewItem({"role": "user", "content": "Draw."}),
            NewItem(drawn),
            NewItem({"role": "user", "content": "Again."}),
        ]
    )
    conversation = conversation_of(store, AGENTS)
    assert conversation.request("openai-responses").body["input"][1] == drawn
    assert PICTURE in str(conversation.request("anthropic-messages").body)


@pytest.mark.parametrize("framework", WRITTEN)
def test_a_window_keeps_whole_exchanges_of_a_session(any_store: Store, framework: str) -> None:
    request = write(any_store, framework).request(
        "anthropic-messages", window=onrecord.Window(exchanges=1, step=1)
    )
    assert complaints("anthropic-messages", request) == ()
    assert [message["role"] for message in request.body["messages"]] == [
        *("user", "assistant", "user"),
    ]
    assert "Is this it?" in str(request.body["messages"][0])


@pytest.mark.parametrize("framework", WRITTEN)
def test_a_window_by_messages_keeps_the_last_ones(store: Store, framework: str) -> None:
    window = onrecord.MessageWindow(messages=3)
    request = write(store, framework).request("openai-chat", window=window)
    assert "Where is parcel NW-1?" not in str(request.body)
    assert "Thanks. And NW-2?" in str(request.body)


@pytest.mark.parametrize("framework", WRITTEN)
def test_a_fork_goes_on_from_a_session_and_leaves_it_as_it_is(store: Store, framework: str) -> None:
    session, conversation = session_of(store, framework), write(store, framework)
    held = session.load().items
    fork = conversation.fork("elsewhere")
    fork.user("And NW-3?")
    said = [*SAID[:-1], ("user", "Thanks. And NW-2?\nAnd NW-3?")]
    assert texts(fork) == said
    session_of(store, framework).record([entry(10, "user", "Only here.")])
    assert texts(fork) == said
    for api in APIS:
        request = fork.request(api, window=onrecord.Window(exchanges=9))
        assert complaints(api, request) == ()
        assert "Where is parcel NW-1?" in str(request.body)
    assert session.load().items[: len(held)] == held


@pytest.mark.parametrize("framework", WRITTEN)
def test_what_is_said_by_our_own_verbs_comes_behind_and_the_framework_does_not_see_it(
    store: Store, framework: str
) -> None:
    conversation = write(store, framework)
    conversation.instruct("Be short.")
    conversation.user("And NW-3?")
    assert texts(conversation)[-1] == ("user", "Thanks. And NW-2?\nAnd NW-3?")
    request = conversation.request("anthropic-messages")
    assert request.body["system"] == "Be short."
    assert len(session_of(store, framework).load().items) == len(WRITTEN[framework][1])


def test_a_redacted_item_is_no_turn(store: Store) -> None:
    conversation = write(store, AGENTS)
    conversation.redact(2)
    assert "Where is parcel NW-1?" not in str(conversation.request("gemini").body)


def test_a_call_without_a_result_gets_the_stand_in_that_every_call_gets(store: Store) -> None:
    session_of(store, AGENTS).record(ITEMS[:4])
    conversation = conversation_of(store, AGENTS)
    assert texts(conversation) == SAID[:2]
    for api in APIS:
        assert complaints(api, conversation.request(api)) == ()


def test_instructions_that_lead_the_items_are_instructions(store: Store) -> None:
    session_of(store, AGENTS).record(
        [
            NewItem({"role": "system", "content": "Be short."}),
            NewItem({"role": "user", "content": "Hello?"}),
        ]
    )
    request = conversation_of(store, AGENTS).request("anthropic-messages")
    assert "Be short." in str(request.body["system"])
    assert request.body["messages"] == [{"role": "user", "content": [text("Hello?")]}]


@pytest.mark.parametrize("framework", WRITTEN)
def test_the_difference_of_two_versions_names_items(store: Store, framework: str) -> None:
    conversation = write(store, framework)
    last = conversation.head().version
    difference = conversation.diff(last - 1, last, api="anthropic-messages")
    assert "NW-2" in str(difference)


def test_a_window_of_a_fork_counts_the_exchanges_of_both(store: Store) -> None:
    fork = write(store, AGENTS).fork("elsewhere")
    window = onrecord.Window(exchanges=1, step=1)
    for number in range(3):
        fork.user(f"Question {number}.")
        fork.assistant(f"Answer {number}.")
        said = str(fork.request("openai-chat", window=window).body)
        assert f"Question {number}." in said
        assert ("NW-2" in said, "Is this it?" in said) == (number == 0, False)


@pytest.mark.parametrize("framework", WRITTEN)
def test_documents_of_items_are_listed_with_their_bytes(store: Store, framework: str) -> None:
    conversation = write(store, framework)
    (document,) = conversation.documents()
    item = next(
        event.version for event in conversation.log.read() if PICTURE[:20] in str(event.body)
    )
    assert (document.version, document.origin) == (item, "user")
    assert document.document.media_type == "image/png"
    assert document.blob == blob_of(b64decode(PICTURE))
    conversation.redact(item)
    assert conversation.documents() == ()


def test_a_picture_that_a_provider_drew_is_listed_with_its_bytes(store: Store) -> None:
    drawn = {"type": "image_generation_call", "id": "ig_1", "status": "completed"}
    session_of(store, AGENTS).record(
        [NewItem({"role": "user", "content": "Draw."}), NewItem({**drawn, "result": PICTURE})]
    )
    conversation = conversation_of(store, AGENTS)
    (document,) = conversation.documents()
    assert (document.version, document.origin) == (3, "provider")
    assert bytes_of(document.document, {}) == b64decode(PICTURE)
    (activity,) = conversation.tools.server_calls()
    assert activity.tool == "image_generation"
