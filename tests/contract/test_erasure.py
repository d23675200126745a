"""forget: what was said goes, that something was said stays provable."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest
from uuid_utils.compat import uuid7

from onrecord.domain.encoding import Erased
from onrecord.domain.errors import ConversationForgotten, CorruptRecord, OnrecordError
from onrecord.domain.log import Backend, Duplicate, Forgotten, Mismatch, Recorded, Verdict
from tests.contract.places import Place
from tests.factories import (
    TENANT,
    answer,
    appending,
    attachment,
    drafted,
    prompt,
    started,
    tool_call,
    tool_result,
)
from tests.ledger import verified_log
from tests.patience import PATIENCE

WRITERS = 4
APPENDS = 15


def test_bodies_and_salts_go_and_leaves_still_verify(backend: Backend) -> None:
    gone, kept = uuid4(), uuid4()
    backend.append([appending(gone, started(), prompt()), appending(kept, started(), prompt())])
    backend.append([appending(gone, answer())])
    before = list(backend.read(gone))
    assert backend.forget(gone) == 3
    after = list(backend.read(gone))
    assert after == [event._replace(salt=None, body=None) for event in before]
    assert [event.event() for event in after] == [
        Erased("conversation.started"),
        Erased("message.recorded"),
        Erased("message.recorded"),
    ]
    assert [event.event() for event in backend.read(kept)] == [started(), prompt()]
    assert len(verified_log(backend)) == 5


def test_forgetting_twice_or_the_unknown_erases_nothing(backend: Backend) -> None:
    conversation = uuid4()
    backend.append([appending(conversation, started())])
    assert backend.forget(conversation) == 1
    assert backend.forget(conversation) == 0
    assert backend.forget(uuid4()) == 0


def test_the_key_may_be_used_again_for_another_conversation(backend: Backend) -> None:
    conversation, other = backend.open(TENANT, "ada"), backend.open(TENANT, "bob")
    backend.append([appending(conversation, started("ada"))])
    backend.forget(conversation)
    assert backend.find(TENANT, "ada") is None
    assert backend.find(TENANT, "bob") == other
    assert backend.open(TENANT, "ada") != conversation


def test_blobs_go_and_those_of_others_stay(backend: Backend) -> None:
    gone, kept = uuid4(), uuid4()
    blob = backend.put_blob(TENANT, gone, [b"report"])
    backend.put_blob(TENANT, kept, [b"report"])
    backend.append([appending(gone, attachment(blob)), appending(kept, attachment(blob))])
    backend.forget(gone)
    with pytest.raises(CorruptRecord):
        list(backend.get_blob(gone, blob))
    assert b"".join(backend.get_blob(kept, blob)) == b"report"


def test_the_head_stays_but_for_the_ids_of_calls(backend: Backend) -> None:
    conversation = uuid4()
    backend.append([appending(conversation, started(), prompt(), tool_call("secret"))])
    backend.forget(conversation)
    head = backend.head(conversation)
    assert (head.version, head.exchange, dict(head.open_calls)) == (3, 1, {})


def test_an_erased_event_counts_as_the_same_content(backend: Backend) -> None:
    conversation, event_id = uuid4(), uuid7()
    first = drafted(answer("a"), conversation, event_id=event_id)
    backend.append([appending(conversation, first)])
    backend.forget(conversation)
    other = drafted(answer("b"), conversation, event_id=event_id)
    assert backend.append([appending(conversation, first)]) == [Duplicate(1, 1)]
    assert backend.append([appending(conversation, other)]) == [Duplicate(1, 1)]
    of_another_type = drafted(started(), conversation, event_id=event_id)
    assert backend.append([appending(conversation, of_another_type)]) == [Mismatch(0)]


def test_a_forgotten_conversation_takes_nothing_any_more(backend: Backend) -> None:
    gone, kept = uuid4(), uuid4()
    backend.append([appending(gone, started(), tool_result("c1", "old"))])
    backend.forget(gone)
    before = list(backend.read(gone))
    verdicts = backend.append(
        [
            appending(gone, answer()),
            appending(gone, tool_result("c1", "new")),
            appending(gone, answer(), expected_version=2),
            appending(gone, answer(), expected_version=7),
            appending(kept, started(), prompt()),
        ]
    )
    assert verdicts == [Forgotten(), Forgotten(), Forgotten(), Forgotten(), Recorded(1, 2, 4)]
    assert list(backend.read(gone)) == before
    assert backend.head(gone).version == 2
    assert backend.forget(gone) == 0


def test_a_forgotten_conversation_takes_no_document(backend: Backend) -> None:
    conversation = uuid4()
    stored = backend.put_blob(TENANT, conversation, [b"report"])
    backend.append([appending(conversation, started(), attachment(stored))])
    backend.forget(conversation)
    for data in (b"", b"report", b"long" * 1024 * 1024):
        with pytest.raises(ConversationForgotten, match="start another"):
            backend.put_blob(TENANT, conversation, [data])
    with pytest.raises(CorruptRecord):
        list(backend.get_blob(conversation, stored))


def test_a_document_that_is_arriving_does_not_outlive_the_forgetting(backend: Backend) -> None:
    conversation = uuid4()
    backend.append([appending(conversation, started())])

    def arriving() -> Iterator[bytes]:
        for _ in range(2):
            yield bytes(2 * 1024 * 1024)
        backend.forget(conversation)
        yield bytes(2 * 1024 * 1024)

    with pytest.raises(OnrecordError):
        backend.put_blob(TENANT, conversation, arriving())
    assert backend.sweep_blobs(0) == 0


def test_no_key_leads_to_a_forgotten_conversation_again(backend: Backend) -> None:
    conversation = uuid4()
    backend.append([appending(conversation, started())])
    backend.forget(conversation)
    with pytest.raises(ConversationForgotten, match="start another"):
        backend.open(TENANT, "ada", conversation)
    assert backend.find(TENANT, "ada") is None


def test_no_append_comes_between_when_many_write(backend: Backend) -> None:
    conversation = uuid4()
    backend.append([appending(conversation, started())])
    begun = threading.Barrier(WRITERS + 1, timeout=PATIENCE)

    def write(_: int) -> Verdict:
        begun.wait()
        verdict: Verdict = Duplicate(0, 0)
        for _ in range(APPENDS):
            (verdict,) = backend.append([appending(conversation, answer())])
        return verdict

    def forget() -> int:
        begun.wait()
        return backend.forget(conversation)

    with ThreadPoolExecutor(WRITERS + 1) as pool:
        writing = pool.map(write, range(WRITERS))
        erased = pool.submit(forget).result(timeout=PATIENCE)
        list(writing)
    events = list(backend.read(conversation))
    assert {event.body for event in events} == {None}
    assert erased == len(events) == len(verified_log(backend))
    assert backend.append([appending(conversation, answer())]) == [Forgotten()]


def test_what_is_forgotten_stays_forgotten(durable_place: Place) -> None:
    backend = durable_place.open()
    conversation = backend.open(TENANT, "ada")
    backend.append([appending(conversation, started("ada"), prompt())])
    backend.forget(conversation)
    backend.close()
    again = durable_place.open()
    assert again.find(TENANT, "ada") is None
    assert {event.body for event in again.read(conversation)} == {None}
    assert again.append([appending(conversation, prompt())]) == [Forgotten()]
    verified_log(again)
    again.close()
