"""A PDF of one page, small enough to read: the report that the demo asks about."""

from collections.abc import Sequence


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
