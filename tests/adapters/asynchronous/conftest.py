"""Fixtures: an empty store of each kind."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from onrecord.adapters.store import Store
from tests.adapters.asynchronous.stores import opened
from tests.contract.places import PLACES


@pytest.fixture(params=PLACES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    place = PLACES[request.param](tmp_path)
    with opened(place, tmp_path / "spool") as store:
        yield store
    place.remove()


@pytest.fixture(params=["memory", "sqlite"])
def embedded_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    with opened(PLACES[request.param](tmp_path), tmp_path / "spool") as store:
        yield store
