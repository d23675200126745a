"""On every store an answer in hand is recorded once, however many processes hand it over at a time."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import onrecord
from onrecord.adapters.conversation.conversation import Conversation
from onrecord.adapters.recording.spool import Spool
from onrecord.adapters.recording.tenancy import Tenancy
from onrecord.adapters.upkeep.verifying import verify_conversation
from onrecord.domain.log import Backend
from tests.adapters.wire.clients.offline_exchanges import API, asked, message, texts
from tests.contract.places import MemoryPlace, Place
from tests.factories import TENANT

TIMES = 8
Ways = Callable[[Conversation], onrecord.Done]


@pytest.fixture
def processes(place: Place, tmp_path: Path) -> Iterator[list[Tenancy]]:
    """The store as two processes have it: each has recorders of its own."""
    first = place.open()
    second = first if isinstance(place, MemoryPlace) else place.open()
    backends: list[Backend] = [first, second]
    yield [
        Tenancy(backend, TENANT, Spool(tmp_path / str(number)))
        for number, backend in enumerate(backends)
    ]
    for backend in {id(each): each for each in backends}.values():
        backend.close()


def at_once(chats: list[Conversation], record: Ways) -> list[onrecord.Done]:
    barrier = threading.Barrier(len(chats))

    def run(chat: Conversation) -> onrecord.Done:
        barrier.wait()
        return record(chat)

    with ThreadPoolExecutor(len(chats)) as pool:
        return list(pool.map(run, chats))


def of_rendered(chat: Conversation) -> onrecord.Done:
    return chat.record_response(message("msg_1"), api=API)


def of_given(chat: Conversation) -> onrecord.Done:
    return chat.record_response(message("msg_1"), api=API, request=asked(chat))


@pytest.mark.parametrize("way", [of_rendered, of_given])
def test_processes_that_hand_over_one_answer_record_it_once_with_its_request(
    processes: list[Tenancy], way: Ways
) -> None:
    for number in range(TIMES):
        chats = [Conversation(tenancy, f"talk/{number}") for tenancy in processes for _ in "ab"]
        chats[0].user("Hello")
        for chat in chats:
            chat.request(API)
        done = at_once(chats, way)
        assert sorted(type(each).__name__ for each in done) == ["Duplicate"] * 3 + ["Recorded"]
        assert {each.last for each in done} == {5}
        types = [each.type for each in chats[0].events(after=2)]
        assert types == ["request.sent", "message.recorded", "response.completed"]
        assert texts(chats[0]) == ["Hello", "Hello."]
        backend = processes[0].backend
        assert not verify_conversation(backend, chats[0].conversation_id).faults


def test_processes_that_answer_the_request_of_the_log_record_its_answer_once(
    processes: list[Tenancy],
) -> None:
    for number in range(TIMES):
        chats = [Conversation(tenancy, f"talk/{number}") for tenancy in processes for _ in "ab"]
        chats[0].user("Hello")
        chats[0].record_request(asked(chats[0]), api=API)
        done = at_once(chats, lambda chat: chat.record_response(message("msg_1"), api=API))
        assert sorted(type(each).__name__ for each in done) == ["Duplicate"] * 3 + ["Recorded"]
        assert texts(chats[0]) == ["Hello", "Hello."]
        assert chats[0].head().version == 5


def test_a_long_answer_and_its_bytes_are_stored(processes: list[Tenancy]) -> None:
    first, second = (Conversation(tenancy, "talk") for tenancy in processes)
    first.user("Hello")
    first.request(API)
    first.record_response(message("msg_1", "A" * 100_000), api=API)
    assert texts(second)[-1] == "A" * 100_000
    again = second.record_response(message("msg_1", "A" * 100_000), api=API)
    assert isinstance(again, onrecord.Duplicate)
