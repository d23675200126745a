"""Requests that were rendered of late, kept in Redis: asked for again, they need no rendering.

What a request says is settled by its conversation's events up to a version, and by its recipe. Only
an erasure changes that later, so a request is good as long as the log's number of erasures is what
it was before it was rendered. A fork says what its origin says; it is not kept, for an import may
bring the origin later.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import struct
import time
from base64 import b64decode, b64encode
from collections.abc import Callable
from typing import Any, Final
from uuid import UUID

from onrecord import __version__
from onrecord.adapters.conversation.rendering import ask, recipe_of, sources_of
from onrecord.adapters.redis.connection import Command, Connection, Pace
from onrecord.adapters.redis.tails import Followed, opened, seal
from onrecord.adapters.storage.append import Proof
from onrecord.adapters.streams.lineage import LineSegment
from onrecord.domain import jsontext
from onrecord.domain.errors import MalformedJson
from onrecord.domain.request_template import Recipe
from onrecord.projections.apis.request import Options, Report, Request, Route
from onrecord.projections.history.history import Note
from onrecord.projections.matching.template import RenderedRequest

# A rendered request as bytes, and back: the same arguments, the same body, the same report.

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

    def spelled(value: object) -> dict[str, str]:
        if isinstance(value, bytes):
            return {mark: b64encode(value).decode()}
        raise TypeError(f"a request holds a {type(value).__name__}")

    members = {
        "arguments": dict(request),
        "body": None if request.is_body else dict(request.body),
        "notes": request.report.notes,
        "routes": request.report.routes,
    }
    try:
        text = json.dumps(
            [mark, members],
            default=spelled,
            ensure_ascii=False,
            allow_nan=False,
            separators=(",", ":"),
        )
    except (TypeError, ValueError, RecursionError) as exc:
        raise MalformedJson(f"a request that is not JSON: {exc}") from exc
    return text.encode(*_CODEC)


def read(data: bytes, options: Options) -> Request:
    """Return the request that `written` gave, with the options that it was asked for."""
    text = data.decode(*_CODEC)
    mark, members = json.loads(text)
    if text.count(mark) > 1:
        members = json.loads(text, object_hook=lambda value: _bytes_of(value, mark))[1]
    report = Report(
        tuple(Note(*note) for note in members["notes"]),
        tuple(Route(*route) for route in members["routes"]),
    )
    return Request(members["arguments"], options, report, members["body"])


def _bytes_of(value: dict[str, Any], mark: str) -> dict[str, Any] | bytes:
    return b64decode(value[mark]) if mark in value else value


KEPT_SECONDS: Final = 600
"""How long a conversation's requests stay after the first one was kept, however many follow: the
bound for what an erasure could not reach."""

LARGEST: Final = 1 << 20
"""The most bytes of a request that are kept: larger ones hold pictures, and seldom come again."""

MOST: Final = 8
"""How many requests of a conversation are kept: of its latest version, by few recipes."""

_ERASURES: Final = struct.Struct(">q")


def window_key(incarnation: UUID, conversation_id: UUID) -> str:
    """Return the key of what is kept of a conversation."""
    return f"onrecord:{incarnation}:window:{conversation_id}"


class HotWindows:
    """The requests of one tenant's conversations. Safe to share between threads."""

    def __init__(self, connection: Connection, backend: Followed, tenant: UUID) -> None:
        """Keep them in a Redis; all that is not found there comes from the backend."""
        self._connection = connection
        self._backend = backend
        self._tenant = tenant
        self._pace = Pace(connection.shown)

    def ask(
        self,
        conversation_id: UUID,
        version: int,
        options: Options,
        lineage: Callable[[], tuple[LineSegment, ...]],
    ) -> RenderedRequest:
        """Return the request of a conversation at a version; `lineage` tells what it is made of.

        It is what `rendering.ask` returns, and raises what that raises.
        """
        recipe = recipe_of(options, version)
        prove = self._backend.prover(self._tenant)
        if prove is None:  # The role is bound to another tenant.
            return ask(self._backend, lineage(), options)
        key = window_key(self._backend.incarnation(), conversation_id)
        field = self._field(recipe)
        answers = self._answers_to(("HGET", key, field), ("HLEN", key), ("PTTL", key))
        if answers is None:
            return ask(self._backend, lineage(), options)
        erasures = self._backend.erasures()
        sealed, *rest = answers
        request = _opened(prove, f"{key} {field}", sealed, erasures, options)
        if request is not None:
            return RenderedRequest(request, recipe, sources_of(self._backend, lineage, options))
        segments = lineage()
        fresh = ask(self._backend, segments, options)
        if all(segment.conversation_id == conversation_id for segment in segments):
            self._keep(prove, (key, field), fresh.request, erasures, *rest)
        return fresh

    def _answers_to(self, *commands: Command) -> list[Any] | None:
        """Return the answers, unless the Redis is of no use now, or of late was slow."""
        if not self._pace.lets_ask():
            return None
        began = time.monotonic()
        answers = self._connection.ask(*commands)
        if answers is not None:
            self._pace.took(time.monotonic() - began)
        return answers

    def _keep(
        self,
        prove: Proof,
        place: tuple[str, str],
        request: Request,
        erasures: int,
        count: int,
        left: int,
    ) -> None:
        """Keep a request beside as many that are `count` for the milliseconds `left`."""
        key, field = place
        try:
            value = _ERASURES.pack(erasures) + written(request)
        except MalformedJson:
            return
        sealed = seal(prove, f"{key} {field}", value)
        if len(sealed) > LARGEST:
            return
        keeps_more = count < MOST and left > 0
        empty: list[Command] = [] if keeps_more else [("UNLINK", key)]
        # Not for longer than the others: an erasure that could not reach them reaches none.
        ends = ("PEXPIRE", key, left if keeps_more else KEPT_SECONDS * 1000)
        self._connection.ask(*empty, ("HSET", key, field, sealed), ends)
        # Who erased it meanwhile deleted what was kept before.
        if self._backend.erasures() != erasures:
            self._connection.ask(("UNLINK", key))

    def _field(self, recipe: Recipe) -> str:
        parts = [FORMAT, __version__, str(self._tenant), recipe.model_dump(mode="json")]
        return hashlib.sha256(jsontext.write_canonical(parts)).hexdigest()


def _opened(
    prove: Proof, place: str, sealed: bytes | None, erasures: int, options: Options
) -> Request | None:
    value = None if sealed is None else opened(prove, place, sealed)
    if value is None or _ERASURES.unpack_from(value) != (erasures,):
        return None
    return read(value[_ERASURES.size :], options)
