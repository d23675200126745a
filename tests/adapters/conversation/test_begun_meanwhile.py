"""A conversation that two holders begin at once: the same said by both is recorded once, and none is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from onrecord.adapters.conversation.batches import (
    BatchEntry,
    append_batch,
    program_message,
    user_message,
)
from onrecord.adapters.conversation.conversation import Conversation
from onrecord.adapters.recording.spool import Spool
from onrecord.adapters.recording.tenancy import Tenancy
from onrecord.adapters.storage.memory.memory import Memory
from onrecord.domain.errors import IdempotencyMismatch, VersionConflict
from onrecord.domain.log import Duplicate, Recorded, Verdict
from tests.factories import TENANT


class Busy(Memory):
    """A store in which somebody else is quicker, once."""

    def __init__(self) -> None:
        super().__init__()
        self.other: Callable[[], object] | None = None

    def append(self, appends: Any) -> list[Verdict]:
        other, self.other = self.other, None
        if other is not None:
            other()
        return super().append(appends)


@pytest.fixture
def store() -> Busy:
    return Busy()


@pytest.fixture
def held(store: Busy, tmp_path: Path) -> Callable[[], Conversation]:
    """Another holder of one conversation, each time."""
    return lambda: Conversation(Tenancy(store, TENANT, Spool(tmp_path / "spool")), "support/4711")


Holders = Callable[[], Conversation]


def entry(chat: Conversation, text: str = "Hi", expected: int | None = None) -> BatchEntry:
    facts = [user_message([text], None), program_message("Yes?", (), None)]
    return BatchEntry(chat, facts, "e1", expected)


def types(chat: Conversation) -> list[str]:
    return [event.type for event in chat.events()]


def test_a_message_that_another_holder_began_with_is_known(store: Busy, held: Holders) -> None:
    store.other = lambda: held().user("Hi", message_id="m1")
    assert held().user("Hi", message_id="m1") == Duplicate(2, 2)
    assert types(held()) == ["conversation.started", "message.recorded"]


def test_an_answer_that_another_holder_began_with_is_known(store: Busy, held: Holders) -> None:
    store.other = lambda: held().assistant("Hi", message_id="m1")
    assert isinstance(held().assistant("Hi", message_id="m1"), Duplicate)
    assert types(held()).count("conversation.started") == 1


def test_an_entry_that_another_holder_began_with_is_known(store: Busy, held: Holders) -> None:
    recorded = list[Any]()
    store.other = lambda: recorded.extend(append_batch(store, [entry(held())]))
    (again,) = append_batch(store, [entry(held())])
    assert recorded == [Recorded(1, 4, 4)]
    assert again == Duplicate(2, 4)
    assert len(types(held())) == 4


@pytest.mark.parametrize("expected", [0, 3])
def test_what_is_known_is_told_whatever_version_was_expected(
    store: Busy, held: Holders, expected: int
) -> None:
    store.other = lambda: held().user("Hi", message_id="m1")
    again = held().user("Hi", message_id="m1", expected_version=expected)
    assert again == Duplicate(2, 2)


def test_an_entry_is_known_whatever_version_was_expected(store: Busy, held: Holders) -> None:
    store.other = lambda: append_batch(store, [entry(held())])
    assert append_batch(store, [entry(held(), expected=0)]) == [Duplicate(2, 4)]


def test_another_message_of_that_id_is_refused(store: Busy, held: Holders) -> None:
    store.other = lambda: held().user("Hi", message_id="m1")
    with pytest.raises(IdempotencyMismatch, match="with other content"):
        held().user("Other", message_id="m1")
    assert len(types(held())) == 2


def test_another_entry_of_that_id_is_refused(store: Busy, held: Holders) -> None:
    store.other = lambda: append_batch(store, [entry(held())])
    (outcome,) = append_batch(store, [entry(held(), "Other")])
    assert isinstance(outcome, IdempotencyMismatch)
    assert len(types(held())) == 4


def test_something_else_is_recorded_behind_what_it_began_with(store: Busy, held: Holders) -> None:
    store.other = lambda: held().user("Hi", message_id="m1")
    assert held().user("Hello", message_id="m2") == Recorded(3, 3, 3)
    with pytest.raises(VersionConflict):
        held().user("Hello", message_id="m3", expected_version=0)
