"""How many events a store's database was asked for."""

from __future__ import annotations

from typing import Any

import pytest

from onrecord.adapters.store import Store, backend_of


def counted_reads(store: Store, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that takes the version of each event that is read from now on."""
    backend = backend_of(store)
    read: list[int] = []
    every, newest = backend.read, backend.new_since

    def counting(*args: Any, **options: Any) -> Any:
        for event in every(*args, **options):
            read.append(event.version)
            yield event

    def counting_newest(*args: Any) -> Any:
        found = newest(*args)
        read.extend(event.version for event in found.events)
        return found

    monkeypatch.setattr(backend, "read", counting)
    monkeypatch.setattr(backend, "new_since", counting_newest)
    return read
