"""A request on its way out, whatever client sends it."""

from __future__ import annotations

from collections.abc import Generator, Mapping, MutableMapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from onrecord.adapters.capture.endpoints import endpoint_of
from onrecord.adapters.capture.wire import Kind

MARK: Final = "onrecord.request"
"""What a request is marked with that goes on for a turn: redirected, or sent anew."""

SPLICED: Final = "onrecord.spliced"
"""What a request is sent with: the body that its SDK made, and the one that goes in its place."""

_CALL: ContextVar[MutableMapping[str, Any] | None] = ContextVar("onrecord.call", default=None)


@dataclass(frozen=True, slots=True)
class Sending:
    """A request that is about to be sent; its `target` is the path and the query, as on the wire.

    `extensions` travel with it through redirects, renewed authentication, and retries where its
    client tells of them.
    """

    method: str
    target: str
    headers: Mapping[str, str]
    extensions: MutableMapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def path(self) -> str:
        """The path of its URL, as on the wire."""
        return self.target.partition("?")[0]

    @property
    def is_recorded(self) -> bool:
        """Whether something is recorded of it, or of what it is answered."""
        return self.kind != "none"

    @property
    def kind(self) -> Kind:
        """What it is for."""
        return "turn" if MARK in self.extensions else endpoint_of(self.method, self.path).kind

    @property
    def is_turn(self) -> bool:
        """Whether it is a turn of a conversation, or goes on for one."""
        return self.kind == "turn"


@contextmanager
def one_call() -> Generator[None]:
    """Say that all which is sent within are attempts of one request.

    For SDKs whose requests do not tell which attempt they are.
    """
    token = _CALL.set({})
    try:
        yield
    finally:
        _CALL.reset(token)


def extensions_of_call(own: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Return what travels with a request: its own, unless its client told of the call."""
    call = _CALL.get()
    return own if call is None else call


def target_of(url: str) -> str:
    """Return the path and the query of a URL."""
    parts = urlsplit(url)
    return f"{parts.path}?{parts.query}" if parts.query else parts.path
