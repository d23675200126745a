"""onrecord-verify: checks an evidence bundle of Onrecord without Onrecord, its database or its word.

One file, to be read from top to bottom. It needs Python 3.11 and, for signatures, the library
`cryptography`. docs/format.md of Onrecord, "The evidence bundle", says what stands in a line.
"""

import argparse
import base64
import hashlib
import json
import re
import struct
import sys
from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, Final
from uuid import UUID

Line = dict[str, Any]
LONGEST_LINE: Final = 64 << 20
REFERENCE: Final = re.compile(rb'\{"(?:sha256|\$onrecord\.blob)":"([0-9a-f]{64})","size":')


class NotProved(Exception):
    """The bundle does not hold: on which line, and why."""


def must(holds: object, why: str) -> None:
    """Refuse what does not hold."""
    if not holds:
        raise NotProved(why)


def rfc3339(microseconds: int) -> str:
    """Return a time in microseconds since 1970-01-01 UTC as RFC 3339 has it."""
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)).isoformat()


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
    if size == 1 and not proof:
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


def signed_text(note: str, log: str, keys: tuple[str, ...]) -> str:
    """Return the text of a note that one of the keys signed: a key bears the name of its log."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    text, _, signatures = note.rpartition("\n\n")
    for key in keys:
        name, key_id, public = key_of(key)
        for line in signatures.splitlines() if name == f"onrecord.log/{log}" else ():
            data = base64.b64decode(line.rpartition(" ")[2], validate=True)
            if not line.startswith(f"— {name} ") or data[:4] != key_id:
                continue
            try:
                Ed25519PublicKey.from_public_bytes(public).verify(data[4:], f"{text}\n".encode())
            except InvalidSignature:
                raise NotProved("the signature is not of this checkpoint") from None
            return text
    raise NotProved("the checkpoint is signed by no key of this log that was given")


# 3. The bundle, line by line. A few hashes stay in memory, and a conversation's documents by digest.
class _Stream:
    """The conversation that is read, or the erasure `of` one."""

    def __init__(self, name: str, of: str = "", key: str | None = None) -> None:
        self.name, self.of, self.key, self.is_cut = name, of, key, False
        self.version = self.position = self.recorded_at = 0
        self.shown, self.unused = set[str](), set[str]()


TYPES: Final = {  # A line has the members below in their order, each of its type, and nothing else.
    "N": "(?:0|[1-9][0-9]{0,18})",
    "ID": '"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"',
    "HEX": '"(?:[0-9a-f]{32}){1,2}"',
    "HASHES": r'\[(?:"[0-9a-f]{64}"(?:,"[0-9a-f]{64}"){0,127})?\]',
    "DATA": '"[A-Za-z0-9+/]*+={0,2}"',
    "TEXT": r'"[^"\\\x00-\x1f]*+(?:\\.[^"\\\x00-\x1f]*+)*+"',
}
BODY: Final = '"salt":HEX,"body":TEXT|"salt":HEX,"body_base64":DATA|"salt":null,"body":null'
EVENT: Final = f'"version":N,"shard":N,"position":N,"recorded_at":N,"header":TEXT,(?:{BODY}),"digest":HEX,"leaf":HEX,"proof":HASHES'
BEGIN: Final = r'"onrecord":"evidence","format":1,"log":ID,"incarnation":ID,"scope":(?:\{"conversation":ID\}|\{"tenant":ID,"since":(?:N|null),"until":(?:N|null)\}),"partial":(?:true|false)'


class Bundle:
    """What was read so far."""

    def __init__(self, keys: tuple[str, ...]) -> None:
        """Begin with the keys that are trusted."""
        self.keys, self.scope, self.partial, self.is_whole = keys, Line(), False, False
        self.log = self.tenant = self.about = self.last = self.erased = ""
        self.trees, self.sealed = dict[int, tuple[int, bytes]](), list[str]()
        self.operators, self.erasures, self.completed = list[str](), 0, (0, 0, 0)
        self.stream, self.blob, self.size, self.start = _Stream(""), "", 0, 0
        self.counts, self.digest, self.sha256 = Counter[str](), hashlib.sha256(), hashlib.sha256()

    def take(self, data: bytes) -> None:
        """Check the next line: its members and their types first, before it is read as JSON."""
        must(not self.is_whole, "something follows the last line")
        text = data.decode()
        check: Any = next((check for shape, check in SHAPES if shape.fullmatch(text)), None)
        must(check, "the line is of no known kind, or cut")
        line = json.loads(text)
        must(("format" in line) == (not self.counts["lines"]), "the file begins otherwise")
        must(self.start == self.size or "blob" in line, "a piece of a document is left out")
        check(self, line)
        self.digest.update(data)
        self.counts["lines"] += 1

    def _begin(self, line: Line) -> None:
        self.log, self.scope, self.partial = line["log"], line["scope"], line["partial"]
        self.tenant = self.scope.get("tenant", "")
        times = [(k, rfc3339(v) if isinstance(v, int) else v) for k, v in self.scope.items()]
        self.about = ", ".join(f"{name} {value or 'open'}" for name, value in times)

    def _public_key(self, line: Line) -> None:
        """Pass by a key that the file names: who wrote the file chose it, so it proves nothing."""

    def _checkpoint(self, line: Line) -> None:
        must(not self.stream.name, "a checkpoint stands behind events")
        text = signed_text(line["checkpoint"], self.log, self.keys)
        origin, size_text, root_text, _, sealed_at = text.split("\n")
        shard, size = int(origin.rpartition("/")[2]), int(size_text)
        must(origin == f"onrecord.log/{self.log}/{shard}", "the checkpoint is of another log")
        must(re.fullmatch("sealed [0-9TZ:.-]+", sealed_at), "the checkpoint tells no time")
        root = base64.b64decode(root_text, validate=True)
        proof = [*map(bytes.fromhex, line["consistency"])]
        old, old_root = self.trees.get(shard, (0, b""))
        goes_on = roots_of(old, size, proof, old_root) == (old_root, root) if old else not proof
        must(goes_on, "the checkpoint does not go on from the one before")
        self.trees[shard] = size, root
        self.sealed.append(f"events 1 to {size} of shard {shard}, {sealed_at}")

    def _erasure(self, line: Line) -> None:
        self._end_stream()
        must(self.erased in ("", line["of"]), "a conversation that was erased is left out")
        self.stream, self.erased = _Stream(line["erasure"], line["of"]), line["of"]
        self.erasures += 1

    def _conversation(self, line: Line) -> None:
        self._end_stream()
        name = line["conversation"]
        must(self.erased in ("", name), "a conversation that was erased is left out")
        must(name > self.last, "the conversations are not in the order of their ids")
        must(self.scope.get("conversation", name) == name, "the file is about another one")
        self.completed, self.erasures = self.completed if self.erased else (0, 0, 0), 0
        self.stream, self.erased, self.last = _Stream(name, key=line["key"]), "", name
        self.counts["conversations"] += 1

    def _end_stream(self) -> None:
        stream = self.stream  # Where its events end, this must hold.
        must(not stream.unused, "a document belongs to no event")
        if not stream.name:
            return
        must(stream.version or (stream.is_cut and stream.key is None), "its events are left out")
        since, until = self.scope.get("since") or 0, self.scope.get("until") or float("inf")
        is_in = (stream.is_cut or since <= stream.recorded_at) and stream.recorded_at < until
        must(is_in or stream.of, "the last event is not of the period")

    def _event(self, line: Line) -> None:
        stream = self.stream  # The bytes of an event and its place must be in the signed tree.
        must(stream.name and not stream.is_cut, "an event stands where none belongs")
        header, text = line["header"].encode("ascii"), line.get("body")
        body = None if text is None else text.encode()
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

    def _content(self, header: Line, body: bytes | None, shard: int) -> None:
        stream, kind = self.stream, header["type"]  # What it says must fit what is around it.
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
        if body is None or header["codec"] == "json+aes-256-gcm":
            must(not stream.unused and stream.key is None, "what is gone or encrypted is shown")
            self.counts["erased" if body is None else "encrypted"] += 1
            return
        said, is_first = json.loads(body), stream.version == 1
        key = said["key"] if is_first and kind == "conversation.started" else None
        must(not is_first or stream.key == key, "the key is another")
        self.about = f"key {key!r}, " * bool(key and "conversation" in self.scope) + self.about
        must(all(each.encode() in body for each in stream.unused), "a document is of no event")
        if kind == "request.sent":
            is_shown = said["template"]["sha256"] in stream.shown
            self.counts["requests" if is_shown else "unexplained"] += 1
        stream.unused.clear()
        self.counts["unshown"] += len({*map(bytes.decode, REFERENCE.findall(body))} - stream.shown)

    # Check that an erasure was intended, by whom and why, and what became of it.
    def _operators_event(self, header: Line, said: Line, shard: int) -> None:
        stream, kind, tenant = self.stream, header["type"], said["tenant"]
        self.tenant = self.tenant or tenant
        must(said["conversation_id"] == stream.of, "another conversation was erased")
        ours = marked("operators", self.tenant), self.tenant
        must((header["tenant"], tenant) == ours, "it is an erasure of another tenant")
        if stream.version == 1 and kind == "erasure.intended":
            known = marked("erasure", tenant, stream.of, number=(self.erasures - 1).to_bytes(8))
            must(stream.name == known, "it is no erasure of this conversation")
            why = f"by {said['actor']!r}, {rfc3339(said['at'])}: {said['reason']!r}"
            self.operators.append(f"Erasure of {stream.of} intended {why}")
        elif stream.version == 2 and kind == "erasure.completed":
            self.completed = int(said["events"]) + self.completed[0], shard, stream.position
            self.operators[-1] += f" (completed, events: {said['events']})"
        else:
            must((stream.version, kind) == (2, "erasure.refused"), "it is no event of an erasure")
            self.operators[-1] += " (refused, since a hold was on it)"

    def _blob(self, line: Line) -> None:
        stream, name = self.stream, line["blob"]
        is_new = stream.name and not stream.of and name not in stream.shown
        must(is_new, "a document stands where none belongs")
        if self.start == self.size:
            self.blob, self.size, self.start, self.sha256 = name, line["size"], 0, hashlib.sha256()
        known = self.blob, self.size, self.start
        must((name, line["size"], line["start"]) == known, "a piece of a document is left out")
        data = base64.b64decode(line["data"], validate=True)
        must(data or not self.size, "the piece is empty")
        self.sha256.update(data)
        self.start += len(data)
        if self.start < self.size:
            return
        whole = self.start, self.sha256.hexdigest()
        must(whole == (self.size, name), "the bytes are not those of the digest")
        self.counts["documents"] += 1
        stream.shown.add(name)
        stream.unused.add(name)

    def _unsealed(self, line: Line) -> None:
        is_open = self.partial and self.stream.name and not self.stream.is_cut
        must(is_open and line["unsealed"] > 0, "nothing may be left out here")
        self.stream.is_cut = True
        self.counts["unsealed"] += line["unsealed"]

    def _end(self, line: Line) -> None:
        known = "end", self.counts["lines"], self.digest.hexdigest()
        must(tuple(line.values()) == known, "a line was changed or left out")
        self._end_stream()
        must(not self.erased, "a conversation that was erased is left out")
        must(self.counts["events"] > 0, "the file shows no event of a conversation")
        self.is_whole = True

    LINES: ClassVar[Line] = {
        EVENT: _event,
        BEGIN: _begin,
        '"public_key":TEXT': _public_key,
        '"checkpoint":TEXT,"consistency":HASHES': _checkpoint,
        '"erasure":ID,"of":ID': _erasure,
        '"conversation":ID,"key":(?:TEXT|null)': _conversation,
        '"blob":HEX,"size":N,"start":N,"data":DATA': _blob,
        '"unsealed":N': _unsealed,
        '"onrecord":"end","lines":N,"sha256":HEX': _end,
    }


SHAPES: Final = [
    (re.compile(r"\{" + re.sub("[A-Z]+", lambda name: TYPES[name[0]], shape) + r"\}\n"), check)
    for shape, check in Bundle.LINES.items()
]


def verified(file: BinaryIO, keys: tuple[str, ...]) -> Bundle:
    """Read a bundle to its end; NotProved, with the line, for the first thing that does not hold."""
    bundle = Bundle(keys)
    while data := file.readline(LONGEST_LINE):
        try:
            bundle.take(data)
        except ImportError:
            raise
        except Exception as error:  # noqa: BLE001 - the words of others may hold what was said
            why = error if isinstance(error, NotProved) else "the line is malformed"
            raise NotProved(f"line {bundle.counts['lines'] + 1}: {why}") from None
    must(bundle.is_whole, f"line {bundle.counts['lines'] + 1}: the file was cut")
    return bundle


PROVED: Final = """\
The file is whole: {about}, of the log {log}.
Sealed: {sealed}. Each checkpoint goes on from the one before. Signed with {keys}.
Conversations: {conversations}, each from version 1 on without a gap. Events: {events}, each in a signed tree.
Documents, requests among them: {documents}. Their digests stand in events.
Requests as they were sent, with secrets cut: {requests}.
Events whose content was erased: {erased}.
Events that are encrypted: {encrypted}. Their bytes are proved, and not what they say.
Operators: {operators}.
Documents that events seem to refer to, and that are not shown: {unshown}. The file gives no proof why.
Events that are left out, since no checkpoint covers them: {unsealed}.

Not proved: that nothing was recorded behind the last version that is shown; that there are no other conversations;
that all that happened was recorded, and happened as it was recorded. Times are those of the log's clock.
Whoever holds the private key can sign another log. Who kept a checkpoint notices if what it seals is changed.

The file does not hold. Requests that were sent and are not shown: {unexplained}; it gives no proof why.
{verdict}"""
EXIT_CODES: Final = "Exit codes: 0, it holds; 1, not, or a request is not shown; 2, wrong usage."


def findings(bundle: Bundle) -> str:
    """Return what a bundle proves and what not: a line says something, and moves no terminal."""
    known = defaultdict[str, Any](int, bundle.counts, about=bundle.about, log=bundle.log)
    known |= {name: "; ".join(getattr(bundle, name)) for name in ("sealed", "keys", "operators")}
    known["verdict"] = "" if bundle.counts["unexplained"] else "The file holds."
    rows = (row for row in PROVED.split("\n") if all(known[n] for n in re.findall("{(.+?)}", row)))
    return "\n".join(rows).format_map(known)


def main() -> None:
    """Check a file, and leave with one of the exit codes."""
    parser = argparse.ArgumentParser("onrecord-verify", epilog=EXIT_CODES)
    parser.add_argument("file", help="the evidence bundle; `-`: standard input")
    parser.add_argument("--version", action="version", version="onrecord-verify, bundle format 1")
    parser.add_argument("--key", action="append", required=True, help="a public key that you trust")
    options = parser.parse_args()
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        _ = [key_of(each) for each in options.key]
        with sys.stdin.buffer if options.file == "-" else Path(options.file).open("rb") as file:
            bundle = verified(file, tuple(options.key))
        print(findings(bundle))
    except ValueError as error:
        parser.error(f"--key: {error}")
    except NotProved as error:
        sys.exit(f"NOT PROVED: {error}")
    except ModuleNotFoundError:
        parser.error("the library `cryptography` is missing; install it from the package index")
    except OSError as error:
        parser.error(f"{options.file!a} cannot be read: {error.strerror}")
    sys.exit(1 if bundle.counts["unexplained"] else 0)


if __name__ == "__main__":
    main()
