"""What a request went out with is cut wherever its answer repeats it.

Proxies and services quote the key that they refuse, in errors of any shape. Content is not looked
at: what a model says is the record.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain
from typing import Any, Final, cast
from urllib.parse import parse_qsl, quote, urlsplit

from onrecord.adapters.wire.api import Wire
from onrecord.adapters.wire.bodies.clean import (
    between_members,
    clean_frames,
    frames_of,
    in_lines,
    in_windows,
)
from onrecord.adapters.wire.eventstream import holds_frames
from onrecord.adapters.wire.secrets import (
    PLACEHOLDER,
    Digest,
    cut,
    cut_all,
    cut_broken,
    cut_text,
    is_secret,
    is_secret_parameter,
    secrets_of,
    stand_in,
)
from onrecord.domain import jsontext
from onrecord.domain.errors import MalformedJson
from onrecord.domain.jsontext import JsonObject, read_bounded, read_bounded_object

_SHORTEST: Final = 8
"""How long a text must be to be looked for: a shorter one is found in half of all words."""

_SHORTEST_IN_ERRORS: Final = 6
"""How long one must be that is looked for in errors, where it stands alone and is no plain word."""

_DATA: Final = b"data:"
_ERROR: Final = re.compile(rb"\"error\"\s*:\s*[^n\s]")
"""An error that is not null, as whole answers have it among their members."""


_SIGNED_BY: Final = re.compile(r"(?:Credential|Signature)=([^/,\s]+)")
"""The parts of an AWS signature that are no words (docs.aws.amazon.com, "Signature Version 4")."""


class Credentials:
    """The secrets of one request, and how they are cut out of what it is answered."""

    def __init__(self, secrets: Iterable[str], digest: Digest) -> None:
        """Look for these; what is too short to be told from other text is left out."""
        texts = frozenset(secrets)
        sought_texts = {secret for secret in texts if _is_sought(secret)}
        self._digest = digest
        self._short = _alone(secret for secret in texts if _is_sought_in_errors(secret))
        self._stand_ins = {
            spelling: stand_in(secret, digest)
            for secret in sorted(sought_texts, key=lambda secret: (-len(secret), secret))
            for spelling in _spellings(secret)
        }

    def out_of_text(self, text: str) -> str:
        """Return a text that is no content without the secrets of the request, short ones too."""
        for spelling, mark in self._stand_ins.items():
            text = text.replace(spelling, mark)
        return self._without_short(text)

    def out_of_bytes(self, data: bytes) -> bytes:
        """Return bytes without the secrets of the request."""
        for spelling, mark in self._stand_ins.items():
            data = data.replace(spelling.encode("utf-8", "surrogatepass"), mark.encode())
        return data

    def _without_short(self, text: str) -> str:
        if self._short is None:
            return text
        return self._short.sub(lambda match: stand_in(match[0], self._digest), text)

    def out_of_error(self, error: Any) -> Any:
        """Return what an error says without the request's secrets, nor any that it names."""
        cleaned = self._out_of(error)
        cut = cut_broken if isinstance(cleaned, str) else cut_all
        return self._out_of(cut(cleaned, self._digest))

    def out_of_envelope(self, envelope: JsonObject, wire: Wire) -> JsonObject:
        """Return the envelope of an answer without the request's secrets, nor any that it names.

        Services repeat definitions of tools in it; one that was not understood may hold an error.
        """
        clean, _ = cut(self._out_of(envelope), wire, self._digest)
        if clean.get("error") is None:
            return clean
        return {**clean, "error": self.out_of_error(clean["error"])}

    def out_of_answer(self, body: bytes, *, streamed: bool) -> bytes:
        """Return the bytes of an answer without the request's secrets, nor any its errors name."""
        if holds_frames(body):
            return clean_frames(body, self._in_frame)
        clean = self.out_of_bytes(body)
        if not streamed:
            return self._piece(clean)
        return b"\n".join(self._line(line) for line in clean.split(b"\n"))

    def out_of_pieces(self, pieces: Iterable[bytes], *, streamed: bool) -> Iterator[bytes]:
        """Yield the bytes of a long answer without the request's secrets, nor any its errors name.

        Of a body that is no stream all that follows the word `error` is taken for a part of one:
        it is too long to be read as JSON.
        """
        following = iter(pieces)
        head = next(following, b"")
        pieces = chain((head,), following)
        if holds_frames(head):
            return frames_of(pieces, self._in_frame)
        spellings = [spelling.encode("utf-8", "surrogatepass") for spelling in self._stand_ins]
        clean = in_windows(pieces, spellings, self.out_of_bytes)
        if streamed:
            return in_lines(clean, self._long_line)
        return self._body(clean, is_object=head.lstrip().startswith(b"{"))

    def _body(self, pieces: Iterable[bytes], *, is_object: bool) -> Iterator[bytes]:
        """Yield a body with what it calls secrets cut, from where it may be an error."""
        is_error = not is_object
        for piece in between_members(pieces):
            is_error = is_error or b'"error"' in piece
            yield self._without_named(piece) if is_error else piece

    def _without_named(self, data: bytes) -> bytes:
        text = data.decode("utf-8", "surrogateescape")
        return cut_text(text, self._digest).encode("utf-8", "surrogateescape")

    def _long_line(self, line: bytes) -> bytes:
        """Return what `_line` does, without reading what is JSON of no error."""
        data = line.removeprefix(_DATA).strip()
        if b"error" in data or b"\\u" in data:  # Names may be spelled with escapes.
            return self._line(line)
        return line if data.startswith(b"{") and data.endswith(b"}") else self._line(line)

    def _out_of(self, value: Any) -> Any:
        match value:
            case str():
                return self.out_of_text(value)
            case dict():
                members = cast("JsonObject", value).items()
                return {self.out_of_text(name): self._out_of(member) for name, member in members}
            case list():
                return [self._out_of(item) for item in cast("list[Any]", value)]
            case _:
                return value

    def _in_frame(self, data: bytes, is_error: bool) -> bytes:
        """Return what a frame holds; an error, as binary streams have them, does not say it is."""
        clean = self.out_of_bytes(data)
        if not is_error:
            return self._piece(clean)
        try:
            error = read_bounded(clean)
        except MalformedJson:
            return self._broken_error(clean)
        cleaned = self.out_of_error(error)
        return clean if cleaned == error else jsontext.write(cleaned)

    def _line(self, line: bytes) -> bytes:
        """Return a line of an event stream, or one that is a value, which may hold an error."""
        if line.startswith(b"{"):
            return self._piece(line)
        if not line.startswith(_DATA):
            return line
        data = line.removeprefix(_DATA)
        clean = self._piece(data)
        return line if clean is data else _DATA + b" " + clean

    def _piece(self, data: bytes) -> bytes:
        """Return a JSON text that may be an error, the page of a proxy, or broken off."""
        try:
            value = read_bounded(data)
        except MalformedJson:
            return self._broken(data)
        if not _is_error(value):
            return data
        clean = self.out_of_error(value)
        return data if clean == value else jsontext.write(clean)

    def _broken(self, data: bytes) -> bytes:
        """Return what is no JSON; of an answer that broke off, what was said stays."""
        if data.lstrip().startswith(b"{") and not _ERROR.search(data):
            return self._without_beginning(data)
        return self._broken_error(data)

    def _broken_error(self, data: bytes) -> bytes:
        data = self._without_beginning(data)
        text = data.decode("utf-8", "surrogateescape")
        clean = self._without_short(cut_broken(text, self._digest))
        return data if clean == text else clean.encode("utf-8", "surrogateescape")

    def _without_beginning(self, data: bytes) -> bytes:
        """Return bytes without the beginning of a secret, amid which they may have broken off."""
        for spelling, mark in self._stand_ins.items():
            secret = spelling.encode("utf-8", "surrogatepass")
            start = max(0, len(data) - len(secret) + 1)
            while (start := data.find(secret[:_SHORTEST], start)) >= 0:
                if secret.startswith(data[start:]):
                    return data[:start] + mark.encode()
                start += 1
        return data


def credentials_of(
    headers: Mapping[str, str], target: str, body: bytes, wire: Wire, digest: Digest
) -> Credentials:
    """Return the secrets of a request: those of its headers, of its target's query, of its body."""
    secrets = [*_in_headers(headers), *_in_query(target)]
    with suppress(MalformedJson):
        secrets += secrets_of(read_bounded_object(body), wire)
    return Credentials(secrets, digest)


def _in_headers(headers: Mapping[str, str]) -> Iterator[str]:
    for name, value in headers.items():
        if not is_secret(name):
            continue
        if "cookie" in name.lower():
            yield from (pair.partition("=")[2].strip() for pair in value.split(";"))
        scheme, _, token = value.partition(" ")
        yield token.strip() or scheme
        yield from _SIGNED_BY.findall(token)
        if scheme.lower() == "basic":
            yield from _in_basic(token)


def _in_basic(token: str) -> Iterator[str]:
    """Yield the user with its password, and the password (RFC 7617)."""
    with suppress(binascii.Error, UnicodeDecodeError, ValueError):
        pair = base64.b64decode(token.strip()).decode()
        yield pair
        yield pair.partition(":")[2]


def _in_query(target: str) -> Iterator[str]:
    for name, value in parse_qsl(urlsplit(target).query):
        if is_secret_parameter(name):
            yield value


def _is_sought(secret: str) -> bool:
    return len(secret) >= _SHORTEST and not secret.startswith(PLACEHOLDER)


def _is_sought_in_errors(secret: str) -> bool:
    is_short = _SHORTEST_IN_ERRORS <= len(secret) < _SHORTEST
    return is_short and not secret.isalpha()


def _alone(secrets: Iterable[str]) -> re.Pattern[str] | None:
    """Return what matches one of these where it is no part of a longer word; None for none."""
    spelled = "|".join(map(re.escape, sorted(secrets)))
    return re.compile(rf"(?<![\w-])(?:{spelled})(?![\w-])") if spelled else None


def _spellings(secret: str) -> Iterator[str]:
    """Yield a text as it is, as JSON spells it, and as URLs do; each once."""
    in_json = json.dumps(secret, ensure_ascii=False)[1:-1]
    spelled = (secret, in_json, json.dumps(secret)[1:-1], in_json.replace("/", r"\/"))
    yield from dict.fromkeys((*spelled, quote(secret, safe="")))


def _is_error(value: Any) -> bool:
    """Whether a value is an error, not a message or an event of one."""
    if not isinstance(value, dict):
        return True
    members = cast("JsonObject", value)
    return members.get("type") == "error" or members.get("error") is not None
