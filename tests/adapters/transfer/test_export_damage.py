"""A file that is not whole, or was changed, is refused: nothing of it is recorded."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import onrecord
from onrecord.adapters.store import Store, backend_of
from onrecord.adapters.transfer.export import export
from onrecord.adapters.transfer.importing import check
from onrecord.domain.errors import CorruptRecord, InvalidExport
from onrecord.domain.log import RecordedEvent
from tests.adapters.transfer.exports import (
    KEY,
    dropped,
    rewritten,
    taken_in,
    talked,
    written,
)
from tests.search import examples


@pytest.fixture
def store() -> Store:
    return onrecord.connect("memory://")


@pytest.fixture
def other() -> Store:
    return onrecord.connect("memory://")


def test_cut_anywhere_it_is_refused(store: Store, other: Store, tmp_path: Path) -> None:
    data = written(store, talked(store), tmp_path / "chat.jsonl").read_bytes()
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
    store: Store,
    other: Store,
    tmp_path: Path,
    change: dict[str, Any],
    says: str,
) -> None:
    path = written(store, talked(store), tmp_path / "chat.jsonl")
    bad = rewritten(path, 2, lambda line: line | change)
    with pytest.raises(InvalidExport, match=rf"line 3: .*{says}"):
        taken_in(other, bad)
    assert list(other.conversations()) == []


def test_a_missing_event_is_refused(store: Store, tmp_path: Path) -> None:
    path = written(store, talked(store), tmp_path / "chat.jsonl")
    with pytest.raises(InvalidExport, match="version 2 is missing"):
        check(rewritten(path, 2, lambda line: None))


def test_a_missing_piece_of_a_document_is_refused(store: Store, tmp_path: Path) -> None:
    path = written(store, talked(store), tmp_path / "chat.jsonl")
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    second = next(at for at, line in enumerate(lines) if line.get("start"))
    with pytest.raises(InvalidExport, match="piece"):
        check(dropped(path, second))


def test_a_missing_document_is_refused(store: Store, tmp_path: Path) -> None:
    path = written(store, talked(store), tmp_path / "chat.jsonl")
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    pieces = [at for at, line in enumerate(lines) if "blob" in line]
    with pytest.raises(InvalidExport, match="blob"):
        check(dropped(path, *pieces))


def test_lines_in_another_order_are_refused(store: Store, tmp_path: Path) -> None:
    path = written(store, talked(store), tmp_path / "chat.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    lines[0] = lines[0].replace(b'"events":', b'"events": ')
    path.write_bytes(b"".join(lines))
    with pytest.raises(InvalidExport, match="not those that were written"):
        check(path)


def test_any_other_file_is_refused(tmp_path: Path) -> None:
    for data in (b"", b"hello\n", b"{}\n", b"[]\n", b"\xff\n", b'{"onrecord":"end"}\n'):
        (tmp_path / "other").write_bytes(data)
        with pytest.raises(InvalidExport):
            check(tmp_path / "other")


@examples(60)
@given(data=st.data())
def test_a_flipped_bit_is_noticed(data: st.DataObject, tmp_path_factory: Any) -> None:
    store = onrecord.connect("memory://")
    chat = store.conversation(KEY)
    chat.user("hello", documents=[b"some bytes"])
    lines = b"".join(export(backend_of(store), chat.conversation_id, KEY))
    at = data.draw(st.integers(0, len(lines) - 1))
    bit = data.draw(st.integers(0, 7))
    flipped = bytearray(lines)
    flipped[at] ^= 1 << bit
    path: Path = tmp_path_factory.mktemp("flipped") / "chat.jsonl"
    path.write_bytes(bytes(flipped))
    with pytest.raises(InvalidExport):
        check(path)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"body": b"{}"}, "version 3 is damaged"),
        ({"leaf": bytes(32)}, "version 3 is damaged"),
        ({"version": 4}, "version 3 is missing"),
    ],
)
def test_a_damaged_conversation_is_not_exported(
    store: Store, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any], says: str
) -> None:
    conversation = talked(store)
    backend = backend_of(store)
    real = backend.read

    def read(*arguments: Any, **options: Any) -> Iterator[RecordedEvent]:
        for event in real(*arguments, **options):
            yield event._replace(**change) if event.version == 3 else event

    monkeypatch.setattr(backend, "read", read)
    with pytest.raises(CorruptRecord, match=says):
        list(export(backend, conversation, KEY))
