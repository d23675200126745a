"""What other programs keep of their conversations, taken in as if it had been recorded."""

import json
from pathlib import Path
from typing import Any

import pytest

from onrecord.adapters.histories.intake import SOURCES
from onrecord.adapters.store import Store
from onrecord.domain.content import Native, Text
from onrecord.domain.errors import InvalidInput
from onrecord.domain.events import (
    ConversationStarted,
    InstructionsSet,
    MessageRecorded,
    ToolCallRecorded,
    ToolResultRecorded,
    ToolsDeclared,
)
from onrecord.domain.tools import tools_digest
from onrecord.projections.api import known_api
from tests.adapters.histories.kept_histories import (
    ANTHROPIC,
    APIS,
    BESIDE,
    CHAT,
    GEMINI,
    RESPONSES,
    WHOLE,
    all_taken_in,
    content_of,
    events_of,
    lines_written,
    memory,
    taken_in,
    written,
)

TOOL = {"name": "weather", "description": "Tells it.", "input_schema": {"type": "object"}}


@pytest.fixture
def store() -> Store:
    return memory()


@pytest.mark.parametrize("api", APIS)
def test_what_was_imported_goes_back_to_its_api_as_it_was(store: Store, api: str) -> None:
    done = taken_in(store, api, WHOLE[api], **BESIDE.get(api, {}))
    assert (done.outcome, done.doubts, done.events) == ("recorded", (), done.recorded)
    request = store.conversation("kept").request(api)
    assert request.body[known_api(api).messages] == WHOLE[api]
    assert list(request.report) == []


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("other", APIS)
def test_what_was_imported_goes_to_any_api(store: Store, api: str, other: str) -> None:
    taken_in(store, api, WHOLE[api])
    spelled = json.dumps(store.conversation("kept").request(other).body)
    for said in ("What is the weather?", "Oslo", "Rain", "It rains.", "And tomorrow?"):
        assert said in spelled


def test_a_request_brings_its_instructions_and_tools(store: Store) -> None:
    taken_in(store, "anthropic-messages", ANTHROPIC, system="Be brief.", tools=[TOOL])
    started, instructions, tools, *_ = events_of(store)
    assert started == ConversationStarted(key="kept")
    assert instructions == InstructionsSet(content="Be brief.")
    declared = (Native(api="anthropic-messages", value=TOOL),)
    assert tools == ToolsDeclared(tools=declared, sha256=tools_digest(declared))


def test_blocks_stay_in_the_form_they_came_in(store: Store) -> None:
    taken_in(store, "openai-chat", CHAT)
    events = events_of(store)
    (call,) = [event for event in events if isinstance(event, ToolCallRecorded)]
    (result,) = [event for event in events if isinstance(event, ToolResultRecorded)]
    assert call.content == Native(api="openai-chat", value=CHAT[2]["tool_calls"][0])
    assert result.content == Native(api="openai-chat", value=CHAT[3])
    assert MessageRecorded(role="user", content=(Text(text="What is the weather?"),)) in events


def test_a_long_string_is_kept_beside_the_log_and_comes_back(store: Store) -> None:
    long = {"type": "text", "text": "x" * 200_000}
    message = {"role": "user", "content": [long]}
    taken_in(store, "anthropic-messages", [message])
    assert len(content_of(store)[1][2] or b"") < 1000
    assert store.conversation("kept").request("anthropic-messages")["messages"] == [message]


def test_secrets_beside_what_was_said_are_cut(store: Store) -> None:
    server = {"type": "mcp", "server_label": "x", "authorization": "s3cret-canary"}
    taken_in(store, "openai-responses", RESPONSES, tools=[server])
    assert not any(b"s3cret-canary" in (body or b"") for _, _, body in content_of(store))


SHAPES: list[tuple[str, object]] = [
    ("list.json", ANTHROPIC),
    ("request.json", {"model": "m", "max_tokens": 1, "messages": ANTHROPIC}),
]


@pytest.mark.parametrize(("name", "value"), SHAPES)
def test_a_file_of_one_conversation_has_its_key(
    store: Store, tmp_path: Path, name: str, value: object
) -> None:
    (done,) = all_taken_in(store, "anthropic-messages", written(tmp_path / name, value))
    assert (done.key, done.events) == ("kept", 7)


def test_a_message_a_line_is_one_conversation(store: Store, tmp_path: Path) -> None:
    path = lines_written(tmp_path / "chat.jsonl", ANTHROPIC)
    (done,) = all_taken_in(store, "anthropic-messages", path)
    assert (done.key, done.events) == ("kept", 7)


def test_a_conversation_a_line_has_the_number_of_its_line_or_its_own_id(
    store: Store, tmp_path: Path
) -> None:
    path = tmp_path / "tuning.jsonl"
    named = {"id": "first", "messages": CHAT}
    lines = [json.dumps(named), "", json.dumps({"messages": CHAT[:2]}), json.dumps(CHAT)]
    path.write_text("\n".join(lines), encoding="utf-8")
    done = all_taken_in(store, "openai-chat", path)
    assert [it.key for it in done] == ["kept/first", "kept/3", "kept/4"]
    assert [it.outcome for it in done] == ["recorded"] * 3


@pytest.mark.parametrize("api", APIS)
def test_the_lines_of_a_file_may_be_messages_or_conversations_of_any_api(
    store: Store, tmp_path: Path, api: str
) -> None:
    said = lines_written(tmp_path / "said.jsonl", WHOLE[api])
    held = lines_written(
        tmp_path / "held.jsonl", [{"id": "a", known_api(api).messages: WHOLE[api]}]
    )
    (one,) = all_taken_in(store, api, said, "said")
    (other,) = all_taken_in(store, api, held, "held")
    assert [(it.key, it.outcome) for it in (one, other)] == [
        ("said", "recorded"),
        ("held/a", "recorded"),
    ]
    assert one.events == other.events


def test_a_list_of_conversations_is_numbered(store: Store, tmp_path: Path) -> None:
    path = written(tmp_path / "all.json", [CHAT, {"messages": CHAT}])
    assert [it.key for it in all_taken_in(store, "openai-chat", path)] == ["kept/1", "kept/2"]


def test_a_file_named_for_lines_holds_several_even_with_one(store: Store, tmp_path: Path) -> None:
    path = lines_written(tmp_path / "tuning.jsonl", [{"messages": CHAT}])
    assert [it.key for it in all_taken_in(store, "openai-chat", path)] == ["kept/1"]


def test_a_snapshot_a_line_of_one_conversation_is_one_conversation(
    store: Store, tmp_path: Path
) -> None:
    lines = [{"id": "a", "input": RESPONSES[:n]} for n in (1, 4, 6)]
    done = all_taken_in(store, "openai-responses", lines_written(tmp_path / "l.jsonl", lines))
    assert [it.outcome for it in done] == ["recorded", "extended", "extended"]
    request = store.conversation("kept/a").request("openai-responses")
    assert request["input"] == RESPONSES


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_an_editor_may_have_marked_a_file_as_utf_8(
    store: Store, tmp_path: Path, mark: bytes
) -> None:
    path = tmp_path / "chat.json"
    path.write_bytes(mark + json.dumps(CHAT, indent=2).encode() + b"\r\n")
    assert [it.outcome for it in all_taken_in(store, "openai-chat", path)] == ["recorded"]


UNREADABLE = [
    (b"", "is empty"),
    (b" \n\n", "is empty"),
    (b"[]", "no message"),
    (b'[{"role": "user", "con', "neither JSON nor JSON lines: .* line 1"),
    (b'{"role": "user", "content": "a"}\n{"role": "us', "line 2: not JSON"),
    (b'[{"role": "user", "content": "a"}, 3]', "number 2: no message"),
    (b'{"role": "user", "content": "a"}\n{"messages": []}\n', "line 2: no message"),
    (b'[{"role": "user", "content": "a", "content": "b"}]', "same key twice"),
]


@pytest.mark.parametrize(("text", "why"), UNREADABLE)
def test_a_file_that_is_none_of_the_shapes_is_an_error_that_says_where(
    tmp_path: Path, text: bytes, why: str
) -> None:
    path = tmp_path / "chat.json"
    path.write_bytes(text)
    with pytest.raises(InvalidInput, match=why):
        SOURCES["openai-chat"](path)


REFUSED: list[tuple[str, object, str]] = [
    ("anthropic-messages", [{"role": "bot", "content": "a"}], "the file: message 1: "),
    ("anthropic-messages", [*ANTHROPIC, {"role": "user", "content": 3}], "the file: message 6: "),
    ("anthropic-messages", {"model": "m"}, "the file: neither a list"),
    ("openai-chat", {"input": "a"}, "the file: neither a list"),
    ("openai-responses", {"input": [*RESPONSES, 3]}, "the file: item 7: "),
    ("gemini", {"messages": []}, "the file: neither a list"),
    ("gemini", [*GEMINI, {"role": "user", "parts": 3}], "the file: message 6: "),
    ("bedrock-converse", [{"role": "user", "content": 3}], "the file: message 1: "),
]


@pytest.mark.parametrize(("api", "value", "why"), REFUSED)
def test_a_conversation_that_is_none_of_its_api_is_refused_with_its_place(
    store: Store, tmp_path: Path, api: str, value: object, why: str
) -> None:
    (done,) = all_taken_in(store, api, written(tmp_path / "chat.json", value))
    assert (done.outcome, done.recorded) == ("refused", 0)
    assert (done.why or "").startswith(why)
    assert list(store.conversations()) == []


def test_one_that_cannot_be_read_does_not_keep_others_out(store: Store, tmp_path: Path) -> None:
    lines: list[Any] = [{"messages": CHAT}, {"nothing": 1}, {"messages": CHAT[:2]}]
    done = all_taken_in(store, "openai-chat", lines_written(tmp_path / "l.jsonl", lines))
    assert [it.outcome for it in done] == ["recorded", "refused", "recorded"]
    assert (done[1].why or "").startswith("line 2: ")
