"""Which file system a path lies on, and whether its locks can be trusted."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from onrecord.domain.errors import UnsupportedFilesystem

NETWORK: Final = frozenset(
    {
        *("afs", "beegfs", "ceph", "cifs", "coda", "glusterfs", "gpfs", "lustre", "ncpfs"),
        *("nfs", "nfs4", "ocfs2", "smb3", "smbfs"),
        *("fuse.ceph", "fuse.davfs", "fuse.gcsfuse", "fuse.glusterfs", "fuse.juicefs"),
        *("fuse.rclone", "fuse.s3fs", "fuse.sshfs"),
    }
)
"""File systems, by their names in Linux, where a lock or a shared map may not reach everyone."""

_MOUNTS: Final = Path("/proc/self/mountinfo")


def refuse_network_filesystem(path: Path) -> None:
    """Raise UnsupportedFilesystem where a path lies on the network; without Linux, trust it."""
    if not _MOUNTS.exists():
        return
    kind = filesystem_of(path.resolve(), _MOUNTS.read_text("utf-8", "surrogateescape"))
    if kind in NETWORK:
        raise UnsupportedFilesystem(
            f"{path} lies on a network file system ({kind}), whose locks cannot be trusted: "
            "use a local disk, or PostgreSQL"
        )


def filesystem_of(path: Path, mountinfo: str) -> str:
    """Return the kind of file system that holds an absolute path, by proc_pid_mountinfo(5)."""
    kind, depth = "", -1
    for line in mountinfo.splitlines():
        mount, _, rest = line.partition(" - ")
        point = Path(_unescaped(mount.split(" ")[4]))
        # Of two mounts on one point, the later one is seen.
        if path.is_relative_to(point) and len(point.parts) >= depth:
            kind, depth = rest.split(" ")[0], len(point.parts)
    return kind


def _unescaped(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), text)
