"""Checkpoints: what a shard came to at a size, as C2SP's tlog-checkpoint has it, and proofs under one.

::

    onrecord.log/5b0c3f6e-…/0
    1204
    nbgz51+CqSASEE10CWyqrsz/GUV+d63wY5xil4Mfmto=
    incarnation 8c1d2a54-…
    sealed 2026-11-28T15:04:00.000000Z

The origin names the log and the shard. The log's id survives moves and restores; the incarnation beside
it does not. A checkpoint is the text of a signed note.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple
from uuid import UUID

from onrecord.domain.errors import CorruptRecord
from onrecord.domain.header import parse_timestamp, timestamp
from onrecord.domain.seals.merkle import HASH_SIZE, Root

_DOMAIN: Final = "onrecord.log"
_ORIGIN: Final = re.compile(rf"{re.escape(_DOMAIN)}/([0-9a-f-]{{36}})/(0|[1-9][0-9]{{0,4}})")
_SIZE: Final = re.compile(r"0|[1-9][0-9]{0,18}")
_ID_VERSION: Final = 8
_PROOF: Final = "c2sp.org/tlog-proof@v1"


class Checkpoint(NamedTuple):
    """What a shard of a log came to at a size, when it was sealed, and in which incarnation of the log.

    `sealed_at` is in microseconds since 1970-01-01 UTC, by the log's clock.
    """

    log_id: UUID
    shard: int
    size: int
    hash: bytes
    incarnation: UUID
    sealed_at: int

    @property
    def origin(self) -> str:
        """The first line: which log, and which shard of it."""
        return origin_of(self.log_id, self.shard)

    @property
    def root(self) -> Root:
        """The root, as `onrecord verify` prints it."""
        return Root(self.shard, self.size, self.hash)

    def text(self) -> str:
        """Return the text that is signed."""
        lines = (
            self.origin,
            f"{self.size}",
            base64.b64encode(self.hash).decode(),
            f"incarnation {self.incarnation}",
            f"sealed {timestamp(self.sealed_at)}",
        )
        return "".join(f"{line}\n" for line in lines)


def origin_of(log_id: UUID, shard: int) -> str:
    """Return the origin of a shard's checkpoints: `onrecord.log/5b0c3f6e-…/0`."""
    return f"{_DOMAIN}/{log_id}/{shard}"


def log_id_of(keyed: Callable[[str], bytes]) -> UUID:
    """Return the id of a log: `keyed` is the log's keyed digest, so it survives moves and restores.

    A UUID of version 8 (RFC 9562, 5.8), of the keyed digest of “onrecord log”.
    """
    digest = bytearray(keyed("onrecord log"))
    digest[6] = _ID_VERSION << 4 | digest[6] & 0x0F
    digest[8] = 0x80 | digest[8] & 0x3F
    return UUID(bytes=bytes(digest))


def key_name_of(log_id: UUID) -> str:
    """Return the name of the key that signs the checkpoints of all shards of a log."""
    return f"{_DOMAIN}/{log_id}"


def parse_checkpoint(text: str) -> Checkpoint:
    """Return the checkpoint that the text of a note tells; CorruptRecord where it is none of ours."""
    try:
        origin, size, root, *extensions = text.removesuffix("\n").split("\n")
        match, members = _ORIGIN.fullmatch(origin), dict(line.split(" ", 1) for line in extensions)
        if match is None or _SIZE.fullmatch(size) is None:
            raise ValueError
        checkpoint = Checkpoint(
            UUID(match[1]),
            int(match[2]),
            int(size),
            base64.b64decode(root, validate=True),
            UUID(members["incarnation"]),
            parse_timestamp(members["sealed"]),
        )
    except (ValueError, KeyError, binascii.Error):
        raise CorruptRecord("this is no checkpoint of a log of Onrecord") from None
    if len(checkpoint.hash) != HASH_SIZE or checkpoint.text() != text:
        raise CorruptRecord("this is no checkpoint of a log of Onrecord")
    return checkpoint


def proof_text(index: int, proof: Sequence[bytes], note: bytes) -> bytes:
    """Return the proof that a leaf is in a tree, with the signed checkpoint, as C2SP's tlog-proof has it."""
    hashes = "".join(f"{base64.b64encode(each).decode()}\n" for each in proof)
    return f"{_PROOF}\nindex {index}\n{hashes}\n".encode() + note


def consistency_text(old: int, proof: Sequence[bytes], note: bytes) -> bytes:
    """Return the proof that a signed checkpoint goes on from one of an older size.

    It is the body of a request to a witness, as C2SP's tlog-witness has it.
    """
    hashes = "".join(f"{base64.b64encode(each).decode()}\n" for each in proof)
    return f"old {old}\n{hashes}\n".encode() + note
