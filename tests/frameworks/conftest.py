"""Each test of a framework's store gets an empty place of each kind that keeps data."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import onrecord
from onrecord.adapters.store import Store
from tests.adapters.frameworks.sessions_places import store_of
from tests.contract.places import DURABLE, WHERE_THE_LOG_IS, Place, prepared
from tests.frameworks.places import PLACES_OF_RULES


@pytest.fixture(params=WHERE_THE_LOG_IS)
def each_place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """A place of each kind, for the suites that frameworks ship."""
    yield from prepared(request.param, tmp_path)


@pytest.fixture(params=PLACES_OF_RULES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    yield from prepared(request.param, tmp_path)


@pytest.fixture(params=[name for name in PLACES_OF_RULES if name in DURABLE])
def durable_place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """A place whose store other processes open too."""
    yield from prepared(request.param, tmp_path)


@pytest.fixture
def store(place: Place, tmp_path: Path) -> Iterator[Store]:
    with store_of(place.open(), tmp_path) as opened:
        yield opened


@pytest.fixture
def sqlite_store(tmp_path: Path) -> Iterator[Store]:
    with onrecord.connect(f"sqlite:///{tmp_path / 'log.db'}", actor="eve") as opened:
        yield opened
