from __future__ import annotations

import json
import sys
import threading
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

import onrecord
from onrecord.adapters.conversation.conversation import stream_of
from onrecord.adapters.store import backend_of
from onrecord.domain import events
from onrecord.domain.content import Document, Native, Text, ToolCall, ToolResult
from onrecord.domain.errors import UnknownApi
from onrecord.domain.log import Duplicate, Recorded
from onrecord.domain.tools import tools_digest
from tests.factories import BECAUSE
from tests.patience import PATIENCE, join

KEY = "support/4711"
HALF = "half of a pair: \ud800"


@pytest.fixture
def store() -> onrecord.Store:
    return onrecord.connect("memory://")


@pytest.fixture
def chat(store: onrecord.Store) -> onrecord.Conversation:
    return store.conversation(KEY)


def types(chat: onrecord.Conversation) -> list[str]:
    return [recorded.type for recorded in chat.events(after=0)]


def said(chat: onrecord.Conversation) -> list[object]:
    return [recorded.event() for recorded in chat.events(after=1)]


def test_a_conversation_starts_with_its_first_event(chat: onrecord.Conversation) -> None:
    assert chat.head().version == 0
    assert chat.user("Hello") == Recorded(first=1, last=2, position=2)
    assert types(chat) == ["conversation.started", "message.recorded"]


def test_another_holder_of_the_key_goes_on_with_the_same_conversation(
    store: onrecord.Store, chat: onrecord.Conversation
) -> None:
    chat.user("Hello")
    other = store.conversation(KEY)
    other.user("and?")
    assert types(chat) == ["conversation.started", "message.recorded", "message.recorded"]


def test_two_who_begin_at_once_begin_one_conversation(store: onrecord.Store) -> None:
    barrier = threading.Barrier(8, timeout=PATIENCE)

    def begin(number: int) -> None:
        chat = store.conversation(KEY)
        barrier.wait()
        chat.user(f"Hello {number}")

    threads = [threading.Thread(target=begin, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        join(thread)
    assert types(store.conversation(KEY)) == ["conversation.started"] + ["message.recorded"] * 8


def test_only_what_is_new_is_read(chat: onrecord.Conversation) -> None:
    chat.user("one")
    version = chat.head().version
    chat.user("two")
    (new,) = chat.events(after=version)
    assert new.event() == events.MessageRecorded(role="user", content=(Text(text="two"),))


def test_a_message_with_an_id_is_recorded_once(chat: onrecord.Conversation) -> None:
    chat.user("Hello", message_id="m1")
    assert chat.user("Hello", message_id="m1") == Duplicate(first=2, last=2)
    assert chat.head().version == 2


def test_the_same_message_id_with_other_content_is_an_error(chat: onrecord.Conversation) -> None:
    chat.user("Hello", message_id="m1")
    with pytest.raises(onrecord.IdempotencyMismatch, match="use a new message_id"):
        chat.user("Goodbye", message_id="m1")
    assert chat.head().version == 2


def test_a_batch_of_repeated_and_new_events_says_which_one_is_not_new(
    chat: onrecord.Conversation,
) -> None:
    first, second = (
        events.MessageRecorded(role="user", content=(Text(text=name),), message_id=name)
        for name in ("m1", "m2")
    )
    chat.log.append(first)
    for batch, place in (((second, first), "event 2 of 2"), ((second, second), "event 2 of 2")):
        with pytest.raises(onrecord.IdempotencyMismatch, match=place) as refused:
            chat.log.append(*batch)
        assert "other content" not in str(refused.value)
    assert chat.head().version == 2
    assert isinstance(chat.log.append(second), Recorded)


def test_a_writer_who_names_a_version_is_told_when_someone_was_first(
    chat: onrecord.Conversation,
) -> None:
    chat.user("Hello", expected_version=0)
    chat.user("and?", expected_version=2)
    with pytest.raises(onrecord.VersionConflict) as caught:
        chat.user("late", expected_version=2)
    assert (caught.value.expected, caught.value.current) == (2, 3)


def test_a_document_is_stored_once_and_named_by_its_bytes(
    chat: onrecord.Conversation, tmp_path: Path
) -> None:
    report = tmp_path / "report.pdf"
    report.write_bytes(b"%PDF-1.7 the report")
    chat.user("What does it say?", documents=[report, b"%PDF-1.7 the report"])
    (message,) = said(chat)
    assert isinstance(message, events.MessageRecorded)
    text, first, second = message.content
    assert isinstance(first, Document)
    assert isinstance(second, Document)
    assert (first.name, first.media_type) == ("report.pdf", "application/pdf")
    assert first.blob == second.blob
    assert text == Text(text="What does it say?")
    assert first.blob is not None
    stored = b"".join(stream_of(chat).backend.get_blob(chat.conversation_id, first.blob))
    assert stored == b"%PDF-1.7 the report"


def test_a_document_that_is_not_there_is_refused_and_nothing_is_said(
    chat: onrecord.Conversation, tmp_path: Path
) -> None:
    with pytest.raises(onrecord.InvalidInput, match="cannot be read"):
        chat.user("this", documents=[tmp_path / "missing.pdf"])
    (tmp_path / "empty.pdf").touch()
    for empty in (tmp_path / "empty.pdf", b""):
        with pytest.raises(onrecord.InvalidInput, match="empty"):
            chat.user("this", empty)
    for name in ("null\0", "half\ud800"):
        with pytest.raises(onrecord.InvalidInput, match="cannot be read"):
            chat.user("this", tmp_path / name)
    assert chat.head().version == 0


@pytest.mark.parametrize(
    ("value", "content", "is_json"),
    [
        ("42", (Text(text="42"),), False),
        (None, (), False),
        ("", (), False),
        ({"answer": 42}, (Text(text='{"answer":42}'),), True),
        ([1, 2], (Text(text="[1,2]"),), True),
        (0, (Text(text="0"),), True),
        ([Text(text="a"), "b"], (Text(text="a"), Text(text="b")), False),
    ],
)
def test_what_a_tool_gave_is_recorded_as_blocks(
    chat: onrecord.Conversation, value: object, content: tuple[Text, ...], is_json: bool
) -> None:
    chat.tool_result("toolu_1", value)
    result = ToolResult(call_id="toolu_1", content=content, is_json=is_json)
    assert said(chat) == [events.ToolResultRecorded(call_id="toolu_1", content=result)]


def test_a_result_recorded_twice_changes_nothing(chat: onrecord.Conversation) -> None:
    chat.tool_result("toolu_1", "42")
    assert isinstance(chat.tool_result("toolu_1", "42"), Duplicate)
    assert len(said(chat)) == 1


def test_open_calls_tell_what_to_run(chat: onrecord.Conversation) -> None:
    chat.user("Look twice")
    for call_id in ("toolu_1", "toolu_2"):
        call = ToolCall(id=call_id, name="look", arguments={"at": call_id})
        chat.log.append(events.ToolCallRecorded(call_id=call_id, name="look", content=call))
    chat.tool_result("toolu_1", "seen")
    assert chat.open_calls() == [ToolCall(id="toolu_2", name="look", arguments={"at": "toolu_2"})]


def test_an_open_call_of_an_api_that_is_not_known_is_an_error(chat: onrecord.Conversation) -> None:
    chat.user("Look")
    call = Native(api="morse", value={"type": "dash"})
    chat.log.append(events.ToolCallRecorded(call_id="toolu_1", name="look", content=call))
    with pytest.raises(UnknownApi, match="install the package"):
        chat.open_calls()


def test_a_closed_conversation_says_so(chat: onrecord.Conversation) -> None:
    chat.user("Hello")
    chat.end("done")
    with pytest.raises(onrecord.ConversationClosed, match="fork it"):
        chat.user("one more thing")
    assert chat.end() is None


def test_tools_are_given_as_plain_mappings(chat: onrecord.Conversation) -> None:
    schema = {"type": "object"}
    chat.tools.declare([{"name": "look", "description": "Looks.", "input_schema": schema}])
    tool = onrecord.ToolDefinition(name="look", description="Looks.", input_schema=schema)
    assert said(chat) == [events.ToolsDeclared(tools=(tool,), sha256=tools_digest((tool,)))]


@pytest.mark.parametrize(
    "given",
    [
        {"name": "look"},
        {"type": "web_search_20260209", "name": "web_search"},
        {"name": "look", "input_schema": {"type": "object"}, "strict": True},
    ],
)
def test_a_tool_that_would_lose_something_is_refused(
    chat: onrecord.Conversation, given: dict[str, object]
) -> None:
    with pytest.raises(onrecord.InvalidInput, match=r"onrecord\.Native"):
        chat.tools.declare([given])


def test_a_tool_that_one_api_knows_is_given_in_its_spelling(chat: onrecord.Conversation) -> None:
    native = onrecord.Native(
        api="anthropic-messages", value={"type": "web_search_20260209", "name": "web_search"}
    )
    chat.tools.declare([native])
    assert said(chat) == [events.ToolsDeclared(tools=(native,), sha256=tools_digest((native,)))]


def test_conversations_are_listed_by_when_they_moved_last(store: onrecord.Store) -> None:
    store.conversation("a").user("one")
    store.conversation("b").user("two")
    store.conversation("a").user("three")
    assert [(listed.key, listed.head.version) for listed in store.conversations()] == [
        ("a", 3),
        ("b", 2),
    ]


def test_a_forgotten_conversation_leaves_its_key_free(
    store: onrecord.Store, chat: onrecord.Conversation
) -> None:
    chat.user("my name is Ada")
    assert store.forget(KEY, **BECAUSE).events == 2
    assert [recorded.body for recorded in chat.events(after=0)] == [None, None]
    assert store.conversation(KEY).head().version == 0
    with pytest.raises(onrecord.ConversationNotFound):
        store.forget(KEY, **BECAUSE)
    assert [listed.key for listed in store.conversations()] == [None]


def test_who_acted_is_a_keyed_digest_in_the_header(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ONRECORD_ACTOR", "ada@example.org")
    store = onrecord.connect("memory://")
    chat = store.conversation(KEY)
    chat.user("Hello")
    header = chat.events(after=1)[0].client_header()
    assert header.actor == backend_of(store).digest("ada@example.org").hex()
    assert b"ada@" not in chat.events(after=1)[0].header
    assert header.tenant == UUID(int=0)


@pytest.mark.parametrize("url", ["mysql://db", "talks.db", "sqlite://", "sqlite:///"])
def test_an_url_of_no_store_is_refused_with_advice(url: str) -> None:
    with pytest.raises(onrecord.InvalidInput, match="sqlite:///"):
        onrecord.connect(url)


def test_a_tenant_of_the_environment_sees_its_own_conversations_only(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path}/talks.db"
    with onrecord.connect(url) as store:
        store.conversation(KEY).user("Hello")
    monkeypatch.setenv("ONRECORD_TENANT", "018f0000-0000-7000-8000-000000000001")
    with onrecord.connect(url) as store:
        assert list(store.conversations()) == []
    monkeypatch.setenv("ONRECORD_TENANT", "me")
    with pytest.raises(onrecord.InvalidInput, match="no UUID"):
        onrecord.connect(url)


def test_a_store_says_where_it_writes_without_a_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with onrecord.connect("sqlite:///talks.db") as store:
        assert repr(store) == f"Store('sqlite:///{tmp_path}/talks.db')"


def test_a_conversation_says_its_key_and_its_version(store: onrecord.Store) -> None:
    chat = store.conversation(KEY)
    assert repr(chat) == f"Conversation({KEY!r}, version=0)"
    chat.user("Hello")
    assert repr(chat) == f"Conversation({KEY!r}, version=2)"
    store.close()
    assert repr(chat) == f"Conversation({KEY!r}, version=None)"


def test_a_holder_made_before_the_beginning_sees_what_another_began(
    store: onrecord.Store, chat: onrecord.Conversation
) -> None:
    store.conversation(KEY).user("Hello")
    assert chat.head().version == 2
    assert len(chat.events(after=0)) == 2


@pytest.mark.parametrize("verb", ["user", "instruct", "tool_result"])
def test_what_no_request_could_carry_is_refused_at_once(
    chat: onrecord.Conversation, verb: str
) -> None:
    given = ("toolu_1", HALF) if verb == "tool_result" else (HALF,)
    with pytest.raises(onrecord.InvalidInput, match="surrogate"):
        getattr(chat, verb)(*given)
    assert chat.head().version == 0


def test_a_version_is_a_number(chat: onrecord.Conversation) -> None:
    text: Any = "12"
    with pytest.raises(onrecord.InvalidInput, match="integer"):
        chat.events(after=text)
    with pytest.raises(onrecord.InvalidInput, match="integer"):
        chat.log.read(after=text)


@pytest.mark.parametrize("version", [2**63, -1])
def test_a_version_that_no_log_counts_to_is_refused(
    chat: onrecord.Conversation, version: int
) -> None:
    chat.user("Hello")
    for ask in (
        lambda: chat.events(after=version),
        lambda: chat.events(until=version),
        lambda: chat.history(since=version),
        lambda: chat.log.read(after=version),
        lambda: chat.request("anthropic-messages", at=version),
        lambda: chat.edit_message(version, "Good morning"),
    ):
        with pytest.raises(onrecord.InvalidContent, match="no such version"):
            ask()
    assert chat.events(after=2**63 - 1) == []
    assert len(chat.events(until=2**63 - 1)) == 2


def test_a_blank_url_names_no_store() -> None:
    with pytest.raises(onrecord.InvalidInput, match="sqlite:///"):
        onrecord.connect("")


def test_a_server_without_its_driver_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    for name in [
        name for name in sys.modules if name.startswith("onrecord.adapters.storage.postgres")
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr("onrecord.adapters.storage.postgres", raising=False)
    with pytest.raises(onrecord.StorageError, match=r"onrecord\[postgres\]"):
        onrecord.connect("postgresql://localhost/x")


def test_a_prompt_keeps_the_order_of_its_texts_and_documents(chat: onrecord.Conversation) -> None:
    picture = b"\x89PNG\r\n\x1a\n"
    chat.user(["Before", picture, "between", b"%PDF-1.7", Text(text="after")])
    chat.user("Before", picture, "after", documents=[b"%PDF-1.7"])
    kinds = [
        [part.text if isinstance(part, Text) else "document" for part in event.content]
        for event in said(chat)
        if isinstance(event, events.MessageRecorded)
    ]
    assert kinds == [
        ["Before", "document", "between", "document", "after"],
        ["Before", "document", "after", "document"],
    ]


def test_an_edited_prompt_keeps_its_order_too(chat: onrecord.Conversation) -> None:
    version = chat.user("Before").last
    chat.edit_message(version, [b"%PDF-1.7", "after"])
    (turn,) = chat.history()
    assert [type(block.content) for block in turn.blocks] == [Document, Text]


@pytest.mark.parametrize(
    "api", ["anthropic-messages", "openai-chat", "openai-responses", "gemini", "bedrock-converse"]
)
def test_each_api_is_sent_a_prompt_in_its_order(chat: onrecord.Conversation, api: str) -> None:
    chat.user(["first", b"\x89PNG\r\n\x1a\n", "last"])
    body = json.dumps(dict(chat.request(api).body), default=lambda data: data.hex())
    picture = next(at for word in ("image", "inlineData") if (at := body.find(word)) > 0)
    assert body.index("first") < picture < body.index("last")
