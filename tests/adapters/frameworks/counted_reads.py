"""How many events a store's database was asked for."""

from __future__ import annotations

from typing import Any

import pytest

from onrecord.adapters.store import Store, backend_of


def counted_reads(store: Store, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that takes the version of each event that is read from now on."""
    backend = backend_of(store)
    read: list[int] = []
    every = backend.read

    def counting(*args: Any, **options: Any) -> Any:
        for event in every(*args, **options):
            read.append(event.version)
            yield event

    monkeypatch.setattr(backend, "read", counting)
    return read
