"""Aggregates are saved with what is said in a conversation: both, or neither."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import pytest
from eventsourcing.application import AggregateNotFoundError
from eventsourcing.persistence import IntegrityError, OperationalError, StoredEvent, Tracking

import onrecord
from onrecord import Conversation, Duplicate, Recorded, Store
from onrecord.adapters.conversation.conversation import tenancy_of
from onrecord.adapters.storage.eventsourcing.recorders import Appender
from onrecord.domain.log import Append, Verdict
from onrecord.errors import (
    ConversationClosed,
    IdempotencyMismatch,
    InvalidInput,
    StorageUnavailable,
    VersionConflict,
)
from onrecord.eventsourcing import save_together
from tests.adapters.storage.eventsourcing.refunds import TENANT, Refund, Refunds, environment
from tests.adapters.views.own_projections import opened
from tests.patience import join


@pytest.fixture(params=["sqlite", "postgres"])
def store(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Store]:
    monkeypatch.setenv("ONRECORD_ACTOR", "ann")
    yield from opened(request.param, tmp_path)


@pytest.fixture(params=["tenant of its own", "same tenant"])
def refunds(request: pytest.FixtureRequest, url: str) -> Iterator[Refunds]:
    tenant = {} if request.param == "tenant of its own" else {"ONRECORD_TENANT": ""}
    application = Refunds(env=environment(url) | tenant)
    yield application
    application.close()


@pytest.fixture
def url(store: Store) -> str:
    return store.url


@pytest.fixture
def chat(store: Store) -> Conversation:
    return store.conversation("support/4711")


def is_there(refunds: Refunds, refund: Refund) -> bool:
    try:
        refunds.find(refund.id)
    except AggregateNotFoundError:
        return False
    return True


def test_both_are_recorded_and_each_says_what_it_always_says(
    refunds: Refunds, chat: Conversation
) -> None:
    refund = Refund(cents=500)
    saved = save_together(refunds, [refund], chat.user, "I want my money back")
    assert [recording.domain_event.originator_id for recording in saved.recordings] == [refund.id]
    assert isinstance(saved.said, Recorded)
    assert chat.history()[0].text == "I want my money back"
    assert refunds.find(refund.id).cents == 500


def test_several_aggregates_and_a_document_are_one_transaction(
    refunds: Refunds, chat: Conversation, tmp_path: Path
) -> None:
    receipt = tmp_path / "receipt.txt"
    receipt.write_text("5 euros")
    pair = [Refund(1), Refund(2)]
    pair[1].grant("bob")
    saved = save_together(refunds, pair, chat.user, "my receipt:", receipt)
    assert len(saved.recordings) == 3
    assert refunds.find(pair[1].id).granted_by == "bob"
    assert [document.document.name for document in chat.documents()] == ["receipt.txt"]


def test_nothing_is_said_where_the_aggregate_was_changed_meanwhile(
    refunds: Refunds, chat: Conversation
) -> None:
    refund_id = refunds.request(500)
    late = refunds.find(refund_id)
    refunds.grant(refund_id, "ann", chat)
    late.grant("bob")
    version = chat.head().version
    with pytest.raises(IntegrityError):
        save_together(refunds, [late], chat.user, "granted by bob")
    assert chat.head().version == version
    assert refunds.find(refund_id).granted_by == "ann"


def test_nothing_is_saved_where_the_conversation_went_on_meanwhile(
    refunds: Refunds, chat: Conversation
) -> None:
    seen = chat.user("first").last
    chat.user("second")
    refund = Refund(1)
    with pytest.raises(VersionConflict):
        save_together(refunds, [refund], chat.user, "third", expected_version=seen)
    assert not is_there(refunds, refund)
    assert len(chat.events()) == 3


def test_nothing_is_saved_where_the_id_stands_for_other_words(
    refunds: Refunds, chat: Conversation
) -> None:
    chat.user("one", message_id="m")
    refund = Refund(1)
    with pytest.raises(IdempotencyMismatch):
        save_together(refunds, [refund], chat.user, "two", message_id="m")
    assert not is_there(refunds, refund)


def test_nothing_is_saved_where_the_conversation_has_ended(
    refunds: Refunds, chat: Conversation
) -> None:
    chat.user("hello")
    chat.end()
    refund = Refund(1)
    with pytest.raises(ConversationClosed):
        save_together(refunds, [refund], chat.user, "again")
    assert not is_there(refunds, refund)


def test_what_was_refused_can_be_mended_and_saved_again_with_the_aggregate(
    refunds: Refunds, chat: Conversation
) -> None:
    refund = Refund(1)
    with pytest.raises(InvalidInput):
        save_together(refunds, [refund], chat.user, "  ")
    assert not is_there(refunds, refund)
    saved = save_together(refunds, [refund], chat.user, "Refund it.")
    assert len(saved.recordings) == 1
    assert is_there(refunds, refund)


def test_an_aggregate_is_saved_alone_where_the_conversation_has_the_words_already(
    refunds: Refunds, chat: Conversation
) -> None:
    chat.user("hello", message_id="m")
    refund = Refund(1)
    saved = save_together(refunds, [refund], chat.user, "hello", message_id="m")
    assert isinstance(saved.said, Duplicate)
    assert is_there(refunds, refund)


def test_the_end_of_a_conversation_that_has_ended_saves_the_aggregate_alone(
    refunds: Refunds, chat: Conversation
) -> None:
    chat.user("hello")
    chat.end()
    refund = Refund(1)
    assert save_together(refunds, [refund], chat.end).said is None
    assert is_there(refunds, refund)


def test_the_conversation_goes_on_alone_where_no_aggregate_has_anything_new(
    refunds: Refunds, chat: Conversation
) -> None:
    assert save_together(refunds, [], chat.user, "hello").recordings == []
    assert save_together(refunds, [], chat.user, "hello", message_id="m").said
    assert isinstance(
        save_together(refunds, [], chat.user, "hello", message_id="m").said, Duplicate
    )
    assert len(chat.events()) == 3


def test_other_verbs_and_other_places_are_refused_before_anything_is_written(
    refunds: Refunds, chat: Conversation, tmp_path: Path
) -> None:
    refund = Refund(1)
    with pytest.raises(InvalidInput, match="verbs"):
        save_together(refunds, [refund], chat.ingest, [])
    with pytest.raises(InvalidInput, match="verbs"):
        save_together(refunds, [refund], lambda: chat.user("hello"))
    elsewhere = Refunds()  # In memory, where the library keeps it.
    with pytest.raises(InvalidInput, match="PERSISTENCE_MODULE"):
        save_together(elsewhere, [refund], chat.user, "hello")
    other = f"sqlite:///{tmp_path / 'other.db'}"
    with onrecord.connect(other) as another, pytest.raises(InvalidInput, match="two logs"):
        save_together(refunds, [refund], another.conversation("a").user, "hello")
    assert chat.events() == []
    assert not is_there(refunds, refund)


def test_each_verb_that_is_let_in_records_with_the_aggregate(
    refunds: Refunds, chat: Conversation
) -> None:
    version = chat.user("hello").last
    saves: list[Callable[[Refund], object]] = [
        lambda refund: save_together(refunds, [refund], chat.assistant, "a text"),
        lambda refund: save_together(refunds, [refund], chat.retract_answer),
        lambda refund: save_together(refunds, [refund], chat.assistant, "a text"),
        lambda refund: save_together(refunds, [refund], chat.compact, "a summary"),
        lambda refund: save_together(refunds, [refund], chat.instruct, "be brief"),
        lambda refund: save_together(refunds, [refund], chat.signal, "a timer"),
        lambda refund: save_together(refunds, [refund], chat.tool_result, "call-1", "42"),
        lambda refund: save_together(refunds, [refund], chat.cancel, "call-2"),
        lambda refund: save_together(refunds, [refund], chat.annotate, {"a": "b"}),
        lambda refund: save_together(refunds, [refund], chat.redact, version),
        lambda refund: save_together(refunds, [refund], chat.edit_message, version, "hello again"),
        lambda refund: save_together(
            refunds, [refund], chat.set_tool_context, {"order": "4711"}, persist=["order"]
        ),
        lambda refund: save_together(refunds, [refund], chat.end),
    ]
    for number, save in enumerate(saves):
        refund, before = Refund(1), chat.head().version
        save(refund)
        assert chat.head().version > before, number
        assert is_there(refunds, refund), number


def test_a_save_that_the_storage_does_not_take_leaves_both_as_they_were(
    refunds: Refunds, chat: Conversation, store: Store
) -> None:
    chat.user("hello")
    refund = Refund(1)
    other = Refunds(env=environment(store.url))
    other.close()
    with pytest.raises((OperationalError, StorageUnavailable)):
        save_together(other, [refund], chat.user, "again")
    assert len(chat.events()) == 2
    assert not is_there(refunds, refund)


def test_of_many_who_save_together_none_gets_half(store: Store, chat: Conversation) -> None:
    writers, rounds = 4, 8
    barrier = threading.Barrier(writers)
    application = Refunds(env=environment(store.url))
    contested = application.request(1)

    def write(writer: int) -> int:
        barrier.wait()
        won = 0
        for number in range(rounds):
            refund = Refund(writer * rounds + number)
            save_together(application, [refund], chat.user, str(refund.id))
            try:
                application.grant(contested, str(writer), chat)
                won += 1
            except (IntegrityError, ValueError):
                pass
        return won

    with ThreadPoolExecutor(writers) as pool:
        wins = list(pool.map(write, range(writers)))
    assert sum(wins) == 1
    said = {text for turn in chat.history() for text in turn.text.split()} - {"granted", "by"}
    saved = {
        str(notification.originator_id)
        for notification in application.recorder.select_notifications(None, 1_000)
        if notification.originator_id != contested
    }
    winner = application.find(contested).granted_by
    assert said == saved | {winner}
    assert len(saved) == writers * rounds
    assert store.verify().faults == ()
    application.close()


class Passing(NamedTuple):
    """What a stream appends by."""

    by: Appender

    def append(self, appends: Sequence[Append]) -> list[Verdict]:
        return self.by(appends)


def test_what_a_follower_tracks_goes_along(
    refunds: Refunds, store: Store, chat: Conversation
) -> None:
    recorder = refunds.factory.process_recorder()

    def beside(append: Appender) -> object:
        tenancy = tenancy_of(chat).appending_by(Passing(append))
        return Conversation(tenancy, chat.key).user("hello")

    def follow(position: int) -> None:
        recorder.insert_events(
            [StoredEvent(uuid4(), 1, "followed", b"{}")],
            tracking=Tracking("upstream", position),
            beside=beside,
        )

    follow(3)
    with pytest.raises(IntegrityError):
        follow(3)
    assert recorder.max_tracking_id("upstream") == 3
    assert [event.type for event in chat.events()] == ["conversation.started", "message.recorded"]


def test_a_second_thing_said_beside_a_save_is_refused(refunds: Refunds, chat: Conversation) -> None:
    def beside(append: Appender) -> None:
        tenancy = tenancy_of(chat).appending_by(Passing(append))
        Conversation(tenancy, chat.key).user("one")
        Conversation(tenancy, chat.key).user("two")

    with pytest.raises(InvalidInput, match="one thing"):
        refunds.save(Refund(1), beside=beside)
    assert len(chat.events()) == 2


def test_the_application_s_events_are_of_its_tenant_and_no_conversations_of_the_store(
    store: Store, chat: Conversation
) -> None:
    application = Refunds(env=environment(store.url))
    save_together(application, [Refund(1)], chat.user, "hello")
    assert [listed.key for listed in store.conversations()] == ["support/4711"]
    assert application.factory.env.get("ONRECORD_TENANT") == str(TENANT)
    application.close()


def test_writers_of_the_same_conversation_are_not_lost(store: Store, chat: Conversation) -> None:
    application = Refunds(env=environment(store.url))
    others = threading.Thread(target=lambda: [chat.user(str(uuid4())) for _ in range(20)])
    others.start()
    for _ in range(10):
        save_together(application, [Refund(1)], store.conversation(chat.key).user, "hello")
    join(others)
    assert len(chat.events()) == 31
    application.close()
