"""A store in memory, and a key that seals its log."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import onrecord
from onrecord.adapters.seals.signing import new_key
from onrecord.adapters.store import backend_of
from onrecord.domain.seals.checkpoint import key_name_of, log_id_of
from onrecord.domain.seals.notes import PrivateKey


@pytest.fixture
def store() -> Iterator[onrecord.Store]:
    with onrecord.connect("memory://") as store:
        yield store


@pytest.fixture
def key(store: onrecord.Store) -> PrivateKey:
    return new_key(key_name_of(log_id_of(backend_of(store).digest)))
