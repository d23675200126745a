"""What `onrecord move` says to do with the old log."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import onrecord
from onrecord.adapters.encryption.key_file import new_key_file
from tests.adapters.cli.command import Done, run

OTHER = UUID(int=7)


def test_an_old_log_with_other_tenants_is_not_to_be_destroyed(tmp_path: Path) -> None:
    new_key_file(tmp_path / "kek")
    old, new = (f"sqlite:///{tmp_path / name}.db" for name in ("old", "new"))
    for tenant in (UUID(int=0), OTHER):
        with onrecord.connect(old, keys="", kek="", tenant=tenant) as store:
            store.conversation("one").user("Hello")
    keys = {"ONRECORD_KEYS": str(tmp_path / "keys.db"), "ONRECORD_KEK": str(tmp_path / "kek")}

    def move(*options: str) -> Done:
        return run("move", "--url", old, "--into", new, *options, **keys)

    one = move("--tenant", str(OTHER), "--actor", "ana")
    assert (one.code, "destroy" in one.err) == (0, False)
    assert "keep it until they are moved" in " ".join(one.err.split())
    assert move("--verify").code == 1
    every = " ".join(move("--actor", "ana").err.split())
    assert "`onrecord verify` of the new log with its keys, then destroy" in every
    assert move("--verify").code == 0
