"""The log counts its erasures: what was read under a lower number may be gone."""

from __future__ import annotations

from uuid import UUID, uuid4

from onrecord.domain.log import Backend
from tests.factories import appending, prompt, started


def begun(backend: Backend) -> UUID:
    conversation = uuid4()
    backend.append([appending(conversation, started(), prompt())])
    return conversation


def test_each_erasure_raises_the_number_by_one(backend: Backend) -> None:
    first, second = begun(backend), begun(backend)
    assert backend.erasures() == 0
    backend.forget(first)
    backend.forget(second)
    assert backend.erasures() == 2


def test_the_erasures_after_a_number_tell_in_order_what_was_erased(backend: Backend) -> None:
    first, second = begun(backend), begun(backend)
    backend.forget(first)
    backend.forget(second)
    assert backend.erased(0) == [first, second]
    assert backend.erased(1) == [second]
    assert backend.erased(2) == []
