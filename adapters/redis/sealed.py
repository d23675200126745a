"""What is kept in Redis bears a proof of the log's: what another put there is as good as missing."""

from __future__ import annotations

import hashlib
import hmac
import zlib
from typing import Final

from onrecord.adapters.storage.append import Proof

_SIZE: Final = 16
_PLAIN: Final = b"\x00"
_PACKED: Final = b"\x01"

_WORTH_PACKING: Final = 1 << 17
"""Shorter values are kept as they are: to unpack 64 KB took as long as all else of a hit."""


def seal(prove: Proof, place: str, value: bytes) -> bytes:
    """Return a value as it is kept at a place, with the proof that it belongs there."""
    is_long = len(value) >= _WORTH_PACKING
    kept = _PACKED + zlib.compress(value, 1) if is_long else _PLAIN + value
    return prove(_told(place, kept)) + kept


def opened(prove: Proof, place: str, sealed: bytes) -> bytes | None:
    """Return the value that was sealed for a place; None for anything else."""
    proof, kept = sealed[:_SIZE], sealed[_SIZE:]
    if not hmac.compare_digest(proof, prove(_told(place, kept))):
        return None
    return zlib.decompress(kept[1:]) if kept[:1] == _PACKED else kept[1:]


def _told(place: str, kept: bytes) -> bytes:
    return f"redis {place} ".encode() + hashlib.sha256(kept).digest()
