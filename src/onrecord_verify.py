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
from itertools import product
from pathlib import Path
from typing import Any, BinaryIO, Final

Line = dict[str, Any]
LONGEST_LINE: Final = 256 << 20
MALFORMED: Final = (LookupError, RuntimeError, TypeError, ValueError, AttributeError, struct.error)
REFERENCE: Final = re.compile(rb'\{"(?:sha256|\$onrecord\.blob)":"([0-9a-f]{64})","size":')
"""How a body refers to a document, or to a long string that was moved out of it."""


class NotProved(Exception):
    """The bundle does not hold: on which line, and why."""


def must(holds: bool, why: str) -> None:
    """Refuse what does not hold."""
    if not holds:
        raise NotProved(why)


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
    data = base64.b64decode(encoded)
    known = hashlib.sha256(name.encode() + b"\n" + data).digest()[:4]
    if data[:1] != b"\x01" or len(data) != 33 or key_id != known.hex():
        raise ValueError("a public key is written NAME+ID+KEY, and its id is that of name and key")
    return name, known, data[1:]


def signed_text(note: str, keys: Sequence[str]) -> tuple[str, str]:
    """Return the text of a note, and which of the keys signed it."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    text, _, signatures = note.rpartition("\n\n")
    for line, key in product(signatures.splitlines(), keys):
        name, key_id, public = key_of(key)
        data = base64.b64decode(line.rpartition(" ")[2], validate=True)
        if not line.startswith(f"— {name} ") or data[:4] != key_id:
            continue
        try:
            Ed25519PublicKey.from_public_bytes(public).verify(data[4:], f"{text}\n".encode())
        except InvalidSignature:
            raise NotProved("the signature is not of this checkpoint") from None
        return text, key
    raise NotProved("the checkpoint is signed by no key that was given")


# 3. The bundle, line by line. A few hashes stay in memory, and a conversation's documents by digest.


class Stream:
    """The conversation that is read, or the erasure `of` one."""

    def __init__(self, name: str, of: str = "", key: str | None = None, erased: str = "") -> None:
        """Begin before its first event."""
        self.name, self.of, self.key = name, of, key
        self.is_erased, self.is_cut = bool(erased), False
        self.version = self.position = self.recorded_at = 0
        self.shown, self.unused = set[str](), set[str]()


class Pieces:
    """A document, or a request as it was sent, as far as its pieces came."""

    def __init__(self, name: str, sha256: str, size: int) -> None:
        """Begin before the first piece of the bytes that have a digest and a size."""
        self.name, self.sha256, self.size, self.start = name, sha256, size, 0
        self.digest = hashlib.sha256()

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


class Bundle:
    """What was read so far."""

    def __init__(self, keys: Sequence[str]) -> None:
        """Begin with the keys that are trusted; where there are none, the file's own are taken."""
        self.keys, self.own_keys, self.signers = keys, list[str](), set[str]()
        self.log, self.tenant, self.scope, self.partial = "", "", Line(), False
        self.trees: dict[int, tuple[int, bytes]] = {}
        self.sealed: list[str] = []
        self.stream, self.last, self.erased = Stream(""), "", ""
        self.document: Pieces | None = None
        self.request: Pieces | None = None
        self.counts, self.digest = Counter[str](), hashlib.sha256()
        self.is_whole = False

    def take(self, data: bytes) -> None:
        """Check the next line."""
        must(not self.is_whole, "something follows the last line")
        line = json.loads(data)
        text = json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n"
        must(text.encode("utf-8", "backslashreplace") == data, "the line is not canonical, or cut")
        kind = " ".join(line)
        must(kind in LINES, "the line is of no known kind")
        must(("format" in line) == (not self.counts["lines"]), "the file begins otherwise")
        must(self.request is None or "request" in line, "a request is left out")
        must(self.document is None or "blob" in line, "a piece of a document is left out")
        LINES[kind](self, line)
        self.digest.update(data)
        self.counts["lines"] += 1

    def begin(self, line: Line) -> None:
        """Take which log the file is of, and what it is about."""
        must((line["onrecord"], line["format"]) == ("evidence", 1), "the format is not known")
        self.log, self.scope, self.partial = line["log"], line["scope"], line["partial"]
        self.tenant = self.scope.get("tenant", "")
        must(" ".join(self.scope) in ("conversation", "tenant since until"), "the scope is unknown")

    def public_key(self, line: Line) -> None:
        """Take a key of the file's own, which proves no more than that the file fits together."""
        self.own_keys.append(line["public_key"])

    def checkpoint(self, line: Line) -> None:
        """Check that a checkpoint is signed, of this log, and goes on from the one before."""
        must(not self.stream.name, "a checkpoint stands behind events")
        text, signer = signed_text(line["checkpoint"], self.keys or self.own_keys)
        origin, size_text, root_text, incarnation, sealed_at = text.split("\n")
        shard, size = int(origin.rpartition("/")[2]), int(size_text)
        must(origin == f"onrecord.log/{self.log}/{shard}", "the checkpoint is of another log")
        root, proof = (
            base64.b64decode(root_text, validate=True),
            [*map(bytes.fromhex, line["consistency"])],
        )
        old, old_root = self.trees.get(shard, (0, b""))
        goes_on = roots_of(old, size, proof, old_root) == (old_root, root) if old else not proof
        must(goes_on, "the checkpoint does not go on from the one before")
        self.trees[shard] = size, root
        self.signers.add(signer)
        self.sealed.append(f"{size} events of shard {shard}, {sealed_at}, {incarnation}")

    def erasure(self, line: Line) -> None:
        """Begin what operators recorded of an erasure; the conversation follows."""
        self.end_stream()
        must(self.erased in ("", line["of"]), "a conversation that was erased is left out")
        self.stream = Stream(line["erasure"], line["of"])

    def conversation(self, line: Line) -> None:
        """Begin a conversation."""
        self.end_stream()
        name = line["conversation"]
        must(self.erased in ("", name), "a conversation that was erased is left out")
        must(name > self.last, "the conversations are not in the order of their ids")
        must(self.scope.get("conversation", name) == name, "the file is about another one")
        self.stream = Stream(name, key=line["key"], erased=self.erased)
        self.erased, self.last = "", name
        self.counts["conversations"] += 1

    def end_stream(self) -> None:
        """Check what must hold where the events of a conversation or an erasure end."""
        stream = self.stream
        must(not stream.unused, "a document belongs to no event")
        if stream.name and not stream.is_cut:
            must(stream.version > 0, "all events of a conversation or an erasure are left out")
            since, until = self.scope.get("since") or 0, self.scope.get("until") or float("inf")
            is_in = bool(stream.of) or since <= stream.recorded_at < until
            must(is_in, "the last event of a conversation is not of the period")

    def event(self, line: Line) -> None:
        """Check that the bytes of an event and its place are in the signed tree."""
        stream = self.stream
        must(bool(stream.name) and not stream.is_cut, "an event stands where none belongs")
        header, salt, body = line["header"].encode("ascii"), line["salt"], line.get("body")
        if body is not None:
            body = body.encode()
        elif "body_base64" in line:
            body = base64.b64decode(line["body_base64"], validate=True)
        digest, leaf = bytes.fromhex(line["digest"]), bytes.fromhex(line["leaf"])
        must((salt is None) == (body is None), "body and salt are erased together, or not at all")
        if body is not None:
            salted = hashlib.sha256(bytes.fromhex(salt) + body).digest()
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
        self.counts["events"] += 1
        self.content(json.loads(header), body)

    def content(self, header: Line, body: bytes | None) -> None:
        """Check that what an event says fits what stands around it."""
        stream, kind = self.stream, header["type"]
        must(header["conversation"] == stream.name, "it is an event of another conversation")
        if stream.of:
            self.operators_event(kind, json.loads(body or b""))
            return
        self.tenant = self.tenant or header["tenant"]
        must(header["tenant"] == self.tenant, "it is an event of another tenant")
        if body is None:
            must(stream.is_erased, "it has no content, and no erasure says why")
            must(not stream.unused and stream.key is None, "what was erased has more than headers")
            self.counts["erased"] += 1
            return
        said, is_first = json.loads(body), stream.version == 1
        key = said["key"] if is_first and kind == "conversation.started" else None
        must(not is_first or stream.key == key, "the key is another")
        must(all(each.encode() in body for each in stream.unused), "a document is of no event")
        stream.unused.clear()
        references = {each.decode() for each in REFERENCE.findall(body)}
        self.counts["unshown"] += len(references - stream.shown)
        if kind == "request.sent":
            template = said["template"]
            self.request = Pieces(header["event"], template["sha256"], template["size"])

    def operators_event(self, kind: str, said: Line) -> None:
        """Check that an erasure was intended, by whom and why, and then done."""
        step = "intended" if self.stream.version == 1 else "completed"
        must(kind == f"erasure.{step}", "it is no event of an erasure")
        must(said["conversation_id"] == self.stream.of, "another conversation was erased")
        self.erased = self.stream.of
        self.counts["operators"] += 1

    def blob(self, line: Line) -> None:
        """Take a piece of a document; the next event refers to it by its digest."""
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

    def sent(self, line: Line) -> None:
        """Take a piece of a request as it was sent; the event before it holds the digest."""
        request = self.request
        if request is None or request.name != line["request"]:
            raise NotProved("no event before it tells of this request")
        if "missing" in line:
            must(line["missing"] is True and request.start == 0, "the request is cut")
        elif not request.take(line):
            return
        self.counts["missing" if "missing" in line else "requests"] += 1
        self.request = None

    def unsealed(self, line: Line) -> None:
        """Take how many events were left out here, since no checkpoint covered them."""
        is_open = bool(self.stream.name) and not self.stream.is_cut
        must(self.partial and is_open, "nothing may be left out here")
        self.stream.is_cut = True
        self.counts["unsealed"] += int(line["unsealed"])

    def end(self, line: Line) -> None:
        """Check the count and the digest of all lines before the last one."""
        known = "end", self.counts["lines"], self.digest.hexdigest()
        must(tuple(line.values()) == known, "a line was changed or left out")
        self.end_stream()
        is_there = "tenant" in self.scope or self.counts["conversations"] == 1
        must(is_there and not self.erased, "a conversation is left out")
        self.is_whole = True


LINES: Final = {  # What checks a line, by its members in their order.
    "onrecord format log incarnation scope partial": Bundle.begin,
    "public_key": Bundle.public_key,
    "checkpoint consistency": Bundle.checkpoint,
    "erasure of": Bundle.erasure,
    "conversation key": Bundle.conversation,
    "version shard position recorded_at header salt body digest leaf proof": Bundle.event,
    "version shard position recorded_at header salt body_base64 digest leaf proof": Bundle.event,
    "blob size start data": Bundle.blob,
    "request size start data": Bundle.sent,
    "request missing": Bundle.sent,
    "unsealed": Bundle.unsealed,
    "onrecord lines sha256": Bundle.end,
}


def verified(file: BinaryIO, keys: Sequence[str]) -> Bundle:
    """Read a bundle to its end; NotProved, with the line, for the first thing that does not hold."""
    bundle = Bundle(keys)
    while data := file.readline(LONGEST_LINE):
        try:
            bundle.take(data)
        except (NotProved, *MALFORMED) as error:
            # The words of others may hold what was said in the conversation.
            why = error if isinstance(error, NotProved) else "the line is malformed"
            raise NotProved(f"line {bundle.counts['lines'] + 1}: {why}") from None
    must(bundle.is_whole, f"line {bundle.counts['lines'] + 1}: the file was cut")
    return bundle


PROVED: Final = """\
The file is whole: {c[lines]} lines about {about}, of the log {b.log}.
Sealed: {sealed}. Each checkpoint goes on from the one before. Signed by {signers}.
{c[conversations]} conversations, {c[events]} events: each is in a signed tree as it was recorded, each conversation from
version 1 on without a gap. {c[erased]} events were erased; {c[operators]} events of operators say who did so, and why.
{c[documents]} documents and {c[requests]} requests as they were sent (secrets cut) have the digests that events hold.
Not shown: {c[missing]} requests whose parts are gone, {c[unshown]} documents, {c[unsealed]} events that were not sealed.

Not proved: that nothing was recorded behind the last version that is shown; that there are no other conversations;
that all that happened was recorded, and happened as it was recorded. Times are those of the log's clock.
Whoever holds the private key can sign another log. Who kept a checkpoint notices if what it seals is changed."""
KEY: Final = "a public key that you trust, NAME+ID+KEY, from elsewhere; more than one may be given"
UNPINNED: Final = """
NO KEY WAS GIVEN. The file's own key proves nothing but itself: anybody can make one, and a file for it. Get the
public key from somebody whom you trust, and give it with --key."""


def findings(bundle: Bundle) -> str:
    """Return what a bundle proves, in plain words, and what it does not."""
    about = " ".join(f"{name} {value}" for name, value in bundle.scope.items())
    sealed, signers = "; ".join(bundle.sealed), ", ".join(sorted(bundle.signers))
    proved = PROVED.format(about=about, sealed=sealed, signers=signers, b=bundle, c=bundle.counts)
    return proved if bundle.keys else proved + UNPINNED


def main() -> None:
    """Check a file: exit code 0 where it holds, 1 where not, 2 for wrong usage, 3 without a key."""
    parser = argparse.ArgumentParser("onrecord-verify", description="Check an evidence bundle.")
    parser.add_argument("file", help="the bundle; `-`: standard input")
    parser.add_argument("--key", action="append", default=[], metavar="VKEY", help=KEY)
    parser.add_argument("--version", action="version", version="onrecord-verify, format 1")
    options = parser.parse_args()
    try:
        _ = [key_of(each) for each in options.key]
        with sys.stdin.buffer if options.file == "-" else Path(options.file).open("rb") as file:
            print(findings(verified(file, options.key)))
    except NotProved as error:
        sys.exit(f"NOT PROVED: {error}")
    except (ModuleNotFoundError, OSError, ValueError) as error:
        parser.error(f"{error}")
    sys.exit(0 if options.key else 3)


if __name__ == "__main__":
    main()
