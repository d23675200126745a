"""Files as they are uploaded in a form (RFC 7578), and which of them have the requests of a batch."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, cast

from onrecord.domain.errors import InvalidContent

_FORM: Final = "multipart/form-data"
_HEAD: Final = 64 * 1024
_LINE: Final = re.compile(rb"\S[^\n]*\n?")
_LONGEST: Final = 256 * 1024**2
"""What is read of a file before it is sent; OpenAI takes 200 MB at most for a batch."""

_OF_A_BATCH: Final = re.compile(rb'name="purpose"\r\n(?:[^\r\n]+\r\n)*\r\nbatch\r\n')
_END: Final = b"\r\n"

_LASTING: Final = {
    (package, kind) for package in ("httpx", "httpx2") for kind in ("ByteStream", "MultipartStream")
}
"""The streams that give the same each time: what the HTTP client makes of bytes, and of a form."""


def is_passing(headers: Mapping[str, str], stream: object) -> bool:
    """Whether this is a form that can be read but once: whoever looks at it takes it from the wire."""
    kind = type(stream)
    return _is_form(headers) and (kind.__module__.split(".")[0], kind.__name__) not in _LASTING


def is_of_batch(headers: Mapping[str, str], stream: object) -> bool:
    """Whether a form that is about to be sent holds the requests of a batch; False if it passes.

    Of its stream no more is read than the fields before the file: that may be anything, of any
    length, and can be read but once. SDKs put fields first.
    """
    length = headers.get("content-length", "")
    if not _is_form(headers) or is_passing(headers, stream):
        return False
    if not length.isdecimal() or int(length) > _LONGEST or not isinstance(stream, Iterable):
        return False
    return _OF_A_BATCH.search(_head(cast("Iterable[bytes]", stream))) is not None


def begins_batch(headers: Mapping[str, str], head: bytes) -> bool:
    """Whether a form whose beginning was read holds the requests of a batch."""
    return _is_form(headers) and _OF_A_BATCH.search(head) is not None


def lines_of(form: bytes) -> Iterator[bytes]:
    """Yield the lines of the file in a form, from their first word on; none that is blank.

    InvalidContent where it has no file.
    """
    return (line[0] for line in _LINE.finditer(form, *_file_in(form)))


def _is_form(headers: Mapping[str, str]) -> bool:
    return headers.get("content-type", "").lower().startswith(_FORM)


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
