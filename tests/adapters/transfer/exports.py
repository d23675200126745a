"""Conversations that are exported, and files of them that are changed afterwards."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

from onrecord.adapters.settings import NO_TENANT
from onrecord.adapters.store import Store, backend_of
from onrecord.adapters.transfer.export import export
from onrecord.adapters.transfer.importing import Imported, import_file
from onrecord.domain.blobs import spill
from onrecord.domain.content import Document, Native
from onrecord.domain.events import MessageRecorded, RequestSent
from onrecord.domain.header import leaf, recorded_header
from onrecord.domain.request_template import EncodedSpan, Template

KEY = "support/4711"
API = "anthropic-messages"
LARGE = bytes(range(256)) * 10_000


def talked(store: Store, key: str = KEY) -> UUID:
    """A conversation with a document of several pieces, a moved string and a lone surrogate."""
    chat = store.conversation(key)
    chat.instruct("Be kind.")
    chat.user("What is this?", documents=[LARGE])
    text, moved = spill({"type": "text", "odd": "\ud83d", "text": "x" * 100_000})
    for data in moved.values():
        backend_of(store).put_blob(NO_TENANT, chat.conversation_id, [data])
    block = Native(api=API, value=text)
    chat.log.append(MessageRecorded(role="assistant", content=(block,)))
    return chat.conversation_id


def asking(store: Store, origin: UUID) -> RequestSent:
    """A request that holds a document which the conversation's origin owns."""
    drafted = (event.event() for event in backend_of(store).read(origin))
    said = next(event for event in drafted if isinstance(event, MessageRecorded))
    document = next(block for block in said.content if isinstance(block, Document))
    assert document.blob is not None
    template = Template(spans=(EncodedSpan(blob=document.blob),), sha256="00" * 32, size=1)
    return RequestSent(api=API, endpoint="/v1/messages", template=template)


def written(store: Store, conversation_id: UUID, path: Path, key: str | None = KEY) -> Path:
    path.write_bytes(b"".join(export(backend_of(store), conversation_id, key)))
    return path


def taken_in(store: Store, path: Path, key: str | None = None) -> Imported:
    return import_file(backend_of(store), store.tenant, path, key=key)


def content_of(store: Store, conversation_id: UUID) -> list[tuple[object, ...]]:
    return [
        (e.version, e.exchange, e.event_id, e.type, e.header, e.salt, e.body, e.digest)
        for e in backend_of(store).read(conversation_id)
    ]


def blobs_in_file(path: Path) -> list[dict[str, Any]]:
    lines = (json.loads(line) for line in path.read_bytes().splitlines())
    return [line for line in lines if "blob" in line]


def as_newer(line: dict[str, Any]) -> dict[str, Any]:
    """The event under a name that this release does not know, its digest and leaf made anew."""
    header = line["header"].replace("message.recorded", "message.sung").encode()
    recorded = recorded_header(header, line["version"], line["position"], line["recorded_at"])
    anew = leaf(recorded, bytes.fromhex(line["digest"]))
    return {"header": header.decode(), "leaf": anew.hex()}


def rewritten(
    path: Path, version: int, change: Callable[[dict[str, Any]], dict[str, Any] | None]
) -> Path:
    """The file with the event at a version changed or left out; its last line fits again."""
    lines: list[dict[str, Any]] = []
    for data in path.read_bytes().splitlines():
        line = json.loads(data)
        changed = change(line) if line.get("version") == version else line
        lines += [] if changed is None else [changed]
    return closed(path, lines)


def dropped(path: Path, *places: int) -> Path:
    lines = [json.loads(data) for data in path.read_bytes().splitlines()]
    return closed(path, [line for at, line in enumerate(lines) if at not in places])


def closed(path: Path, lines: list[dict[str, Any]]) -> Path:
    """Write lines, the last one made to fit the others."""
    dumped = [json.dumps(line).encode() + b"\n" for line in lines[:-1]]
    digest = hashlib.sha256(b"".join(dumped)).hexdigest()
    end = {"onrecord": "end", "lines": len(dumped), "sha256": digest}
    path.write_bytes(b"".join(dumped) + json.dumps(end).encode() + b"\n")
    return path
