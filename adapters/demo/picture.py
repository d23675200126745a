"""Pictures small enough to draw here: three parcels in a van, the second one marked; a torn box."""

import struct
import zlib
from collections.abc import Callable
from typing import Final

_SIDE: Final = 48
_WALL, _PARCEL, _MARKED = b"\x3a\x3f\x47", b"\xc9\xa2\x6b", b"\xd2\x4b\x3e"


def parcels_in_a_van() -> bytes:
    """Return a PNG of three parcels, the second one marked."""
    return _png(_in_the_van)


def torn_box() -> bytes:
    """Return a PNG of a box without one of its corners."""
    return _png(_of_the_box)


def _in_the_van(row: int, column: int) -> bytes:
    parcel, within = divmod(column, _SIDE // 3)
    if not 2 <= within < _SIDE // 3 - 2 or not _SIDE // 2 <= row < _SIDE - 4:
        return _WALL
    return _MARKED if parcel == 1 else _PARCEL


def _of_the_box(row: int, column: int) -> bytes:
    is_inside = 8 <= row < _SIDE - 4 and 4 <= column < _SIDE - 4
    is_torn = column - row > _SIDE // 3
    return _PARCEL if is_inside and not is_torn else _WALL


def _png(pixel: Callable[[int, int], bytes]) -> bytes:
    """Return a PNG of 48 by 48 pixels in 8-bit RGB (W3C, "PNG Specification", 5 and 11)."""
    lines = b"".join(
        b"\x00" + b"".join(pixel(row, column) for column in range(_SIDE)) for row in range(_SIDE)
    )
    head = struct.pack(">IIBBBBB", _SIDE, _SIDE, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
