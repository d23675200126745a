"""Whatever a file holds, the importer takes it in whole or says with a typed error what is wrong."""

import base64
import hashlib
import json
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

import onrecord
from onrecord.adapters.store import backend_of
from onrecord.adapters.transfer.export import export
from onrecord.adapters.transfer.importing import check
from onrecord.domain.content import Document
from onrecord.domain.errors import InvalidExport, OnrecordError
from onrecord.domain.header import body_digest, leaf, recorded_header
from tests.adapters.transfer.exports import KEY, taken_in
from tests.factories import answer, tool_call
from tests.search import examples

JUNK: list[Any] = [
    *(None, True, False, 0, 1, -1, 2, 2**31, 2**63, -(2**63) - 1, 10**400, 0.5, 1e308),
    *("", "0", "00", "zz", "\x1b[31m", "\ud83d", "é", "x" * 300, "00" * 16, "00" * 32),
    *("01932f1e-0000-7000-8000-000000000000", "{01932f1e-0000-7000-8000-000000000000}"),
    *("message.recorded", "conversation.started", "conversation.forked", "export", "end"),
    *([], {}, [[]], {"sha256": "00" * 32, "size": 3}, {"$onrecord.blob": "x"}, [None] * 3),
    {"$onrecord.blob": {"sha256": "00" * 32, "size": 3}},
]
NAMES = ("onrecord", "format", "key", "events", "version", "body", "blob", "data", "header", "x")


@cache
def whole() -> tuple[dict[str, Any], ...]:
    """The lines of an export with documents, calls, a fork's beginning and a lone surrogate."""
    with onrecord.connect("memory://") as store:
        chat = store.conversation(KEY)
        chat.instruct("Be kind.")
        chat.user("What is this?", documents=[b"%PDF-1.7"])
        chat.log.append(answer("half of \ud83d"), tool_call("call_1"))
        picture = Document(media_type="image/png", url="https://x.y/z")
        chat.tool_result("call_1", {"found": picture, "empty": b""})
        lines = b"".join(export(backend_of(store), chat.conversation_id, KEY))
    return tuple(json.loads(line) for line in lines.splitlines())


@st.composite
def changed(draw: st.DrawFn, value: Any) -> Any:
    """A value of JSON with one place of it changed, at any depth."""
    kind = draw(st.integers(0, 5))
    if isinstance(value, dict) and value and kind:
        members = dict(cast("dict[str, Any]", value))
        name = draw(st.sampled_from(sorted(members)))
        match kind:
            case 1:
                del members[name]
            case 2:
                members[draw(st.sampled_from(NAMES))] = draw(st.sampled_from(JUNK))
            case _:
                members[name] = draw(changed(members[name]))
        return members
    if isinstance(value, list) and value and kind:
        items = list(cast("list[Any]", value))
        at = draw(st.integers(0, len(items) - 1))
        return [*items[:at], draw(changed(items[at])), *items[at + 1 :]]
    if isinstance(value, str) and value.startswith('{"') and kind:
        return json.dumps(draw(changed(json.loads(value))))
    return draw(st.sampled_from(JUNK))


@st.composite
def forged(draw: st.DrawFn) -> bytes:
    """A file with some lines changed, left out, repeated or moved, whose digests fit again."""
    lines = [dict(line) for line in whole()]
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(lines) - 1))
        match draw(st.integers(0, 7)):
            case 0:
                del lines[at]
            case 1:
                lines.insert(at, lines[draw(st.integers(0, len(lines) - 1))])
            case 2:
                lines.insert(at, draw(st.dictionaries(st.sampled_from(NAMES), st.just(1))))
            case _:
                lines[at] = draw(changed(lines[at]))
        if not lines:
            return b""
    return b"".join(sealed(lines, resealed=draw(st.booleans())))


def sealed(lines: list[Any], *, resealed: bool) -> Iterator[bytes]:
    """The lines as bytes; each digest and leaf, and the last line, made to fit where that can be."""
    running = hashlib.sha256()
    for count, line in enumerate(lines):
        match line:
            case {"onrecord": "end"} if resealed:
                written = {**line, "lines": count, "sha256": running.hexdigest()}
            case {**members} if resealed:
                written = fitted(cast("dict[str, Any]", members))
            case _:
                written = line
        data = json.dumps(written).encode() + b"\n"
        running.update(data)
        yield data


def fitted(line: dict[str, Any]) -> dict[str, Any]:
    with suppress(Exception):  # What is not to be hashed stays as it is.
        header = line["header"].encode()
        digest = body_digest(bytes.fromhex(line["salt"]), line["body"].encode())
        stamped = recorded_header(header, line["version"], line["position"], line["recorded_at"])
        return line | {"digest": digest.hex(), "leaf": leaf(stamped, digest).hex()}
    return line


def must_be_taken_or_refused(data: bytes) -> None:
    with TemporaryDirectory() as folder, onrecord.connect("memory://") as store:
        path = Path(folder) / "chat.jsonl"
        path.write_bytes(data)
        try:
            check(path)
            done = taken_in(store, path)
        except OnrecordError as exc:
            assert list(store.conversations()) == [], "half of it was recorded"
            assert "\x1b" not in str(exc)
            return
        assert store.verify().faults == ()
        chat = store.get(done.key)
        assert [listed.key for listed in store.conversations()] == [done.key]
        assert len(list(chat.log.read())) == done.events
        assert list(export(backend_of(store), chat.conversation_id, done.key))


def test_the_whole_file_is_taken_in() -> None:
    must_be_taken_or_refused(b"".join(sealed(list(whole()), resealed=True)))


@examples(4000)
@given(forged())
def test_a_forged_file_is_taken_in_whole_or_refused(data: bytes) -> None:
    must_be_taken_or_refused(data)


@examples(2000)
@given(st.data())
def test_damaged_bytes_are_taken_in_whole_or_refused(data: st.DataObject) -> None:
    damaged = bytearray(b"".join(sealed(list(whole()), resealed=True)))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(damaged) - 1))
        match data.draw(st.integers(0, 3)):
            case 0:
                damaged[at] = data.draw(st.integers(0, 255))
            case 1:
                del damaged[at : at + data.draw(st.integers(1, 40))]
            case 2:
                damaged[at:at] = data.draw(st.binary(max_size=8))
            case _:
                damaged[at:at] = damaged[data.draw(st.integers(0, at)) : at][:200]
    must_be_taken_or_refused(bytes(damaged))


def places() -> Iterator[tuple[int, str]]:
    for at, line in enumerate(whole()):
        for name in line:
            yield at, name


@pytest.mark.search
@pytest.mark.parametrize(("at", "name"), list(places()))
def test_no_member_of_another_kind_gets_through(at: int, name: str) -> None:
    """Each member of each line, by each kind of junk: what is not refused changes nothing."""
    for junk in JUNK:
        lines = [dict(line) for line in whole()]
        lines[at][name] = junk
        for resealed in (False, True):
            must_be_taken_or_refused(b"".join(sealed(lines, resealed=resealed)))


def test_a_file_whose_first_line_names_another_key_than_its_first_event_is_refused() -> None:
    first, *rest = (dict(line) for line in whole())
    first["key"] = "another"
    data = b"".join(sealed([first, *rest], resealed=True))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "chat.jsonl"
        path.write_bytes(data)
        with pytest.raises(InvalidExport, match="key"):
            check(path)


def test_a_file_in_which_two_events_have_one_id_keeps_no_key(tmp_path: Path) -> None:
    lines = [dict(line) for line in whole()]
    of_events = [line for line in lines if "header" in line]
    event_id = json.loads(of_events[1]["header"])["event"]
    for line in of_events[2:]:
        line["header"] = line["header"].replace(json.loads(line["header"])["event"], event_id)
    bad, good = tmp_path / "bad.jsonl", tmp_path / "good.jsonl"
    bad.write_bytes(b"".join(sealed(lines, resealed=True)))
    good.write_bytes(b"".join(sealed(list(whole()), resealed=True)))
    with onrecord.connect("memory://") as store:
        with pytest.raises(InvalidExport, match="version 3 has the id of an event before it"):
            taken_in(store, bad)
        assert backend_of(store).find(store.tenant, KEY) is None
        assert taken_in(store, good).recorded


def test_a_format_that_is_not_known_is_shown_only_where_it_is_a_number(tmp_path: Path) -> None:
    for number, shown in (
        (2, "format 2"),
        ("\x1b[31m", "not of its kind"),
        (True, "not of its kind"),
    ):
        first, *rest = (dict(line) for line in whole())
        path = tmp_path / "chat.jsonl"
        path.write_bytes(b"".join(sealed([first | {"format": number}, *rest], resealed=True)))
        with pytest.raises(InvalidExport, match=shown):
            check(path)


def test_a_piece_may_be_spelled_in_base64_alone() -> None:
    lines = [dict(line) for line in whole()]
    at = next(number for number, line in enumerate(lines) if line.get("data"))
    lines[at]["data"] = base64.b64decode(lines[at]["data"]).decode("latin-1") + "\n"
    must_be_taken_or_refused(b"".join(sealed(lines, resealed=True)))
