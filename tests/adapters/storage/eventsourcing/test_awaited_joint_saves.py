"""Aggregates are saved with what a coroutine says in a conversation: both, or neither."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from eventsourcing.persistence import IntegrityError

import onrecord
from onrecord import AsyncStore, Recorded, Store
from onrecord.errors import InvalidInput, VersionConflict
from onrecord.eventsourcing import save_together_async
from tests.adapters.storage.eventsourcing.refunds import Refund, Refunds, environment
from tests.adapters.storage.eventsourcing.test_joint_saves import is_there
from tests.adapters.views.own_projections import opened
from tests.patience import PATIENCE


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    yield from opened(request.param, tmp_path)


@pytest.fixture
def refunds(store: Store) -> Iterator[Refunds]:
    application = Refunds(env=environment(store.url))
    yield application
    application.close()


@pytest.fixture
def chat(store: Store) -> onrecord.AsyncConversation:
    return AsyncStore(store).conversation("support/4711")


async def test_both_are_recorded_and_each_says_what_it_always_says(
    refunds: Refunds, chat: onrecord.AsyncConversation
) -> None:
    refund = Refund(cents=500)
    saved = await save_together_async(refunds, [refund], chat.user, "My money, please")
    assert [recording.domain_event.originator_id for recording in saved.recordings] == [refund.id]
    assert isinstance(saved.said, Recorded)
    assert [turn.text for turn in await chat.history()] == ["My money, please"]
    assert is_there(refunds, refund)


async def test_neither_is_recorded_where_one_refuses(
    refunds: Refunds, chat: onrecord.AsyncConversation
) -> None:
    await chat.user("Hello")
    refund = Refund(cents=500)
    with pytest.raises(VersionConflict):
        await save_together_async(refunds, [refund], chat.user, "No", expected_version=1)
    assert not is_there(refunds, refund)
    refund_id = refunds.request(500)
    one, late = refunds.find(refund_id), refunds.find(refund_id)
    one.grant("ann")
    late.grant("bob")
    refunds.save(one)
    with pytest.raises(IntegrityError):
        await save_together_async(refunds, [late], chat.user, "granted by bob")
    assert [turn.text for turn in await chat.history()] == ["Hello"]


async def test_a_verb_that_is_not_of_an_awaited_conversation_is_refused(
    refunds: Refunds, chat: onrecord.AsyncConversation, store: Store
) -> None:
    for verb in (chat.ingest, chat.head, store.conversation("a").user, len):
        with pytest.raises(InvalidInput, match="one of a conversation's verbs"):
            await save_together_async(refunds, [Refund(1)], cast("Any", verb), "hello")


async def test_the_loop_goes_on_and_a_cancelled_caller_leaves_both_or_neither(
    refunds: Refunds, chat: onrecord.AsyncConversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    await chat.user("Hello")
    refund, save = Refund(cents=500), refunds.save
    is_saving, goes_on, is_saved = threading.Event(), threading.Event(), threading.Event()

    def slowly(*aggregates: Any, **kwargs: Any) -> Any:
        is_saving.set()
        assert goes_on.wait(PATIENCE)
        try:
            return save(*aggregates, **kwargs)
        finally:
            is_saved.set()

    monkeypatch.setattr(refunds, "save", slowly)
    saving = save_together_async(refunds, [refund], chat.user, "My money, please")
    task = asyncio.ensure_future(saving)
    assert await asyncio.to_thread(is_saving.wait, PATIENCE)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    goes_on.set()
    assert await asyncio.to_thread(is_saved.wait, PATIENCE)
    said = [turn.text for turn in await chat.history()]
    assert ("My money, please" in "".join(said)) == is_there(refunds, refund)
