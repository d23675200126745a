"""Whom conversations are about that are moved, and under which keys they are then."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import pytest

import onrecord
from onrecord.adapters.store import backend_of
from onrecord.adapters.transfer.moved_conversations import subjects_in
from onrecord.domain.errors import InvalidInput

TENANT = UUID(int=7)


def test_subjects_are_of_the_only_tenant_of_a_log(tmp_path: Path) -> None:
    place, file = f"sqlite:///{tmp_path / 'old.db'}", tmp_path / "subjects.jsonl"
    file.write_text('{"key":"support/4711","subjects":["ann"]}\n')
    with onrecord.connect(place, keys="", kek="", tenant=TENANT) as store:
        source = backend_of(store)
        with pytest.raises(InvalidInput, match="has no conversations"):
            subjects_in(file, source, None)
        store.conversation("support/4711").user("Hello")
        store.retention.place_hold("support/4711", matter="S", reason="r", actor="ana")
        assert subjects_in(file, source, None) == {(TENANT, "support/4711"): ("ann",)}
        with onrecord.connect(place, keys="", kek="") as other:
            other.conversation("another").user("Hello")
        with pytest.raises(InvalidInput, match="several tenants: say with --tenant"):
            subjects_in(file, source, None)
        assert subjects_in(file, source, TENANT) == {(TENANT, "support/4711"): ("ann",)}
        with pytest.raises(InvalidInput, match=f"no conversation of the tenant {UUID(int=0)} has"):
            subjects_in(file, source, UUID(int=0))
