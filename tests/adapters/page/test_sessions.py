"""Sessions: how long they last, and how many there are."""

from __future__ import annotations

from base64 import urlsafe_b64decode
from dataclasses import dataclass

from onrecord.adapters.page.visitors.sessions import (
    IDLE_SECONDS,
    LONGEST_SECONDS,
    MOST_OF_VISITOR,
    Session,
    Sessions,
)


@dataclass
class Clock:
    """A clock that is set by hand."""

    now: float = 1_000.0

    def __call__(self) -> float:
        return self.now


def test_an_id_is_256_random_bits_and_never_the_same() -> None:
    sessions = Sessions()
    ids = {sessions.begin("a key") for _ in range(8)}
    assert len(ids) == 8
    assert {len(urlsafe_b64decode(f"{each}=")) for each in ids} == {32}
    assert {sessions.visitor(each) for each in ids} == {"a key"}


def test_a_session_ends_when_nobody_uses_it() -> None:
    clock = Clock()
    sessions = Sessions(clock)
    id_ = sessions.begin("a key")
    for _ in range(3):
        clock.now += IDLE_SECONDS - 1
        assert sessions.visitor(id_) == "a key"
    clock.now += IDLE_SECONDS
    assert sessions.visitor(id_) is None
    clock.now -= IDLE_SECONDS
    assert sessions.visitor(id_) is None


def test_a_session_ends_in_any_case() -> None:
    clock = Clock()
    sessions = Sessions(clock)
    id_ = sessions.begin("a key")
    end = clock.now + LONGEST_SECONDS
    while (after := clock.now + IDLE_SECONDS / 2) < end:
        clock.now = after
        assert sessions.visitor(id_) == "a key"
    clock.now = end
    assert sessions.visitor(id_) is None


def test_of_too_many_sessions_the_one_that_was_unused_for_longest_goes() -> None:
    sessions = Sessions(most=2)
    first, second = sessions.begin("a"), sessions.begin("b")
    assert sessions.visitor(first) == "a"
    third = sessions.begin("c")
    assert [sessions.visitor(each) for each in (first, second, third)] == ["a", None, "c"]


def test_one_key_does_not_take_the_sessions_of_others() -> None:
    sessions = Sessions(most=MOST_OF_VISITOR + 1)
    other = sessions.begin("other")
    ids = [sessions.begin("a key") for _ in range(2 * MOST_OF_VISITOR)]
    assert sessions.visitor(other) == "other"
    assert sum(sessions.visitor(each) is not None for each in ids) == MOST_OF_VISITOR


def test_a_session_that_was_ended_is_none() -> None:
    sessions = Sessions()
    id_ = sessions.begin("a key")
    sessions.end(id_)
    sessions.end("never begun")
    assert sessions.visitor(id_) is None


def test_no_session_shows_its_key() -> None:
    assert "swordfish" not in repr(Session("swordfish", 0.0, 0.0))
