"""What tests of the page begin with: a folder of their own, and a conversation that was forgotten."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest

import onrecord
from onrecord.adapters.telemetry.logs import Masking


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the store `log.db` of a module."""
    return tmp_path_factory.mktemp("page")


@pytest.fixture(scope="module")
def gone(folder: Path) -> UUID:
    """A conversation that was forgotten: somebody had said `secret parcel` in it."""
    with onrecord.connect(f"sqlite:///{folder / 'log.db'}") as store:
        store.conversation("gone").user("secret parcel")
        forgotten = store.get("gone").conversation_id
        store.forget("gone", reason="asked for", actor="ada")
        return forgotten


@pytest.fixture
def masked_log(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """The log as the service writes it: values that nobody vouched for are masked."""
    masking = Masking()
    caplog.handler.addFilter(masking)
    yield caplog
    # The handler is that of all tests.
    caplog.handler.removeFilter(masking)
