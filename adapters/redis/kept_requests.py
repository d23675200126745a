"""A rendered request as bytes, and back: the same arguments, the same body, the same report."""

from __future__ import annotations

import json
import secrets
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any, Final

from onrecord.domain.errors import MalformedJson
from onrecord.projections.apis.request import Options, Request
from onrecord.projections.history.report import Note, Report, Route

FORMAT: Final = 1
"""The version of this form: what another release kept in another form is not to be found."""

# Halves of a surrogate pair that came apart stay apart: an escape would join them again.
_CODEC: Final = ("utf-8", "surrogatepass")


def written(request: Request) -> bytes:
    """Return a request as JSON, without its options: who asks for it has them.

    Where an SDK takes bytes, an object with one member stands for them, whose name is drawn anew.
    Raises MalformedJson for what is neither JSON nor bytes.
    """
    mark = secrets.token_hex(8)

    def spelled(held: object) -> dict[str, str]:
        if isinstance(held, bytes):
            return {mark: b64encode(held).decode()}
        raise TypeError(f"a request holds a {type(held).__name__}")

    told = {
        "arguments": dict(request),
        "body": None if _is_body(request) else dict(request.body),
        "notes": request.report.notes,
        "routes": request.report.routes,
    }
    try:
        text = json.dumps(
            [mark, told],
            default=spelled,
            ensure_ascii=False,
            allow_nan=False,
            separators=(",", ":"),
        )
    except (TypeError, ValueError, RecursionError) as exc:
        raise MalformedJson(f"a request that is not JSON: {exc}") from exc
    return text.encode(*_CODEC)


def read(kept: bytes, options: Options) -> Request:
    """Return the request that `written` gave, with the options that it was asked for."""
    text = kept.decode(*_CODEC)
    mark, told = json.loads(text)
    if text.count(mark) > 1:
        told = json.loads(text, object_hook=lambda held: _bytes_of(held, mark))[1]
    report = Report(
        tuple(Note(*note) for note in told["notes"]),
        tuple(Route(*route) for route in told["routes"]),
    )
    return Request(told["arguments"], options, report, told["body"])


def _is_body(request: Request) -> bool:
    """Whether the arguments are what the wire has."""
    body: Mapping[str, Any] = request.body
    return list(request) == list(body) and all(held is body[name] for name, held in request.items())


def _bytes_of(held: dict[str, Any], mark: str) -> dict[str, Any] | bytes:
    return b64decode(held[mark]) if mark in held else held
