"""Appending from coroutines: it means what appending means, on every backend."""

import asyncio
from uuid import uuid4

import pytest

from onrecord.adapters.asynchronous.store import AsyncStore
from onrecord.adapters.recording.spool import Spool
from onrecord.adapters.store import Store
from onrecord.domain.errors import IdempotencyMismatch, StorageError, VersionConflict
from onrecord.domain.log import Backend, Recorded, Verdict
from tests.awaited import appended
from tests.contract.places import Place
from tests.factories import OTHER_TENANT, TENANT, answer, appending, prompt, raw_event
from tests.mixed_appends import SEED, Script, answer_of, mixed, verify

WRITERS = 12
TURNS = 8


def test_of_many_coroutines_each_gets_its_own_verdict_and_nothing_is_lost(
    backend: Backend,
) -> None:
    asked = mixed(SEED, writers=WRITERS, turns=TURNS)
    backend.append([asked.before])

    async def write(script: Script) -> list[Verdict]:
        shared: list[Verdict] = []
        for append, expected in zip(script.appends, script.answers, strict=True):
            (verdict,) = await appended(backend, [append])
            assert answer_of(verdict) == expected, f"seed {SEED}"
            shared += await appended(backend, [appending(asked.shared, raw_event())])
        return shared

    async def write_all() -> list[list[Verdict]]:
        return await asyncio.gather(*map(write, asked.scripts))

    told = asyncio.run(write_all())
    verify(backend, asked, [verdict for each in told for verdict in each])


def test_several_requests_of_a_coroutine_get_a_verdict_each_in_their_order(
    backend: Backend,
) -> None:
    one, two = uuid4(), uuid4()
    requests = [appending(one, answer()), appending(two, answer(), answer())]
    first, second = asyncio.run(appended(backend, requests))
    assert (answer_of(first), answer_of(second)) == ((1, 1), (1, 2))


def test_a_coroutine_that_asks_for_nothing_is_told_nothing(backend: Backend) -> None:
    assert asyncio.run(appended(backend, [])) == []


def test_what_a_coroutine_may_not_do_is_an_error_as_elsewhere(backend: Backend) -> None:
    conversation = uuid4()
    backend.append([appending(conversation, answer())])
    with pytest.raises(StorageError, match="another tenant"):
        asyncio.run(appended(backend, [appending(conversation, answer(), tenant=OTHER_TENANT)]))


def test_a_closed_store_is_an_error_for_coroutines_too(place: Place) -> None:
    backend = place.open()
    backend.close()
    with pytest.raises(StorageError):
        asyncio.run(appended(backend, [appending(uuid4(), answer())]))


def test_each_event_loop_may_append_and_end(backend: Backend) -> None:
    conversation = uuid4()
    for version in range(1, 4):
        (verdict,) = asyncio.run(appended(backend, [appending(conversation, answer())]))
        assert answer_of(verdict) == (version, version)


def test_a_conversation_says_things_from_coroutines_as_it_does_from_threads(
    place: Place, tmp_path_factory: pytest.TempPathFactory
) -> None:
    backend = place.open()
    spool = Spool(tmp_path_factory.mktemp("spool"))
    with Store(backend, "test://", spool=spool, tenant=TENANT) as store:
        chat = AsyncStore(store).conversation("support/4711")

        async def say() -> None:
            first = await chat.log.append(prompt("one"))
            assert isinstance(first, Recorded)
            assert first.last == (await chat.head()).version
            again = await chat.log.append(prompt("two"), expected_version=first.last)
            assert again.first == first.last + 1
            with pytest.raises(VersionConflict):
                await chat.log.append(prompt("three"), expected_version=first.last)
            await chat.log.append(prompt("four", message_id="m"))
            with pytest.raises(IdempotencyMismatch):
                await chat.log.append(prompt("five", message_id="m"))

        asyncio.run(say())
        types = [event.type for event in store.conversation("support/4711").log.read()]
        assert types == ["conversation.started", *["message.recorded"] * 3]
