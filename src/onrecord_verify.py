"""onrecord-verify: checks an evidence bundle of Onrecord without Onrecord, its database or its word.

One file, to be read from top to bottom. It needs Python 3.11 and, for signatures, the library
`cryptography`. docs/format.md of Onrecord, "The evidence bundle", says what stands in a line.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import re
import struct
import sys
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, Final
from uuid import UUID

Line = dict[str, Any]
MALFORMED: Final = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RuntimeError,
    TypeError,
    ValueError,
)
LONGEST_LINE: Final = 2 << 20
LONGEST_EVENT: Final = 64 << 20
REFERENCE: Final = re.compile(rb'\{"(?:sha256|\$onrecord\.blob)":"([0-9a-f]{64})","size":')
"""How a body refers to a document, or to a long string that was moved out of it."""
PART: Final = re.compile(rb'"(?:event|request)":"([0-9a-f-]{36})"')
"""How the template of a request refers to an event, or to an earlier request."""


class NotProved(Exception):
    """The bundle does not hold: on which line, and why."""


def must(holds: bool, why: str) -> None:
    """Refuse what does not hold."""
    if not holds:
        raise NotProved(why)


def counted(count: int, noun: str) -> str:
    """Return a count and its noun."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def rfc3339(microseconds: int) -> str:
    """Return a time in microseconds since 1970-01-01 UTC as RFC 3339 has it."""
    time = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)
    return time.isoformat(timespec="microseconds").replace("+00:00", "Z")


def marked(what: str, *ids: str, number: bytes = b"") -> str:
    """Return the id of an erasure or of the operators' stream, as docs/format.md makes it."""
    data = b"".join((f"onrecord {what}".encode(), *(UUID(each).bytes for each in ids), number))
    text = str(UUID(bytes=b"ONRC" + hashlib.sha256(data).digest()[4:16], version=5))
    return f"{text[:14]}8{text[15:]}"


# 1. The Merkle tree of RFC 9162, 2.1. A proof has the lowest hash first.


def node(left: bytes, right: bytes) -> bytes:
    """Return the hash above two others."""
    return hashlib.sha256(b"\x01" + left + right).digest()


def root_of(leaf: bytes, index: int, size: int, proof: list[bytes]) -> bytes:
    """Return the root that a proof of inclusion leads to; ValueError for one of another length."""
    if size == 1:
        () = proof
        return leaf
    *lower, sibling = proof
    left = 1 << (size - 1).bit_length() - 1  # The largest power of two below the size.
    if index < left:
        return node(root_of(leaf, index, left, lower), sibling)
    return node(sibling, root_of(leaf, index - left, size - left, lower))


def roots_of(old: int, size: int, proof: list[bytes], known: bytes | None) -> tuple[bytes, bytes]:
    """Return both roots that a proof of consistency leads to; `known` is the older, at the left edge."""
    if old == size:
        (root,) = proof if known is None else [*proof, known]
        return root, root
    *lower, sibling = proof
    left = 1 << (size - 1).bit_length() - 1
    if old <= left:
        older, newer = roots_of(old, left, lower, known)
        return older, node(newer, sibling)
    older, newer = roots_of(old - left, size - left, lower, None)
    return node(sibling, older), node(sibling, newer)


# 2. Keys and signed notes, as C2SP and Go's note package have them.


def key_of(text: str) -> tuple[str, bytes, bytes]:
    """Return name, id and bytes of an Ed25519 key that is written NAME+ID+KEY."""
    name, key_id, encoded = (*text.split("+", 2), "", "")[:3]
    data = base64.b64decode(encoded, validate=True) if encoded.isascii() else b""
    known = hashlib.sha256(name.encode() + b"\n" + data).digest()[:4]
    if data[:1] != b"\x01" or len(data) != 33 or key_id != known.hex():
        raise ValueError("a public key is written NAME+ID+KEY, and its id is that of name and key")
    return name, known, data[1:]


def signed_text(note: str, log: str, keys: Sequence[str]) -> tuple[str, str]:
    """Return the text of a note, and which of the keys signed it: a key bears the name of its log."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    text, _, signatures = note.rpartition("\n\n")
    for line, key in product(signatures.splitlines(), keys):
        name, key_id, public = key_of(key)
        data = base64.b64decode(line.rpartition(" ")[2], validate=True)
        is_named = name == f"onrecord.log/{log}" and line.startswith(f"— {name} ")
        if not is_named or data[:4] != key_id:
            continue
        try:
            Ed25519PublicKey.from_public_bytes(public).verify(data[4:], f"{text}\n".encode())
        except InvalidSignature:
            raise NotProved("the signature is not of this checkpoint") from None
        return text, key
    raise NotProved("the checkpoint is signed by no key of this log that was given")


# 3. The bundle, line by line. A few hashes stay in memory, and a conversation's documents by digest.


class Stream:
    """The conversation that is read, or the erasure `of` one."""

    def __init__(self, name: str, of: str = "", key: str | None = None) -> None:
        """Begin before its first event."""
        self.name, self.of, self.key, self.is_cut = name, of, key, False
        self.version = self.position = self.recorded_at = 0
        self.shown, self.unused = set[str](), set[str]()


class Pieces:
    """A document, or a request as it was sent, as far as its pieces came."""

    def __init__(self, name: str, sha256: str, size: int) -> None:
        """Begin before the first piece of the bytes that have a digest and a size."""
        self.name, self.sha256, self.size, self.start = name, sha256, size, 0
        self.digest, self.parts = hashlib.sha256(), set[str]()

    def take(self, line: Line) -> bool:
        """Take a piece; return whether it was the last, and all are the bytes of the digest."""
        must((line["size"], line["start"]) == (self.size, self.start), "it is not the next piece")
        data = base64.b64decode(line["data"], validate=True)
        must(bool(data) or self.size == 0, "the piece is empty")
        self.digest.update(data)
        self.start += len(data)
        is_whole = (self.start, self.digest.hexdigest()) == (self.size, self.sha256)
        must(is_whole or self.start < self.size, "the bytes are not those of the digest")
        return is_whole


TYPES: Final = {  # A line has the members below in their order, each of its type, and nothing else.
    "N": "(?:0|[1-9][0-9]{0,18})",
    "ID": '"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"',
    "HASH": '"[0-9a-f]{64}"',
    "HASHES": r'\[(?:"[0-9a-f]{64}"(?:,"[0-9a-f]{64}"){0,127})?\]',
    "SALT": '"[0-9a-f]{32}"',
    "DATA": '"[A-Za-z0-9+/]*+={0,2}"',
    "TEXT": r'"[^"\\\x00-\x1f]*+(?:\\.[^"\\\x00-\x1f]*+)*+"',
}
EVENT: Final = '"version":N,"shard":N,"position":N,"recorded_at":N,"header":TEXT,%s,"digest":HASH,"leaf":HASH,"proof":HASHES'
PIECE: Final = '"size":N,"start":N,"data":DATA'
SCOPE: Final = r'\{"conversation":ID\}|\{"tenant":ID,"since":(?:N|null),"until":(?:N|null)\}'
BEGIN: Final = f'"onrecord":"evidence","format":1,"log":ID,"incarnation":ID,"scope":(?:{SCOPE}),"partial":(?:true|false)'


class Bundle:
    """What was read so far."""

    def __init__(self, keys: Sequence[str]) -> None:
        """Begin with the keys that are trusted; where there are none, the file's own are taken."""
        self.keys, self.own_keys, self.signers = keys, list[str](), set[str]()
        self.log, self.tenant, self.scope, self.partial = "", "", Line(), False
        self.trees, self.key = dict[int, tuple[int, bytes]](), ""
        self.sealed, self.operators = list[str](), list[str]()
        self.erasures, self.erased, self.completed = list[str](), "", (0, 0, 0)
        self.gone, self.missing = set[str](), list[tuple[str, set[str]]]()
        self.stream, self.last = Stream(""), ""
        self.document: Pieces | None = None
        self.request: Pieces | None = None
        self.counts, self.digest = Counter[str](), hashlib.sha256()
        self.is_whole = False

    def take(self, data: bytes) -> None:
        """Check the next line: its members and their types first, before it is read as JSON."""
        must(not self.is_whole, "something follows the last line")
        text = data.decode()
        check = next((check for shape, check in SHAPES if shape.fullmatch(text)), None)
        if check is None:
            raise NotProved("the line is of no known kind, or cut")
        line = json.loads(text)
        must(("format" in line) == (not self.counts["lines"]), "the file begins otherwise")
        must(self.request is None or "request" in line, "a request is left out")
        must(self.document is None or "blob" in line, "a piece of a document is left out")
        check(self, line)
        self.digest.update(data)
        self.counts["lines"] += 1

    def _begin(self, line: Line) -> None:
        self.log, self.scope, self.partial = line["log"], line["scope"], line["partial"]
        self.tenant = self.scope.get("tenant", "")
        _ = [rfc3339(each) for each in self.scope.values() if isinstance(each, int)]

    def _public_key(self, line: Line) -> None:
        self.own_keys.append(line["public_key"])

    def _checkpoint(self, line: Line) -> None:
        must(not self.stream.name, "a checkpoint stands behind events")
        text, signer = signed_text(line["checkpoint"], self.log, self.keys or self.own_keys)
        origin, size_text, root_text, _, sealed_at = text.split("\n")
        shard, size = int(origin.rpartition("/")[2]), int(size_text)
        must(origin == f"onrecord.log/{self.log}/{shard}", "the checkpoint is of another log")
        root = base64.b64decode(root_text, validate=True)
        proof = [*map(bytes.fromhex, line["consistency"])]
        old, old_root = self.trees.get(shard, (0, b""))
        goes_on = roots_of(old, size, proof, old_root) == (old_root, root) if old else not proof
        must(goes_on, "the checkpoint does not go on from the one before")
        self.trees[shard] = size, root
        self.signers.add(signer)
        self.sealed.append(f"{counted(size, 'event')} of shard {shard}, {sealed_at}")

    def _erasure(self, line: Line) -> None:
        self._end_stream()
        must(self.erased in ("", line["of"]), "a conversation that was erased is left out")
        must(line["erasure"] not in self.erasures, "an erasure is shown twice")
        self.stream, self.erased = Stream(line["erasure"], line["of"]), line["of"]
        self.erasures.append(line["erasure"])

    def _conversation(self, line: Line) -> None:
        self._end_stream()
        name = line["conversation"]
        must(self.erased in ("", name), "a conversation that was erased is left out")
        must(name > self.last, "the conversations are not in the order of their ids")
        must(self.scope.get("conversation", name) == name, "the file is about another one")
        self.completed = self.completed if self.erased else (0, 0, 0)
        self.stream, self.erased, self.last = Stream(name, key=line["key"]), "", name
        self.counts["conversations"] += 1
        self.erasures.clear()

    # Check what must hold where the events of a conversation or an erasure end.
    def _end_stream(self) -> None:
        stream = self.stream
        must(not stream.unused, "a document belongs to no event")
        is_told = stream.version > 0 or not stream.name or (stream.is_cut and stream.key is None)
        must(is_told, "all events of a conversation or an erasure are left out")
        since, until = self.scope.get("since") or 0, self.scope.get("until") or float("inf")
        is_in = (stream.is_cut or since <= stream.recorded_at) and stream.recorded_at < until
        must(is_in or not stream.name or bool(stream.of), "the last event is not of the period")

    # Check that the bytes of an event and its place are in the signed tree.
    def _event(self, line: Line) -> None:
        stream = self.stream
        must(bool(stream.name) and not stream.is_cut, "an event stands where none belongs")
        header, body = line["header"].encode("ascii"), line.get("body")
        body = None if body is None else body.encode()
        if "body_base64" in line:
            body = base64.b64decode(line["body_base64"], validate=True)
        digest, leaf = bytes.fromhex(line["digest"]), bytes.fromhex(line["leaf"])
        if body is not None:
            salted = hashlib.sha256(bytes.fromhex(line["salt"]) + body).digest()
            must(salted == digest, "the digest is not that of salt and body")
        place = line["version"], line["position"], line["recorded_at"]
        committed = hashlib.sha256(b"\x00" + header + struct.pack(">qqq", *place) + digest).digest()
        must(committed == leaf, "the leaf is not that of header, place and digest")
        size, root = self.trees.get(line["shard"], (0, b""))
        must(stream.position < line["position"] <= size, "it is out of order, or not sealed")
        proved = root_of(leaf, line["position"] - 1, size, [*map(bytes.fromhex, line["proof"])])
        must(proved == root, "the proof does not lead to the signed root")
        must(line["version"] == stream.version + 1, "a version is left out, or out of order")
        stream.version, stream.position, stream.recorded_at = place
        self._content(json.loads(header), body, line["shard"])

    # Check that what an event says fits what stands around it.
    def _content(self, header: Line, body: bytes | None, shard: int) -> None:
        stream, kind = self.stream, header["type"]
        must(header["conversation"] == stream.name, "it is an event of another conversation")
        if stream.of:
            self._operators_event(header, json.loads(body or b""), shard)
            return
        self.tenant = self.tenant or header["tenant"]
        must(header["tenant"] == self.tenant, "it is an event of another tenant")
        self.counts["events"] += 1
        if body is None:
            left, of_shard, completed_at = self.completed
            is_erased = left > 0 and shard == of_shard and stream.position < completed_at
            must(is_erased, "it has no content, and no completed erasure says why")
            self.completed = left - 1, of_shard, completed_at
            must(not stream.unused and stream.key is None, "what was erased has more than headers")
            self.gone.add(header["event"])
            self.counts["erased"] += 1
            return
        said, is_first = json.loads(body), stream.version == 1
        key = said["key"] if is_first and kind == "conversation.started" else None
        must(not is_first or stream.key == key, "the key is another")
        self.key = self.key or key or ""
        must(all(each.encode() in body for each in stream.unused), "a document is of no event")
        stream.unused.clear()
        references = {each.decode() for each in REFERENCE.findall(body)}
        self.counts["unshown"] += len(references - stream.shown)
        if kind == "request.sent":
            template = said["template"]
            self.request = Pieces(header["event"], template["sha256"], template["size"])
            self.request.parts = {each.decode() for each in PART.findall(body)}

    # Check that an erasure was intended, by whom and why, and what became of it.
    def _operators_event(self, header: Line, said: Line, shard: int) -> None:
        stream, kind, tenant = self.stream, header["type"], said["tenant"]
        self.tenant = self.tenant or tenant
        must(said["conversation_id"] == stream.of, "another conversation was erased")
        is_ours = marked("operators", tenant) == header["tenant"] and tenant == self.tenant
        must(is_ours, "it is an erasure of another tenant")
        self.counts["operators"] += 1
        if stream.version == 1 and kind == "erasure.intended":
            number = said.get("number", 0).to_bytes(8)
            is_known = stream.name == marked("erasure", tenant, stream.of, number=number)
            must(is_known, "it is no erasure of this conversation")
            why = f"{said['actor']}, {rfc3339(said['at'])}: {said['reason']}"
            self.operators.append(f"Erasure of {stream.of} intended by {why}")
        elif stream.version == 2 and kind == "erasure.completed":
            self.completed = int(said["events"]) + self.completed[0], shard, stream.position
            self.operators[-1] += f" (completed: {counted(said['events'], 'event')})"
        else:
            is_refusal = stream.version == 2 and kind == "erasure.refused"
            must(is_refusal, "it is no event of an erasure")
            self.operators[-1] += " (refused, since a hold was on it)"

    def _blob(self, line: Line) -> None:
        stream, name = self.stream, line["blob"]
        is_open = bool(stream.name) and not stream.of and name not in stream.shown
        must(is_open, "a document stands where none belongs")
        self.document = self.document or Pieces(name, name, line["size"])
        must(self.document.name == name, "a piece of a document is left out")
        if self.document.take(line):
            self.document = None
            stream.shown.add(name)
            stream.unused.add(name)
            self.counts["documents"] += 1

    # Take a piece of a request as it was sent; the event before it holds the digest.
    def _sent(self, line: Line) -> None:
        request = self.request
        if request is None or request.name != line["request"]:
            raise NotProved("no event before it tells of this request")
        if "missing" in line:
            must(request.start == 0, "the request is cut")
            self.missing.append((request.name, request.parts))
        elif request.take(line):
            self.counts["requests"] += 1
        else:
            return
        self.request = None

    def _unsealed(self, line: Line) -> None:
        is_open = bool(self.stream.name) and not self.stream.is_cut
        must(self.partial and is_open and line["unsealed"] > 0, "nothing may be left out here")
        self.stream.is_cut = True
        self.counts["unsealed"] += line["unsealed"]

    def _end(self, line: Line) -> None:
        known = "end", self.counts["lines"], self.digest.hexdigest()
        must(tuple(line.values()) == known, "a line was changed or left out")
        self._end_stream()
        is_there = "tenant" in self.scope or self.counts["conversations"] == 1
        must(is_there and not self.erased, "a conversation is left out")
        must(self.counts["events"] > 0, "the file shows no event of a conversation")
        for request, parts in self.missing:
            is_erased = not parts.isdisjoint(self.gone)
            self.gone.update([request] if is_erased else [])
            self.counts["missing" if is_erased else "unexplained"] += 1
        self.is_whole = True

    LINES: ClassVar[Line] = {
        EVENT % '"salt":SALT,"body":TEXT': _event,
        EVENT % '"salt":SALT,"body_base64":DATA': _event,
        EVENT % '"salt":null,"body":null': _event,
        BEGIN: _begin,
        '"public_key":TEXT': _public_key,
        '"checkpoint":TEXT,"consistency":HASHES': _checkpoint,
        '"erasure":ID,"of":ID': _erasure,
        '"conversation":ID,"key":(?:TEXT|null)': _conversation,
        f'"blob":HASH,{PIECE}': _blob,
        f'"request":ID,{PIECE}': _sent,
        '"request":ID,"missing":true': _sent,
        '"unsealed":N': _unsealed,
        '"onrecord":"end","lines":N,"sha256":HASH': _end,
    }


SHAPES: Final = [
    (re.compile(r"\{" + re.sub("[A-Z]+", lambda name: TYPES[name[0]], shape) + r"\}\n"), check)
    for shape, check in Bundle.LINES.items()
]


def line_of(file: BinaryIO) -> bytes:
    """Return the next line; only that of an event may be long."""
    data = file.readline(LONGEST_LINE)
    if len(data) == LONGEST_LINE and data.startswith(b'{"version":'):
        data += file.readline(LONGEST_EVENT - len(data))
    return data


def verified(file: BinaryIO, keys: Sequence[str]) -> Bundle:
    """Read a bundle to its end; NotProved, with the line, for the first thing that does not hold."""
    bundle = Bundle(keys)
    while data := line_of(file):
        try:
            bundle.take(data)
        except (
            NotProved,
            struct.error,
            *MALFORMED,
        ) as error:  # The words of others may hold what was said.
            why = error if isinstance(error, NotProved) else "the line is malformed"
            raise NotProved(f"line {bundle.counts['lines'] + 1}: {why}") from None
    must(bundle.is_whole, f"line {bundle.counts['lines'] + 1}: the file was cut")
    return bundle


PROVED: Final = """\
The file is whole: {lines} about {about}, of the log {log}.
Sealed: {sealed}. Each checkpoint goes on from the one before. Signed by {signers}.
{conversations}, each from version 1 on without a gap. {events}, each in a signed tree as it was recorded.
{documents} and {requests}, as sent (secrets cut), have the digests that events hold. Erased: {erased}.
Operators: {operators}.
NOT SHOWN: {missing} made of what was erased. {unexplained} whose parts are gone, as the file says: IT GIVES NO PROOF WHY.
{unshown} that events seem to refer to, without a proof why. PARTIAL: {unsealed} left out, since no checkpoint covers them.

Not proved: that nothing was recorded behind the last version that is shown; that there are no other conversations;
that all that happened was recorded, and happened as it was recorded. Times are those of the log's clock.
Whoever holds the private key can sign another log. Who kept a checkpoint notices if what it seals is changed."""
NOUNS: Final = "lines line conversations conversation events event erased event documents document requests request"
MORE: Final = " missing request unexplained request unshown document unsealed event"
KEY: Final = "a public key that you trust, NAME+ID+KEY, from elsewhere; more than one may be given"
UNPINNED: Final = """
NO KEY WAS GIVEN. The file's own key proves nothing but itself: anybody can make one, and a file for it. Get the
public key from somebody whom you trust, and give it with --key."""
EXIT_CODES: Final = """exit codes: 0, all holds; 1, something does not hold, or a request is not shown and the
file gives no proof why; 2, wrong usage; 3, no key was given."""


def findings(bundle: Bundle) -> str:
    """Return what a bundle proves, in plain words, and what it does not: nothing moves a terminal."""
    about = f"key {bundle.key} " * bool(bundle.key and "conversation" in bundle.scope)
    for name, value in bundle.scope.items():
        about += f"{name} {rfc3339(value) if isinstance(value, int) else value or 'open'} "
    named = (NOUNS + MORE).split()
    words = {
        name: counted(bundle.counts[name], noun)
        for name, noun in zip(named[::2], named[1::2], strict=True)
    }
    words |= {"about": about.strip(), "log": bundle.log, "sealed": "; ".join(bundle.sealed)}
    words |= {
        "signers": ", ".join(sorted(bundle.signers)),
        "operators": "; ".join(bundle.operators) or "none",
    }
    words = {name: "".join(map(escaped, text)) for name, text in words.items()}
    proved = PROVED.format(**words)
    return proved if bundle.keys else proved + UNPINNED


def escaped(character: str) -> str:
    """Return a character, or its escape where it would move a terminal or could not be seen."""
    return character if character.isprintable() else ascii(character)[1:-1]


def main() -> None:
    """Check a file, and leave with one of the exit codes."""
    parser = argparse.ArgumentParser(
        "onrecord-verify", description="Check an evidence bundle.", epilog=EXIT_CODES
    )
    parser.add_argument("file", help="the bundle; `-`: standard input")
    parser.add_argument("--key", action="append", default=[], metavar="VKEY", help=KEY)
    parser.add_argument("--version", action="version", version="onrecord-verify, format 1")
    options = parser.parse_args()
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        _ = [key_of(each) for each in options.key]
    except ValueError as error:
        parser.error(f"--key: {error}")
    try:
        with sys.stdin.buffer if options.file == "-" else Path(options.file).open("rb") as file:
            bundle = verified(file, options.key)
        print(findings(bundle))
    except NotProved as error:
        sys.exit(f"NOT PROVED: {error}")
    except ModuleNotFoundError:
        parser.error("the library `cryptography` is missing: python -m pip install cryptography")
    except OSError as error:
        parser.error(f"{options.file!a} cannot be read: {error.strerror}")
    sys.exit(1 if bundle.counts["unexplained"] else 0 if options.key else 3)


if __name__ == "__main__":
    main()
