"""forget: what was said goes, that something was said stays provable."""

from uuid import uuid4

import pytest
from uuid_utils.compat import uuid7

from hansard.domain.errors import CorruptRecord
from hansard.domain.log import Backend, Duplicate, Mismatch, Recorded
from hansard.domain.registry import Erased
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


def test_the_names_of_erased_facts_are_free_again(backend: Backend) -> None:
    conversation = uuid4()
    backend.append([appending(conversation, tool_result("c1", "old"))])
    backend.forget(conversation)
    again = appending(conversation, tool_result("c1", "new"))
    assert backend.append([again]) == [Recorded(2, 2, 2)]


def test_events_after_an_erasure_can_be_erased_too(backend: Backend) -> None:
    conversation = uuid4()
    backend.append([appending(conversation, started())])
    backend.forget(conversation)
    backend.append([appending(conversation, prompt())])
    assert backend.forget(conversation) == 1
    assert len(verified_log(backend)) == 2


def test_what_is_forgotten_stays_forgotten(durable_place: Place) -> None:
    backend = durable_place.open()
    conversation = backend.open(TENANT, "ada")
    backend.append([appending(conversation, started("ada"), prompt())])
    backend.forget(conversation)
    backend.close()
    again = durable_place.open()
    assert again.find(TENANT, "ada") is None
    assert {event.body for event in again.read(conversation)} == {None}
    verified_log(again)
    again.close()
