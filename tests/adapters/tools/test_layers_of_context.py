"""What a tool is told: by the conversation, by its runner, by the run; and what of it is kept."""

import pytest

import onrecord
from onrecord.domain.errors import InvalidContent
from tests.adapters.tools.conversations import call_tools, kept


@pytest.fixture
def chat() -> onrecord.Conversation:
    return onrecord.connect("memory://").conversation("support/4711")


def track(parcel: str) -> str:
    """Find a parcel."""
    return parcel


@pytest.mark.parametrize("parallel", [False, True])
def test_a_call_is_told_of_the_conversation_s_context_and_its_own_wins(
    chat: onrecord.Conversation, parallel: bool
) -> None:
    seen: list[onrecord.ToolCallContext] = []

    def look(context: onrecord.ToolCallContext) -> None:
        seen.append(context)

    chat.set_tool_context(
        {"tenant_id": "acme", "locale": "de", "desk": "1"}, persist=["tenant_id", "locale"]
    )
    runner = onrecord.ToolRunner(
        chat, [look], context={"locale": "fr", "token": "t"}, parallel=parallel
    )
    call_tools(chat, ("look", {}))
    runner.run()
    call_tools(chat, ("look", {}))
    runner.run({"token": "u", "trace": "x"})
    base = {"tenant_id": "acme", "locale": "fr", "token": "t"}
    assert [dict(context) for context in seen] == [base, {**base, "token": "u", "trace": "x"}]


def test_without_any_context_it_is_the_empty_one(chat: onrecord.Conversation) -> None:
    seen: list[onrecord.ToolCallContext] = []

    def look(context: onrecord.ToolCallContext) -> None:
        seen.append(context)

    call_tools(chat, ("look", {}), ("look", {}))
    onrecord.ToolRunner(chat, [look]).run()
    assert [dict(context) for context in seen] == [{}, {}]


def test_what_is_carried_meanwhile_is_told_of(chat: onrecord.Conversation) -> None:
    seen: list[object] = []

    def look(context: onrecord.ToolCallContext) -> None:
        seen.append(context.get("locale"))

    runner = onrecord.ToolRunner(chat, [look])
    for locale in ("de", "fr"):
        chat.set_tool_context({"locale": locale}, persist=["locale"])
        call_tools(chat, ("look", {}))
        runner.run()
    chat.set_tool_context({}, persist=["locale"])
    call_tools(chat, ("look", {}))
    runner.run()
    assert seen == ["de", "fr", None]


def test_only_what_is_allowed_stands_in_the_headers_of_results(chat: onrecord.Conversation) -> None:
    chat.set_tool_context({"tenant_id": "acme"}, persist=["tenant_id"])
    call_tools(chat, ("track", {"parcel": "NW-1"}), ("weather", {}))
    runner = onrecord.ToolRunner(
        chat, [track], context={"token": "secret", "run": "7"}, persist=["run", "absent"]
    )
    runner.run()
    call_tools(chat, ("track", {"parcel": "NW-2"}))
    onrecord.ToolRunner(chat, [track], context={"token": "secret"}).run({"tenant_id": "other"})
    assert kept(chat) == [
        {"tenant_id": "acme", "run": "7"},
        {"tenant_id": "acme", "run": "7"},
        {"tenant_id": "other"},
    ]


def test_what_cannot_be_kept_is_refused_before_anything_runs(chat: onrecord.Conversation) -> None:
    called: list[int] = []

    def note() -> None:
        called.append(1)

    call_tools(chat, ("note", {}))
    with pytest.raises(InvalidContent, match="'run'") as refused:
        onrecord.ToolRunner(chat, [note], persist=["run"]).run({"run": ["canary-41"]})
    assert "canary" not in str(refused.value)
    with pytest.raises(InvalidContent, match="credential"):
        onrecord.ToolRunner(chat, [note], context={"token": "t"}, persist=["token"])
    assert called == []
    assert len(chat.open_calls()) == 1
