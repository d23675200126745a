"""What a conversation carries for its tools: recorded in headers, by an allow list."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import onrecord
from onrecord.adapters.conversation.conversation_tools import LONGEST_CARRIED, MOST_CARRIED
from onrecord.domain.errors import ConversationClosed, InvalidContent
from onrecord.domain.events import ContextCarried
from tests.adapters.cli.command import run

EMPTY = onrecord.ToolCallContext()


@pytest.fixture
def store() -> onrecord.Store:
    return onrecord.connect("memory://")


@pytest.fixture
def chat(store: onrecord.Store) -> onrecord.Conversation:
    return store.conversation("support/4711")


def test_only_what_is_named_is_carried(chat: onrecord.Conversation) -> None:
    context = {"tenant_id": "acme", "token": "canary-41", "locale": "de"}
    chat.set_tool_context(context, persist=["tenant_id", "locale", "absent"])
    assert chat.tool_context() == onrecord.ToolCallContext(tenant_id="acme", locale="de")


def test_nothing_named_is_nothing_carried(chat: onrecord.Conversation) -> None:
    chat.set_tool_context({"tenant_id": "acme"}, persist=[])
    assert chat.tool_context() is EMPTY


def test_it_stands_in_the_header_and_the_body_is_empty(chat: onrecord.Conversation) -> None:
    done = chat.set_tool_context(onrecord.ToolCallContext(tenant_id="acme"), persist=["tenant_id"])
    (recorded,) = chat.events(after=done.last - 1)
    assert recorded.event() == ContextCarried()
    assert recorded.body == b"{}"
    assert recorded.client_header().metadata == {"tenant_id": "acme"}


def test_the_last_word_holds_and_what_it_does_not_name_is_gone(chat: onrecord.Conversation) -> None:
    chat.set_tool_context({"tenant_id": "acme", "locale": "de"}, persist=["tenant_id", "locale"])
    chat.set_tool_context({"tenant_id": "other"}, persist=["tenant_id", "locale"])
    assert chat.tool_context() == onrecord.ToolCallContext(tenant_id="other")
    chat.set_tool_context({}, persist=["tenant_id"])
    assert chat.tool_context() is EMPTY


def test_nothing_is_carried_before_anything_was_said(chat: onrecord.Conversation) -> None:
    assert chat.tool_context() is EMPTY
    chat.user("Hello")
    assert chat.tool_context() is EMPTY


def test_it_is_found_however_long_ago_it_was_said(chat: onrecord.Conversation) -> None:
    chat.set_tool_context({"tenant_id": "acme"}, persist=["tenant_id"])
    for number in range(600):
        chat.user(f"Message {number}")
    assert chat.tool_context() == onrecord.ToolCallContext(tenant_id="acme")


def test_another_holder_reads_it(store: onrecord.Store, chat: onrecord.Conversation) -> None:
    chat.set_tool_context({"tenant_id": "acme"}, persist=["tenant_id"])
    assert store.conversation("support/4711").tool_context() == chat.tool_context()


def test_a_fork_carries_what_its_origin_did_until_it_says_otherwise(
    chat: onrecord.Conversation,
) -> None:
    chat.set_tool_context({"tenant_id": "acme"}, persist=["tenant_id"])
    chat.user("Hello")
    fork = chat.fork("support/4711/other")
    chat.set_tool_context({"tenant_id": "later"}, persist=["tenant_id"])
    assert fork.tool_context() == onrecord.ToolCallContext(tenant_id="acme")
    fork.set_tool_context({}, persist=[])
    assert fork.tool_context() is EMPTY
    assert chat.tool_context() == onrecord.ToolCallContext(tenant_id="later")


def test_no_request_changes_by_what_is_carried(chat: onrecord.Conversation) -> None:
    chat.user("Hello")
    before: Any = dict(chat.request("anthropic-messages"))
    chat.set_tool_context({"tenant_id": "acme"}, persist=["tenant_id"])
    after = chat.request("anthropic-messages")
    assert dict(after) == before
    assert not list(after.report)


def test_surgery_on_the_history_does_not_change_it(chat: onrecord.Conversation) -> None:
    chat.user("Hello")
    chat.set_tool_context({"tenant_id": "acme"}, persist=["tenant_id"])
    chat.edit_message(2, "Moin")
    assert chat.tool_context() == onrecord.ToolCallContext(tenant_id="acme")


def test_a_closed_conversation_takes_nothing_more(chat: onrecord.Conversation) -> None:
    chat.user("Hello")
    chat.end()
    with pytest.raises(ConversationClosed):
        chat.set_tool_context({"tenant_id": "acme"}, persist=["tenant_id"])


@pytest.mark.parametrize(
    "value", [7, None, True, ["canary-41"], {"a": "canary-41"}, b"canary-41", "canary-41" * 40]
)
def test_a_value_that_is_no_short_text_is_refused_by_its_name(
    chat: onrecord.Conversation, value: object
) -> None:
    with pytest.raises(InvalidContent, match="'tenant_id'") as refused:
        chat.set_tool_context({"tenant_id": value}, persist=["tenant_id"])
    assert "canary" not in str(refused.value)
    assert chat.head().version == 0


def test_the_longest_value_is_taken(chat: onrecord.Conversation) -> None:
    chat.set_tool_context({"trace": "x" * LONGEST_CARRIED}, persist=["trace"])
    assert len(chat.tool_context()["trace"]) == LONGEST_CARRIED


def test_half_a_surrogate_pair_is_refused(chat: onrecord.Conversation) -> None:
    with pytest.raises(InvalidContent, match="surrogate"):
        chat.set_tool_context({"tenant_id": "\ud800"}, persist=["tenant_id"])


@pytest.mark.parametrize(
    "name",
    ["token", "apiKey", "X-Api-Key", "password", "AWS_SECRET_ACCESS_KEY", "authorization", "auth"],
)
def test_the_name_of_a_credential_is_refused(chat: onrecord.Conversation, name: str) -> None:
    with pytest.raises(InvalidContent, match="credential") as refused:
        chat.set_tool_context({name: "canary-41"}, persist=[name])
    assert "canary" not in str(refused.value)


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "x" * 65])
def test_a_name_that_no_header_should_have_is_refused(
    chat: onrecord.Conversation, name: str
) -> None:
    with pytest.raises(InvalidContent, match="printable"):
        chat.set_tool_context({name: "a"}, persist=[name])


@pytest.mark.parametrize("persist", ["tenant_id", 7, [7], {"tenant_id": "acme"}])
def test_an_allow_list_is_a_list_of_names(chat: onrecord.Conversation, persist: Any) -> None:
    with pytest.raises(InvalidContent):
        chat.set_tool_context({"tenant_id": "acme"}, persist=persist)


def test_there_are_only_so_many_names(chat: onrecord.Conversation) -> None:
    names = [f"n{number}" for number in range(MOST_CARRIED + 1)]
    context = dict.fromkeys(names, "x")
    chat.set_tool_context(context, persist=names[:-1])
    with pytest.raises(InvalidContent, match=str(MOST_CARRIED)):
        chat.set_tool_context(context, persist=names)


words = st.text(st.characters(codec="utf-8", categories=("L", "N")), min_size=1, max_size=8)


@given(st.dictionaries(words, words, max_size=6), st.lists(words, max_size=6))
def test_what_is_carried_is_what_was_allowed(context: dict[str, str], persist: list[str]) -> None:
    chat = onrecord.connect("memory://").conversation("support/4711")
    try:
        chat.set_tool_context(context, persist=persist)
    except InvalidContent as refused:
        assert "credential" in str(refused)
    else:
        assert dict(chat.tool_context()) == {k: v for k, v in context.items() if k in persist}


def test_it_moves_with_an_export(tmp_path: Path) -> None:
    with onrecord.connect(f"sqlite:///{tmp_path / 'one.db'}") as store:
        store.conversation("support/4711").set_tool_context(
            {"tenant_id": "acme"}, persist=["tenant_id"]
        )
    file, other = str(tmp_path / "chat.jsonl"), f"sqlite:///{tmp_path / 'other.db'}"
    run("export", "support/4711", "-o", file, "--url", f"sqlite:///{tmp_path / 'one.db'}")
    run("import", file, "--url", other)
    with onrecord.connect(other) as store:
        assert dict(store.conversation("support/4711").tool_context()) == {"tenant_id": "acme"}
