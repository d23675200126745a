"""What export writes, import takes in: byte for byte, once, or not at all."""

import hashlib
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hansard
from hansard.adapters.export import export
from hansard.adapters.exported import read_export
from hansard.adapters.importing import Imported, check, import_file
from hansard.adapters.store import NO_TENANT, Store
from hansard.domain.blobs import spill
from hansard.domain.content import Document, Native
from hansard.domain.errors import (
    IdempotencyMismatch,
    InvalidExport,
    InvalidInput,
)
from hansard.domain.events import Base64Span, MessageRecorded, RequestSent, Template
from hansard.domain.header import leaf, recorded_header
from hansard.domain.log import RecordedEvent

KEY = "support/4711"
API = "anthropic-messages"
LARGE = bytes(range(256)) * 10_000


@pytest.fixture
def store() -> Store:
    return hansard.connect("memory://")


@pytest.fixture
def other() -> Store:
    return hansard.connect("memory://")


def talked(store: Store, key: str = KEY) -> UUID:
    """A conversation with a document of several pieces, a moved string and a lone surrogate."""
    talk = store.conversation(key)
    talk.instruct("Be kind.")
    talk.user("What is this? \ud83d", documents=[LARGE])
    text, moved = spill({"type": "text", "text": "x" * 100_000})
    for data in moved.values():
        store.backend.put_blob(NO_TENANT, talk.conversation_id, [data])
    block = Native(api=API, value=text)
    talk.append(MessageRecorded(role="assistant", content=(block,)))
    return talk.conversation_id


def asking(store: Store, origin: UUID) -> RequestSent:
    """A request that holds a document which the conversation's origin owns."""
    drafted = (event.event() for event in store.backend.read(origin))
    said = next(event for event in drafted if isinstance(event, MessageRecorded))
    document = next(block for block in said.content if isinstance(block, Document))
    assert document.blob is not None
    template = Template(spans=(Base64Span(blob=document.blob),), sha256="00" * 32, size=1)
    return RequestSent(api=API, endpoint="/v1/messages", template=template)


def written(store: Store, conversation_id: UUID, path: Path, key: str | None = KEY) -> Path:
    path.write_bytes(b"".join(export(store.backend, conversation_id, key)))
    return path


def taken_in(store: Store, path: Path, key: str | None = None) -> Imported:
    return import_file(store.backend, store.tenant, path, key=key)


def content_of(store: Store, conversation_id: UUID) -> list[tuple[object, ...]]:
    return [
        (e.version, e.exchange, e.event_id, e.type, e.header, e.salt, e.body, e.digest)
        for e in store.backend.read(conversation_id)
    ]


def test_another_store_gets_the_same_events_and_documents(
    store: Store, other: Store, tmp_path: Path
) -> None:
    conversation_id = talked(store)
    path = written(store, conversation_id, tmp_path / "talk.jsonl")
    done = taken_in(other, path)
    assert done == Imported(KEY, conversation_id, events=4, recorded=4)
    assert content_of(other, conversation_id) == content_of(store, conversation_id)
    assert other.conversation(KEY).head() == store.conversation(KEY).head()
    again = written(other, conversation_id, tmp_path / "again.jsonl")
    assert blobs_in_file(again) == blobs_in_file(path)


def test_importing_twice_changes_nothing_and_says_so(
    store: Store, other: Store, tmp_path: Path
) -> None:
    conversation_id = talked(store)
    path = written(store, conversation_id, tmp_path / "talk.jsonl")
    taken_in(other, path)
    before = content_of(other, conversation_id)
    assert taken_in(other, path).recorded == 0
    assert taken_in(store, path).recorded == 0
    assert content_of(other, conversation_id) == before


def test_a_later_export_brings_only_what_is_new(store: Store, other: Store, tmp_path: Path) -> None:
    conversation_id = talked(store)
    taken_in(other, written(store, conversation_id, tmp_path / "first.jsonl"))
    store.conversation(KEY).user("And this?", documents=[LARGE[::-1]])
    done = taken_in(other, written(store, conversation_id, tmp_path / "second.jsonl"))
    assert done.recorded == 1
    assert content_of(other, conversation_id) == content_of(store, conversation_id)


def test_an_earlier_export_of_what_went_on_here_changes_nothing(
    store: Store, tmp_path: Path
) -> None:
    conversation_id = talked(store)
    path = written(store, conversation_id, tmp_path / "talk.jsonl")
    store.conversation(KEY).user("And then?")
    assert taken_in(store, path).recorded == 0


def test_a_long_conversation_comes_in_batches(store: Store, other: Store, tmp_path: Path) -> None:
    talk = store.conversation(KEY)
    for number in range(600):
        talk.user(f"prompt {number}")
    done = taken_in(other, written(store, talk.conversation_id, tmp_path / "talk.jsonl"))
    assert done.recorded == 601
    assert content_of(other, talk.conversation_id) == content_of(store, talk.conversation_id)


def test_progress_is_told_from_the_first_event_to_the_end(
    store: Store, other: Store, tmp_path: Path
) -> None:
    path = written(store, talked(store), tmp_path / "talk.jsonl")
    told: list[tuple[int, int]] = []
    import_file(
        other.backend, other.tenant, path, progress=lambda done, total: told.append((done, total))
    )
    assert told == [(done, 8) for done in range(1, 9)]


def test_a_key_that_another_conversation_has_is_refused(
    store: Store, other: Store, tmp_path: Path
) -> None:
    path = written(store, talked(store), tmp_path / "talk.jsonl")
    talked(other)
    with pytest.raises(InvalidInput, match="--as"):
        taken_in(other, path)


def test_another_key_may_be_given(store: Store, other: Store, tmp_path: Path) -> None:
    conversation_id = talked(store)
    path = written(store, conversation_id, tmp_path / "talk.jsonl")
    talked(other)
    assert taken_in(other, path, "support/4711 (old)").recorded == 4
    assert taken_in(other, path, "support/4711 (old)").recorded == 0
    assert {found.key for found in other.conversations()} == {KEY, "support/4711 (old)"}
    theirs, ours = content_of(other, conversation_id), content_of(store, conversation_id)
    assert theirs[1:] == ours[1:]


def test_the_same_store_does_not_take_a_conversation_twice(store: Store, tmp_path: Path) -> None:
    path = written(store, talked(store), tmp_path / "talk.jsonl")
    with pytest.raises(InvalidInput, match="already"):
        taken_in(store, path, "a copy")


def test_what_went_on_in_two_ways_is_refused(store: Store, other: Store, tmp_path: Path) -> None:
    conversation_id = talked(store)
    taken_in(other, written(store, conversation_id, tmp_path / "first.jsonl"))
    store.conversation(KEY).user("here")
    other.conversation(KEY).user("there")
    path = written(store, conversation_id, tmp_path / "second.jsonl")
    with pytest.raises(IdempotencyMismatch, match="version 5"):
        taken_in(other, path)


def test_a_forgotten_conversation_is_exported_as_commitments(store: Store, tmp_path: Path) -> None:
    conversation_id = talked(store)
    store.forget(KEY)
    path = written(store, conversation_id, tmp_path / "talk.jsonl", key=None)
    text = path.read_text(encoding="utf-8")
    assert "kind" not in text
    assert KEY not in text
    checked = check(path)
    assert (checked.beginning.events, checked.erased) == (4, 4)
    with pytest.raises(InvalidInput, match="forgotten"):
        taken_in(hansard.connect("memory://"), path)


def test_what_was_forgotten_here_does_not_come_back(store: Store, tmp_path: Path) -> None:
    path = written(store, talked(store), tmp_path / "talk.jsonl")
    store.forget(KEY)
    with pytest.raises(InvalidInput, match="forgotten here"):
        taken_in(store, path)


def test_an_event_of_a_newer_release_travels_as_it_is(
    store: Store, other: Store, tmp_path: Path
) -> None:
    conversation_id = talked(store)
    path = written(store, conversation_id, tmp_path / "talk.jsonl")
    newer = rewritten(path, 4, lambda line: line | as_newer(line))
    assert taken_in(other, newer).recorded == 4
    (event,) = other.backend.read(conversation_id, after=3)
    assert event.type == "message.sung"


def test_a_fork_brings_what_its_requests_hold_of_its_origin(
    store: Store, other: Store, tmp_path: Path
) -> None:
    origin = talked(store)
    talk = store.conversation(KEY).fork("the other way")
    talk.append(asking(store, origin))
    path = written(store, talk.conversation_id, tmp_path / "fork.jsonl", talk.key)
    with pytest.raises(InvalidInput, match="import that one first"):
        taken_in(other, path)
    assert list(other.conversations()) == []
    taken_in(other, written(store, origin, tmp_path / "origin.jsonl"))
    assert taken_in(other, path).recorded == 3
    assert other.conversation(talk.key).request(API) == talk.request(API)


class TestAFileThatIsNotWhole:
    """Nothing of it is recorded."""

    def test_cut_anywhere_it_is_refused(self, store: Store, other: Store, tmp_path: Path) -> None:
        data = written(store, talked(store), tmp_path / "talk.jsonl").read_bytes()
        ends = [at + 1 for at, byte in enumerate(data) if byte == 10][:-1]
        for end in [0, 1, *ends, len(data) - 1]:
            (tmp_path / "cut.jsonl").write_bytes(data[:end])
            with pytest.raises(InvalidExport):
                taken_in(other, tmp_path / "cut.jsonl")
        assert list(other.conversations()) == []

    @pytest.mark.parametrize(
        ("change", "says"),
        [
            ({"body": '{"content":"Be cruel."}'}, "digest"),
            ({"salt": "00" * 16}, "digest"),
            ({"position": 99}, "leaf"),
            ({"version": 9}, "leaf"),
            ({"salt": None}, "both"),
            ({"leaf": "zz"}, "kind"),
            ({"header": "{}"}, "header"),
        ],
    )
    def test_a_changed_event_is_refused(
        self,
        store: Store,
        other: Store,
        tmp_path: Path,
        change: dict[str, Any],
        says: str,
    ) -> None:
        path = written(store, talked(store), tmp_path / "talk.jsonl")
        bad = rewritten(path, 2, lambda line: line | change)
        with pytest.raises(InvalidExport, match=rf"line 3: .*{says}"):
            taken_in(other, bad)
        assert list(other.conversations()) == []

    def test_a_missing_event_is_refused(self, store: Store, tmp_path: Path) -> None:
        path = written(store, talked(store), tmp_path / "talk.jsonl")
        with pytest.raises(InvalidExport, match="version 2 is missing"):
            check(rewritten(path, 2, lambda line: None))

    def test_a_missing_piece_of_a_document_is_refused(self, store: Store, tmp_path: Path) -> None:
        path = written(store, talked(store), tmp_path / "talk.jsonl")
        lines = [json.loads(line) for line in path.read_bytes().splitlines()]
        second = next(at for at, line in enumerate(lines) if line.get("start"))
        with pytest.raises(InvalidExport, match="piece"):
            check(dropped(path, second))

    def test_a_missing_document_is_refused(self, store: Store, tmp_path: Path) -> None:
        path = written(store, talked(store), tmp_path / "talk.jsonl")
        lines = [json.loads(line) for line in path.read_bytes().splitlines()]
        pieces = [at for at, line in enumerate(lines) if "blob" in line]
        with pytest.raises(InvalidExport, match="blob"):
            check(dropped(path, *pieces))

    def test_lines_in_another_order_are_refused(self, store: Store, tmp_path: Path) -> None:
        path = written(store, talked(store), tmp_path / "talk.jsonl")
        lines = path.read_bytes().splitlines(keepends=True)
        lines[0] = lines[0].replace(b"4711", b"4712")
        path.write_bytes(b"".join(lines))
        with pytest.raises(InvalidExport, match="not those that were written"):
            check(path)

    def test_any_other_file_is_refused(self, tmp_path: Path) -> None:
        for data in (b"", b"hello\n", b"{}\n", b"[]\n", b"\xff\n", b'{"hansard":"end"}\n'):
            (tmp_path / "other").write_bytes(data)
            with pytest.raises(InvalidExport):
                check(tmp_path / "other")

    @settings(max_examples=60, deadline=None)
    @given(data=st.data())
    def test_a_flipped_bit_is_noticed(self, data: st.DataObject, tmp_path_factory: Any) -> None:
        store = hansard.connect("memory://")
        talk = store.conversation(KEY)
        talk.user("hello", documents=[b"some bytes"])
        lines = b"".join(export(store.backend, talk.conversation_id, KEY))
        at = data.draw(st.integers(0, len(lines) - 1))
        bit = data.draw(st.integers(0, 7))
        flipped = bytearray(lines)
        flipped[at] ^= 1 << bit
        path: Path = tmp_path_factory.mktemp("flipped") / "talk.jsonl"
        path.write_bytes(bytes(flipped))
        with pytest.raises(InvalidExport):
            check(path)


def test_memory_does_not_grow_with_the_document(store: Store, tmp_path: Path) -> None:
    talk = store.conversation(KEY)
    pieces = (bytes([number]) * 1024 * 1024 for number in range(48))
    blob = store.backend.put_blob(NO_TENANT, talk.conversation_id, pieces)
    talk.user(documents=[Document(media_type="video/mp4", blob=blob)])
    path = tmp_path / "talk.jsonl"
    tracemalloc.start()
    with path.open("wb") as file:
        file.writelines(export(store.backend, talk.conversation_id, KEY))
    check(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 16 * 1024 * 1024


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
    end = {"hansard": "end", "lines": len(dumped), "sha256": digest}
    path.write_bytes(b"".join(dumped) + json.dumps(end).encode() + b"\n")
    return path


def test_recorded_events_are_what_the_lines_hold(store: Store, tmp_path: Path) -> None:
    conversation_id = talked(store)
    path = written(store, conversation_id, tmp_path / "talk.jsonl")
    with path.open("rb") as file:
        events = [line for line in read_export(file) if isinstance(line, RecordedEvent)]
    assert events == list(store.backend.read(conversation_id))
