"""Which verbs a store's database was asked."""

from __future__ import annotations

from typing import Any

import pytest

from onrecord.adapters.store import Store, backend_of

_VERBS = ("append", "find", "head", "new_since", "open", "read")


def asked_verbs(store: Store, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that takes the name of each verb that is asked from now on."""
    backend, asked = backend_of(store), list[str]()
    for verb in _VERBS:
        every = getattr(backend, verb)

        def asking(*args: Any, verb: str = verb, every: Any = every, **options: Any) -> Any:
            asked.append(verb)
            return every(*args, **options)

        monkeypatch.setattr(backend, verb, asking)
    return asked
