"""Files as they are uploaded in a form (RFC 7578), and which of them have the requests of a batch."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from io import BytesIO
from typing import Final, cast

from onrecord.domain.errors import InvalidContent

_FORM: Final = "multipart/form-data"
_HEAD: Final = 64 * 1024
_LONGEST: Final = 256 * 1024**2
"""What is read of a file before it is sent; OpenAI takes 200 MB at most for a batch."""

_OF_A_BATCH: Final = re.compile(rb'name="purpose"\r\n(?:[^\r\n]+\r\n)*\r\nbatch\r\n')
_END: Final = b"\r\n"


def is_of_batch(headers: Mapping[str, str], stream: object) -> bool:
    """Whether a form that is about to be sent holds the requests of a batch.

    Of its stream no more is read than the fields before the file: that may be anything, of any
    length, and can be read but once. SDKs put fields first.
    """
    length = headers.get("content-length", "")
    if not headers.get("content-type", "").lower().startswith(_FORM):
        return False
    if not length.isdecimal() or int(length) > _LONGEST or not isinstance(stream, Iterable):
        return False
    return _OF_A_BATCH.search(_head(cast("Iterable[bytes]", stream))) is not None


def lines_of(form: bytes) -> Iterator[bytes]:
    """Yield the lines of the file in a form; InvalidContent where it has none."""
    start, end = _file_in(form)
    reading = BytesIO(form)
    reading.seek(start)
    while reading.tell() < end:
        line = reading.readline(end - reading.tell())
        if line.strip():
            yield line


def _head(stream: Iterable[bytes]) -> bytes:
    head = b""
    for chunk in stream:
        head += chunk[:_HEAD]
        if b"filename=" in head or len(head) > _HEAD:
            break
    return head


def _file_in(form: bytes) -> tuple[int, int]:
    """Return where the file of a form begins and ends."""
    boundary = form[: form.find(_END)] if form.startswith(b"--") else b""
    at = len(boundary)
    while boundary and form.startswith(_END, at):
        start = form.find(_END + _END, at) + 2 * len(_END)
        end = form.find(_END + boundary, start - len(_END))
        if start < 2 * len(_END) or end < 0:
            break
        if b"filename=" in form[at:start]:
            return start, end
        at = end + len(_END) + len(boundary)
    raise InvalidContent("there is no file in the form: give it as its member `file`")
