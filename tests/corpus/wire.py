"""Recorded traffic of Anthropic's API: every answer of every file, as the bytes that came.

The recordings are no part of this repository: ONRECORD_WIRE_CORPUS names their folder.
"""

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

JsonObject = dict[str, Any]

ROOT = Path(__file__).parents[2]
CORPUS = Path(os.environ.get("ONRECORD_WIRE_CORPUS") or ROOT.parent / "shared" / "wire")
MISSING = f"no recorded traffic in {CORPUS}: set ONRECORD_WIRE_CORPUS to the folder that holds it"

_OURS = b"anthropic.com/v1/messages"


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request, if it was recorded too, and the body of its answer."""

    status: int
    body: bytes
    is_stream: bool
    request: JsonObject | None = None


def is_there() -> bool:
    return CORPUS.is_dir()


def files() -> list[str]:
    """The recordings of this API, by their names below the folder.

    A conversation that went from one provider to another lies with the other one's recordings.
    """
    own = CORPUS.glob("anthropic/*/*")
    mixed = (path for path in CORPUS.glob("*/*/*.json") if _OURS in path.read_bytes())
    return sorted({str(path.relative_to(CORPUS)) for path in (*own, *mixed)})


def exchanges(name: str) -> list[Exchange]:
    """All answers of the Messages API in a file; none, if it recorded other endpoints."""
    path = CORPUS / name
    if name.endswith(".chunks.txt"):
        return [Exchange(200, body, True) for body in streams(path.read_bytes().splitlines())]
    if path.suffix in (".sse", ".txt"):
        # The fixtures end without the blank line that a service sends.
        return [Exchange(200, path.read_bytes() + b"\n\n", True)]
    recorded: Any = json.loads(path.read_bytes())
    if isinstance(recorded, list):
        return [snapshot(one) for one in cast("list[JsonObject]", recorded)]
    if "interactions" in recorded:
        return [cassette(one) for one in recorded["interactions"] if is_messages(one["request"])]
    return [Exchange(200, path.read_bytes(), False)]


def streams(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Lines of data as streams, each up to its message_stop."""
    body = b""
    for line in filter(None, lines):
        kind: str = json.loads(line)["type"]
        body += b"event: %s\ndata: %s\n\n" % (kind.encode(), line)
        if kind == "message_stop":
            yield body
            body = b""
    assert not body, "a stream without its last event"


def snapshot(one: JsonObject) -> Exchange:
    response = one["response"]
    return exchange(response["status_code"], response["body"], one["request"]["body"])


def cassette(one: JsonObject) -> Exchange:
    response, sent = one["response"], one["request"]["body"]
    request: JsonObject = json.loads(sent) if isinstance(sent, str) else sent
    return exchange(response["status"], response["body"], request)


def exchange(status: int, body: Any, request: JsonObject) -> Exchange:
    if isinstance(body, str):
        return Exchange(status, body.encode(), True, request)
    return Exchange(status, json.dumps(body).encode(), False, request)


def is_messages(request: JsonObject) -> bool:
    uri = str(request["uri"]).partition("?")[0]
    return "anthropic.com" in uri and uri.endswith("/v1/messages")
