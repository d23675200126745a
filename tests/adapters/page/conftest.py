"""What tests of the page begin with: a folder of their own, and a conversation that was forgotten."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import pytest

import onrecord


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
