"""Which file system a path lies on; those of the network are refused."""

from pathlib import Path

import pytest

from onrecord.adapters.storage.sqlite.lock import filesystem_of, refuse_network_filesystem
from onrecord.adapters.storage.sqlite.sqlite import open_sqlite
from onrecord.domain.errors import UnsupportedFilesystem

MOUNTS = r"""
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:26 / /mnt rw - tmpfs tmpfs rw
31 30 0:44 / /mnt/team\040share rw - nfs4 server:/share rw
32 30 0:45 / /mnt/local rw - nfs server:/old rw
33 32 8:2 / /mnt/local rw - xfs /dev/sdb1 rw
""".strip()


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/home/ada/log.db", "ext4"),
        ("/mnt/log.db", "tmpfs"),
        ("/mnt/team share/deep/log.db", "nfs4"),
        ("/mnt/team sharex/log.db", "tmpfs"),
        ("/mnt/local/log.db", "xfs"),
    ],
)
def test_the_innermost_and_latest_mount_holds_a_path(path: str, kind: str) -> None:
    assert filesystem_of(Path(path), MOUNTS) == kind


def test_a_network_file_system_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text("1 0 0:1 / / rw - nfs4 server:/ rw\n")
    monkeypatch.setattr("onrecord.adapters.storage.sqlite.lock._MOUNTS", mounts)
    with pytest.raises(UnsupportedFilesystem, match="local disk, or PostgreSQL"):
        open_sqlite(tmp_path / "log.db")
    assert list(tmp_path.iterdir()) == [mounts]
    monkeypatch.setattr("onrecord.adapters.storage.sqlite.lock._MOUNTS", tmp_path / "none")
    refuse_network_filesystem(tmp_path)
