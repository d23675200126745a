"""Microsoft's Agent Framework keeps its histories in our store: its rules, and ours."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from agent_framework import (
    Agent,
    AgentSession,
    BaseChatClient,
    ChatResponse,
    HistoryProvider,
    InMemoryHistoryProvider,
    Message,
)

import onrecord
from onrecord.adapters.store import Store, backend_of
from onrecord.frameworks.agent_framework import OnrecordHistoryProvider
from tests.adapters.frameworks.sessions_places import store_of
from tests.contract.places import Place
from tests.frameworks.recorded_blocks import recorded_kinds


class Answers(BaseChatClient[Any]):
    """A client that says how many messages it was sent."""

    async def _inner_get_response(self, *, messages: Any, **_: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return ChatResponse(messages=[Message("assistant", [f"answer {len(messages)}"])])


@pytest.fixture
def provider(store: Store) -> OnrecordHistoryProvider:
    return OnrecordHistoryProvider(store)


@pytest.fixture
def ours(sqlite_store: Store) -> OnrecordHistoryProvider:
    return OnrecordHistoryProvider(sqlite_store)


def said(*texts: str, role: str = "user") -> list[Message]:
    return [Message(role, [text]) for text in texts]


async def texts(provider: HistoryProvider, session: str | None = "one") -> list[str]:
    return [message.text for message in await provider.get_messages(session)]


async def run(*providers: HistoryProvider, text: str, session: str = "one") -> str:
    agent = Agent(Answers(), context_providers=providers)
    return (await agent.run(text, session=AgentSession(session_id=session))).text


async def test_a_run_goes_on_where_another_process_would_find_it(store: Store) -> None:
    assert await run(OnrecordHistoryProvider(store), text="Where?") == "answer 1"
    assert await run(OnrecordHistoryProvider(store), text="Sure?") == "answer 3"
    held = await texts(OnrecordHistoryProvider(store))
    assert held == ["Where?", "answer 1", "Sure?", "answer 3"]


async def test_beside_another_provider_it_records_and_loads_nothing(store: Store) -> None:
    audit = OnrecordHistoryProvider(store, "audit", load_messages=False)
    session = AgentSession(session_id="one")
    agent = Agent(Answers(), context_providers=[InMemoryHistoryProvider(), audit])
    await agent.run("Where?", session=session)
    assert (await agent.run("Sure?", session=session)).text == "answer 3"
    assert await texts(audit) == ["Where?", "answer 1", "Sure?", "answer 3"]


async def test_a_whole_transcript_that_comes_again_adds_its_end(
    provider: OnrecordHistoryProvider,
) -> None:
    await provider.save_messages("one", said("a", "b"))
    await provider.save_messages("one", said("a", "b", "c"))
    await provider.save_messages("one", said("b", "c", "d"))
    await provider.save_messages("one", said("a", "b", "c", "d"))
    await provider.save_messages("one", [])
    assert await texts(provider) == ["a", "b", "c", "d"]


async def test_it_takes_from_a_transcript_what_their_provider_takes(
    ours: OnrecordHistoryProvider,
) -> None:
    theirs, state = InMemoryHistoryProvider(), dict[str, Any]()
    batches = [["a"], ["a"], ["a", "b"], ["b"], ["b", "b"], ["x", "b"], ["b", "c", "a"], ["a", "b"]]
    for batch in batches:
        await ours.save_messages("one", said(*batch))
        await theirs.save_messages("one", said(*batch), state=state)
        held = await theirs.get_messages("one", state=state)
        assert await texts(ours) == [message.text for message in held]


async def test_messages_that_compaction_left_out_are_skipped_if_asked_for(
    store: Store, provider: OnrecordHistoryProvider
) -> None:
    left_out = Message("user", ["old"], additional_properties={"_excluded": True})
    await provider.save_messages("one", [left_out, *said("new")])
    assert await texts(provider) == ["old", "new"]
    assert await texts(OnrecordHistoryProvider(store, skip_excluded=True)) == ["new"]


async def test_two_providers_and_no_session_keep_apart(
    store: Store, provider: OnrecordHistoryProvider
) -> None:
    await provider.save_messages("one", said("a"))
    await provider.save_messages(None, said("b"))
    await OnrecordHistoryProvider(store, "other").save_messages("one", said("c"))
    assert (await texts(provider), await texts(provider, None)) == (["a"], ["b"])
    assert await texts(OnrecordHistoryProvider(store, "other")) == ["c"]


async def test_a_session_of_another_id_or_tenant_is_not_seen(place: Place, tmp_path: Path) -> None:
    with store_of(place.open(), tmp_path) as store:
        provider = OnrecordHistoryProvider(store)
        await provider.save_messages("one", said("a"))
        for crafted in ("../one", 'one","x', "ONE", "one ", "one\u0301"):
            assert await texts(provider, crafted) == []
        others = OnrecordHistoryProvider(store_of(backend_of(store), tmp_path, UUID(int=77)))
        assert await texts(others) == []


@pytest.mark.parametrize("session", ["", "  ", "a\0b", "x" * 5_000, "\ud800"])
async def test_what_is_no_id_names_no_session(ours: OnrecordHistoryProvider, session: str) -> None:
    with pytest.raises(onrecord.OnrecordError):
        await ours.save_messages(session, said("a"))


async def test_what_is_no_json_is_refused_whole(ours: OnrecordHistoryProvider) -> None:
    bad = Message("user", ["b"], additional_properties={"n": float("nan")})
    with pytest.raises(onrecord.OnrecordError):
        await ours.save_messages("one", [*said("a"), bad])
    assert await texts(ours) == []


@pytest.mark.parametrize("service", ["anthropic", "openai-responses", "gemini"])
async def test_each_kind_of_block_comes_back_as_it_was(
    ours: OnrecordHistoryProvider, service: str
) -> None:
    blocks = recorded_kinds(service)
    messages = [Message("tool", ["x"], additional_properties={"block": each}) for each in blocks]
    await ours.save_messages("one", messages)
    held = await ours.get_messages("one")
    assert [message.to_dict() for message in held] == [each.to_dict() for each in messages]


async def test_those_who_save_at_once_lose_nothing(ours: OnrecordHistoryProvider) -> None:
    await asyncio.gather(*(ours.save_messages("one", said(f"say {n}")) for n in range(12)))
    assert sorted(await texts(ours)) == sorted(f"say {number}" for number in range(12))


async def test_what_was_cancelled_is_recorded_or_not_but_no_half_of_it(
    ours: OnrecordHistoryProvider,
) -> None:
    for attempt in range(12):
        saving = asyncio.ensure_future(ours.save_messages(f"s{attempt}", said("a", "b", "c")))
        for _ in range(attempt % 4):
            await asyncio.sleep(0)
        saving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await saving
        assert await texts(ours, f"s{attempt}") in ([], ["a", "b", "c"])


async def test_five_thousand_messages_come_back(ours: OnrecordHistoryProvider) -> None:
    messages = said(*(f"say {number}" for number in range(5_000)))
    await ours.save_messages("one", messages)
    await ours.save_messages("one", said("more"))
    assert await texts(ours) == [*(message.text for message in messages), "more"]


async def test_an_erased_session_is_gone_and_begins_anew(
    ours: OnrecordHistoryProvider, sqlite_store: Store
) -> None:
    await ours.save_messages("one", said("secret"))
    await ours.save_messages("two", said("kept"))
    sqlite_store.forget(ours.conversation_key("one"), reason="asked for")
    assert await texts(ours) == []
    await ours.save_messages("one", said("anew"))
    assert (await texts(ours), await texts(ours, "two")) == (["anew"], ["kept"])
    assert sqlite_store.verify().is_whole
