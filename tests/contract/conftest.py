"""The fixtures of the contract suite: each test gets an empty store of each backend."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from onrecord.domain.log import Backend
from tests.contract.places import DURABLE, PLACES, Place, prepared


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    yield from prepared(request.param, tmp_path)


@pytest.fixture(params=DURABLE)
def durable_place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """A place whose store can be closed and opened again, also by other processes."""
    yield from prepared(request.param, tmp_path)


@pytest.fixture
def backend(place: Place) -> Iterator[Backend]:
    opened = place.open()
    yield opened
    opened.close()
