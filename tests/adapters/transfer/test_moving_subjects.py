"""Whom conversations are about that are moved, and under which keys they are then."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import pytest

import onrecord
from onrecord.adapters.encryption.key_file import new_key_file
from onrecord.adapters.store import backend_of
from onrecord.adapters.transfer import moves
from onrecord.adapters.transfer.moved_conversations import subjects_in
from onrecord.domain.encryption.subjects import named_subject
from onrecord.domain.errors import InvalidInput
from tests.adapters.transfer.moving_logs import Logs
from tests.tampering import forging

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


def test_a_move_with_other_subjects_is_refused_and_makes_no_key(tmp_path: Path) -> None:
    new_key_file(tmp_path / "kek")
    old, new = (f"sqlite:///{tmp_path / name}.db" for name in ("old", "new"))
    tenant = UUID(int=0)
    with Logs(old, new, tmp_path).opened() as both:
        forging.record(both.source)
        for subject in ("ann", "ann", "zed"):
            about = {(tenant, forging.FIRST): (subject,)}
            if subject == "zed":
                with pytest.raises(InvalidInput, match="is of other subjects there"):
                    moves.move(both.old, both.new, actor="ana", subjects=about)
            else:
                moves.move(both.old, both.new, actor="ana", subjects=about)
        assert both.new.keys is not None
        assert both.new.keys.key_id_of(named_subject(tenant, "ann")) is not None
        assert both.new.keys.key_id_of(named_subject(tenant, "zed")) is None


def test_two_lines_of_one_key_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "subjects.jsonl"
    lines = [f'{{"key":"{key}","subjects":["{of}"]}}' for key, of in ("ax", "by", "az")]
    file.write_text("\n".join(lines))
    with onrecord.connect(f"sqlite:///{tmp_path / 'old.db'}", keys="", kek="") as store:
        for key in "ab":
            store.conversation(key).user("Hello")
        with pytest.raises(InvalidInput, match=r"lines 1 and 3 of .* are of one key"):
            subjects_in(file, backend_of(store), None)
