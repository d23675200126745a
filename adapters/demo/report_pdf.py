"""A PDF of one page, small enough to read: the report that the demo asks about."""

import struct
import zlib
from collections.abc import Callable, Sequence
from typing import Final


def one_page_pdf(lines: Sequence[str]) -> bytes:
    """Return a valid PDF 1.4 with the lines, Latin-1, on one A4 page (ISO 32000-1, 7.5)."""
    page = _page(lines)
    objects = (
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources 6 0 R >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(page), page),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /Font << /F1 5 0 R >> >>",
    )
    body = b"%PDF-1.4\n"
    offsets: list[int] = []
    for number, content in enumerate(objects, start=1):
        offsets.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    return body + _cross_reference(offsets, len(body))


def _page(lines: Sequence[str]) -> bytes:
    shown = b"\n".join(b"(%s) Tj T*" % _escaped(line) for line in lines)
    return b"BT /F1 12 Tf 16 TL 72 770 Td\n%s\nET" % shown


def _escaped(line: str) -> bytes:
    for special in ("\\", "(", ")"):
        line = line.replace(special, f"\\{special}")
    return line.encode("latin-1")


def _cross_reference(offsets: Sequence[int], start: int) -> bytes:
    # Every entry is exactly 20 bytes long, its line end included.
    entries = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    size = len(offsets) + 1
    table = b"xref\n0 %d\n0000000000 65535 f \n%s" % (size, entries)
    return table + b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (size, start)


# Pictures small enough to draw here: three parcels in a van, the second one marked; a torn box.

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
