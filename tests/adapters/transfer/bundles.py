"""Logs that are sealed, evidence bundles of them, and bundles that were changed afterwards."""

import hashlib
import io
import json
import random
from base64 import b64decode
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

import onrecord_verify
from onrecord.adapters.recording.spool import Spool
from onrecord.adapters.seals.places import Folder
from onrecord.adapters.seals.proofs import LogProofs
from onrecord.adapters.seals.sealing import Sealer
from onrecord.adapters.seals.signing import new_key
from onrecord.adapters.store import Store
from onrecord.adapters.transfer.evidence import Evidence, Scope, ends_of
from onrecord.domain.events import RequestSent
from onrecord.domain.header import body_digest, leaf, recorded_header
from onrecord.domain.log import Backend
from onrecord.domain.request_template import BlobSpan, ContentSpan, LiteralSpan, Template
from onrecord.domain.seals.checkpoint import key_name_of, log_id_of
from tests.factories import TENANT

KEY = "support/4711"
DOCUMENT = b"%PDF the waybill"
BODY = b'{"messages":["Where is it?"],"more":%PDF the waybill}'

Line = dict[str, Any]

_IN_HEX = ("conversation", "digest", "leaf", "proof", "salt")


@dataclass
class Sealed:
    """A store whose log is sealed in a folder."""

    store: Store
    backend: Backend
    folder: Path

    def __post_init__(self) -> None:
        self.log_id = log_id_of(self.backend.digest)
        self.key = new_key(key_name_of(self.log_id))

    @property
    def vkey(self) -> str:
        return str(self.key.public)

    def seal(self) -> None:
        Sealer(self.backend, self.key, [Folder(self.folder)]).seal()

    def proofs(self) -> LogProofs:
        return LogProofs(Folder(self.folder), self.log_id, [self.key.public])

    def id_of(self, key: str = KEY) -> UUID:
        return self.store.conversation(key).conversation_id

    def evidence(self, scope: Scope | None = None, *, partial: bool = False) -> bytes:
        scope = scope or Scope(self.store.tenant, self.id_of())
        bundle = Evidence(self.backend, self.proofs(), scope, ends_of(self.backend), partial)
        bundle.must_be_sealed()
        return b"".join(bundle.lines())


def sealed_store(backend: Backend, folder: Path) -> Sealed:
    """A store on a backend, for the tenant of the tests; nothing is in it."""
    spool = Spool(folder / "spool")
    store = Store(backend, "a store", spool=spool, tenant=TENANT, actor="ana")
    return Sealed(store, backend, folder / "seals")


def talk(sealed: Sealed) -> None:
    """A conversation with a document and a request, sealed in between, another one, and one that was forgotten."""
    chat, gone = sealed.store.conversation(KEY), sealed.store.conversation("gone")
    chat.instruct("Be kind.")
    gone.user("Forget me.", documents=[b"a secret"])
    sealed.seal()
    chat.user("Where is it?", documents=[DOCUMENT])
    ask(sealed)
    chat.user("Thank you.")
    sealed.seal()
    sealed.store.conversation("other").user("Something else.")
    sealed.store.forget("gone", reason="asked for", actor="eve")
    sealed.seal()


def ask(sealed: Sealed) -> None:
    """A request that is made of literal text, of what an event says, and of a document."""
    chat = sealed.store.conversation(KEY)
    (prompt,) = (event for event in chat.events() if event.type == "message.recorded")
    body = json.loads(prompt.body or b"")
    blob = next(block["blob"] for block in body["content"] if block["kind"] == "document")
    spans = (
        LiteralSpan(text='{"messages":['),
        ContentSpan(event=prompt.event_id, pointer="/content/0/text"),
        LiteralSpan(text='],"more":'),
        BlobSpan(blob=blob),
        LiteralSpan(text="}"),
    )
    template = Template(spans=spans, sha256=hashlib.sha256(BODY).hexdigest(), size=len(BODY))
    chat.log.append(RequestSent(api="gemini", endpoint="/", template=template))


def check(data: bytes, *keys: str) -> onrecord_verify.Bundle:
    """What the verifier finds; NotProved where it does not hold."""
    return onrecord_verify.verified(io.BytesIO(data), keys)


def lines_of(data: bytes) -> list[Line]:
    return [json.loads(line) for line in data.splitlines()]


def closed(lines: list[Line]) -> bytes:
    """Write lines, the last one made to fit the others."""
    return ended([_written(line) for line in lines[:-1]])


def ended(lines: list[bytes]) -> bytes:
    """Put an end behind lines that fits them."""
    written = b"".join(lines)
    sha256 = hashlib.sha256(written).hexdigest()
    return written + _written({"onrecord": "end", "lines": len(lines), "sha256": sha256})


def flipped(data: bytes, key: str, count: int) -> None:
    """Change one bit of a bundle at a time, random ones: each is noticed."""
    chance, bundle = random.Random(19), bytearray(data)
    for _ in range(count):
        place, bit = chance.randrange(len(bundle)), 1 << chance.randrange(8)
        bundle[place] ^= bit
        with pytest.raises(onrecord_verify.NotProved):
            check(bytes(bundle), key)
        bundle[place] ^= bit
    check(bytes(bundle), key)


def flipped_under_a_new_end(data: bytes, key: str, count: int) -> None:
    """Change one bit of the lines with proofs or keys, and make the end fit: each is noticed.

    Whoever changes a bit computes the end anew: only what means the same bytes is as good.
    """
    lines = data.splitlines(keepends=True)
    places = [at for at, line in enumerate(lines) if b'"proof":' in line or b'"key":' in line]
    chance = random.Random(19)
    for _ in range(count):
        at = chance.choice(places)
        line = bytearray(lines[at])
        line[chance.randrange(len(line) - 1)] ^= 1 << chance.randrange(8)
        if _meaning(bytes(line)) == _meaning(lines[at]):
            continue
        with pytest.raises(onrecord_verify.NotProved, match=r"line [0-9]+: "):
            check(ended([*lines[:at], bytes(line), *lines[at + 1 : -1]]), key)


def changed(data: bytes, where: Callable[[Line], bool], change: Callable[[Line], Line]) -> bytes:
    """The bundle with the first line that fits changed, and an end that fits again."""
    lines = lines_of(data)
    at = next(at for at, line in enumerate(lines) if where(line))
    lines[at] = {**lines[at], **change(lines[at])}
    return closed(lines)


def rehashed(line: Line, **members: Any) -> Line:
    """An event's line with other members, its digest and its leaf made anew."""
    line = {**line, **members}
    if line["body"] is not None:
        digest = body_digest(bytes.fromhex(line["salt"]), line["body"].encode())
        line["digest"] = digest.hex()
    place = line["version"], line["position"], line["recorded_at"]
    header = recorded_header(line["header"].encode(), *place)
    line["leaf"] = leaf(header, bytes.fromhex(line["digest"])).hex()
    return line


def _meaning(line: bytes) -> object:
    """What a line says: digits in hex of either case, and base64 that ends in other unused bits, say the same."""
    try:
        members = json.loads(line)
        body = b64decode(members.pop("body_base64", ""), validate=True)
    except ValueError:
        return None
    in_hex = {name: json.dumps(members.pop(name, None)).lower() for name in _IN_HEX}
    return members, body, in_hex


def _written(line: Line) -> bytes:
    return json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
