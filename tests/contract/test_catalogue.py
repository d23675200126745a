"""open, find, conversations: which conversations there are, by the caller's names."""

from uuid import uuid4

import pytest

from onrecord.domain.head import Effect
from onrecord.domain.log import Backend
from tests.contract.places import Place
from tests.factories import OTHER_TENANT, TENANT, answer, appending, prompt, raw_event, started

KEYS = ["support/4711", "", " ", "ключ", "a" * 10_000, "line\nbreak", "\x00", "\ud800"]


@pytest.mark.parametrize("key", KEYS, ids=ascii)
def test_a_key_names_one_conversation_for_ever(backend: Backend, key: str) -> None:
    assert backend.find(TENANT, key) is None
    conversation = backend.open(TENANT, key)
    assert backend.open(TENANT, key) == conversation
    assert backend.find(TENANT, key) == conversation
    assert backend.open(TENANT, key + "x") != conversation


def test_a_key_belongs_to_its_tenant(backend: Backend) -> None:
    own = backend.open(TENANT, "support")
    assert backend.find(OTHER_TENANT, "support") is None
    assert backend.open(OTHER_TENANT, "support") != own


def test_a_new_key_may_be_given_an_id_and_a_known_one_keeps_its_own(backend: Backend) -> None:
    given = uuid4()
    assert backend.open(TENANT, "imported", given) == given
    assert backend.find(TENANT, "imported") == given
    assert backend.open(TENANT, "imported", uuid4()) == given


def test_two_keys_may_lead_to_one_conversation_and_are_forgotten_with_it(backend: Backend) -> None:
    conversation = backend.open(TENANT, "one")
    assert backend.open(TENANT, "two", conversation) == conversation
    assert backend.find(TENANT, "two") == conversation
    backend.forget(conversation)
    assert [backend.find(TENANT, key) for key in ("one", "two")] == [None, None]


def test_conversations_are_listed_once_they_have_begun_the_last_moved_first(
    backend: Backend,
) -> None:
    one, two, silent = (backend.open(TENANT, key) for key in ("one", "two", "silent"))
    other = backend.open(OTHER_TENANT, "one")
    backend.append([appending(other, started(), tenant=OTHER_TENANT)])
    backend.append([appending(one, started("one"))])
    backend.append([appending(two, started("two"))])
    assert [line.conversation_id for line in backend.conversations(TENANT)] == [two, one]
    backend.append([appending(one, prompt(), answer())])
    assert [line.conversation_id for line in backend.conversations(TENANT)] == [one, two]
    assert silent not in {line.conversation_id for line in backend.conversations(TENANT)}
    assert [line.conversation_id for line in backend.conversations(OTHER_TENANT)] == [other]


def test_a_line_of_the_catalogue_says_where_the_conversation_stands(backend: Backend) -> None:
    conversation = backend.open(TENANT, "one")
    backend.append([appending(conversation, started("one"))])
    backend.append([appending(conversation, prompt())])
    first, last = backend.read(conversation)
    (line,) = backend.conversations(TENANT)
    assert line.head == backend.head(conversation)
    assert (line.started_at, line.recorded_at) == (first.recorded_at, last.recorded_at)


def test_many_conversations_are_listed_whole(backend: Backend) -> None:
    ids = [uuid4() for _ in range(700)]
    backend.append([appending(conversation, started()) for conversation in ids])
    listed = [line.conversation_id for line in backend.conversations(TENANT)]
    assert listed == ids[::-1]


def test_those_that_are_not_closed_are_found_by_their_ids(backend: Backend) -> None:
    ids = sorted(uuid4() for _ in range(4))
    closing, closed_at_once = ids[1], ids[2]
    other = uuid4()
    for conversation in ids:
        effect = Effect(closes=conversation == closed_at_once)
        backend.append([appending(conversation, raw_event(effect=effect))])
    backend.append([appending(other, raw_event(), tenant=OTHER_TENANT)])
    assert backend.open_conversations(TENANT) == [one for one in ids if one != closed_at_once]
    backend.append([appending(closing, raw_event(effect=Effect(closes=True)))])
    backend.append([appending(ids[0], raw_event())])
    assert backend.open_conversations(TENANT) == [ids[0], ids[3]]
    assert [head.head.closed for head in backend.conversations(TENANT)].count(True) == 2
    assert backend.open_conversations(OTHER_TENANT) == [other]


def test_a_digest_is_keyed_stable_and_short(backend: Backend) -> None:
    assert backend.digest("Ada") == backend.digest("Ada")
    assert backend.digest("Ada") != backend.digest("Bob")
    assert len(backend.digest("Ada")) == 16


def test_names_and_digests_outlive_the_process(durable_place: Place) -> None:
    backend = durable_place.open()
    conversation, digest = backend.open(TENANT, "one"), backend.digest("Ada")
    backend.close()
    again = durable_place.open()
    assert again.find(TENANT, "one") == conversation
    assert again.digest("Ada") == digest
    again.close()
