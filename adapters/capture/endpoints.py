"""Which of an API's endpoints are turns of a conversation, and which are none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final, Literal, TypeAlias

Kind: TypeAlias = Literal["turn", "answer", "later", "none"]
"""A turn is recorded; `answer` reads what an earlier turn was answered in the background; `later`
is answered by another call, one day; none is no conversation."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """What a request is for, and in which wire format; a batch is of several, and names none.

    `compacts` says of a turn that it asks for a summary of what it says, and for nothing else.
    """

    api: str
    kind: Kind
    compacts: bool = False


_NONE: Final = Endpoint(api="", kind="none")
_ANTHROPIC: Final = "anthropic-messages"
_CHAT: Final = "openai-chat"
_RESPONSES: Final = "openai-responses"

# Ends of paths, the longest first; `*` is one segment. Gateways put a prefix before them, and so
# does Azure: /openai/v1, or /openai/deployments/NAME (openai 3.52.0, lib/azure.py). Source: the
# paths in anthropic 2.11.0 and openai 3.52.0, resources/. What is not named here (count_tokens,
# /responses/input_tokens, /responses/*/cancel, embeddings, models, files, images, audio,
# moderations) passes through.
_ENDPOINTS: Final[tuple[tuple[str, str, Endpoint], ...]] = (
    ("POST", "v1/messages/batches", Endpoint(_ANTHROPIC, "later")),
    ("POST", "v1/messages", Endpoint(_ANTHROPIC, "turn")),
    ("POST", "chat/completions", Endpoint(_CHAT, "turn")),
    ("POST", "responses/compact", Endpoint(_RESPONSES, "turn", compacts=True)),
    ("POST", "responses", Endpoint(_RESPONSES, "turn")),
    ("GET", "responses/*", Endpoint(_RESPONSES, "answer")),
    ("POST", "batches", Endpoint("", "later")),
)


def endpoint_of(method: str, path: str) -> Endpoint:
    """Return what a request is for, by its method and the path of its URL, without the query."""
    segments = path.strip("/").split("/")
    for asked, end, found in _ENDPOINTS:
        tail = segments[-1 - end.count("/") :]
        if method == asked and _matches(tail, end.split("/")):
            return found
    return _NONE


def _matches(segments: Sequence[str], end: Sequence[str]) -> bool:
    return len(segments) == len(end) and all(map(fnmatchcase, segments, end))
