"""Which of an API's endpoints are turns of a conversation, and which are none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Kind: TypeAlias = Literal["turn", "later", "none"]
"""A turn is recorded; `later` is answered by another call, one day; none is no conversation."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """What a request is for, and in which wire format."""

    api: str
    kind: Kind


_NONE: Final = Endpoint(api="", kind="none")
_ANTHROPIC: Final = "anthropic-messages"

# Ends of paths, since gateways put a prefix before them. Source: the paths in anthropic 2.11.0,
# resources/. What is not named here (models, files, skills, count_tokens) passes through.
_POSTED: Final[tuple[tuple[str, Endpoint], ...]] = (
    ("/v1/messages", Endpoint(_ANTHROPIC, "turn")),
    ("/v1/messages/batches", Endpoint(_ANTHROPIC, "later")),
    ("/v1/messages/count_tokens", Endpoint(_ANTHROPIC, "none")),
)


def endpoint_of(method: str, path: str) -> Endpoint:
    """Return what a request is for, by its method and the path of its URL, without the query."""
    if method != "POST":
        return _NONE
    stripped = path.rstrip("/")
    return next((found for end, found in _POSTED if stripped.endswith(end)), _NONE)
