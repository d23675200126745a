"""Recorded traffic of Anthropic's API: every answer of every file, as the bytes that came.

The recordings are no part of this repository: ONRECORD_WIRE_CORPUS names their folder.
"""

import base64
import gzip
import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

JsonObject = dict[str, Any]

ROOT = Path(__file__).parents[2]
CORPUS = Path(os.environ.get("ONRECORD_WIRE_CORPUS") or ROOT.parent / "shared" / "wire")
MISSING = f"no recorded traffic in {CORPUS}: set ONRECORD_WIRE_CORPUS to the folder that holds it"

_OURS = b"anthropic.com/v1/messages"
_GZIP = b"\x1f\x8b"
_KNOWN: dict[str, str] = json.loads((Path(__file__).parent / "known.json").read_text())


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request, if it was recorded too, and the body of its answer."""

    status: int
    body: bytes
    is_stream: bool
    request: JsonObject | None = None


def is_there() -> bool:
    """Whether there is a folder, or one was asked for: then it is a fault if it holds nothing."""
    return CORPUS.is_dir() or "ONRECORD_WIRE_CORPUS" in os.environ


def below(*patterns: str) -> list[str]:
    """The recordings that match a pattern, by their names below the folder."""
    paths = {path for pattern in patterns for path in CORPUS.glob(pattern) if path.is_file()}
    names = sorted(str(path.relative_to(CORPUS)) for path in paths)
    return [name for name in names if not why_none(name)]


def origin(name: str) -> str:
    """The name under which the bytes of a file were first recorded, if anything is known of them."""
    return _KNOWN.get(hashlib.sha256((CORPUS / name).read_bytes()).hexdigest()[:16], name)


@cache
def why_none(name: str) -> str:
    """Why a file is no recording of traffic; empty if it is one."""
    data = (CORPUS / name).read_bytes()
    if not data.strip():
        return "it is empty"
    if not name.endswith(".json"):
        return _cut(data)
    try:
        held: Any = json.loads(data)
    except ValueError as error:
        return f"it is no JSON: {error}"
    match held:
        case {"interactions": []} | []:
            return "it holds no call"
        case {"interactions": list()}:
            calls = cast("list[Any]", held["interactions"])
            return next((why for call in calls if (why := _lacking(call))), "")
        case dict() | list():
            return ""
        case _:
            return "it holds neither calls nor an answer"


def _lacking(call: Any) -> str:
    match call:
        case {"request": {"uri": _, "body": _}, "response": {"status": _, "body": body}}:
            return _cut(body.encode()) if call["response"].get("body_kind") == "sse" else ""
        case _:
            return "a call in it lacks its request, or its response"


def _cut(stream: bytes) -> str:
    """Why a stream is none: its last line broke off. Some were made by hand, without a last brace."""
    last = stream.rstrip().rpartition(b"\n")[2].strip()
    told = last.removeprefix(b"data:").strip()
    if told.startswith(b"{") and not any(map(_is_json, (told, told + b"}"))):
        return "its stream is cut amid a line"
    return ""


def _is_json(text: bytes) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def sent_body(response: JsonObject) -> tuple[bytes, bool]:
    """The body of a recorded answer, unpacked, and whether it is a stream."""
    body, kind = response["body"], response.get("body_kind")
    if kind == "base64":
        data = base64.b64decode(body)
        data = gzip.decompress(data) if data.startswith(_GZIP) else data
        return data, not data.lstrip().startswith((b"{", b"["))
    if isinstance(body, str) and kind != "json":
        return body.encode(), True
    return json.dumps(body).encode(), False


def error_of(body: bytes) -> Any:
    """What an error says: JSON, or else its text."""
    try:
        return json.loads(body)
    except ValueError:
        return body.decode(errors="replace")


def files() -> list[str]:
    """The recordings of this API, by their names below the folder.

    A conversation that went from one provider to another lies with the other one's recordings.
    """
    mixed = (name for name in below("*/*/*.json") if _OURS in (CORPUS / name).read_bytes())
    return sorted({*below("anthropic/*/*"), *mixed})


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
    return [Exchange(400 if "error" in recorded else 200, path.read_bytes(), False)]


def streams(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Lines of data as streams, each up to its message_stop; the last one may lack it."""
    body = b""
    for line in filter(None, lines):
        kind: str = json.loads(line)["type"]
        body += b"event: %s\ndata: %s\n\n" % (kind.encode(), line)
        if kind == "message_stop":
            yield body
            body = b""
    if body:
        yield body


def snapshot(one: JsonObject) -> Exchange:
    return exchange(one["response"]["status_code"], one["response"], one["request"]["body"])


def cassette(one: JsonObject) -> Exchange:
    response, sent = one["response"], one["request"]["body"]
    request: JsonObject = json.loads(sent) if isinstance(sent, str) else sent
    return exchange(response["status"], response, request)


def exchange(status: int, response: JsonObject, request: JsonObject) -> Exchange:
    body, is_stream = sent_body(response)
    return Exchange(status, body, is_stream, request)


def is_messages(request: JsonObject) -> bool:
    uri = str(request["uri"]).partition("?")[0]
    return "anthropic.com" in uri and uri.endswith("/v1/messages")
