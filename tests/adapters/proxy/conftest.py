"""The store that the tests of the proxy record in."""

from collections.abc import Generator
from pathlib import Path

import pytest

import onrecord


@pytest.fixture
def store(tmp_path: Path) -> Generator[onrecord.Store]:
    with onrecord.connect(f"sqlite:///{tmp_path / 'log.db'}") as store:
        yield store
