"""What export writes, import takes in: byte for byte, once, or not at all."""

import tracemalloc
from pathlib import Path
from typing import NoReturn

import pytest

import onrecord
from onrecord.adapters.settings import NO_TENANT
from onrecord.adapters.store import Store, backend_of
from onrecord.adapters.transfer.export import export
from onrecord.adapters.transfer.exported import read_export
from onrecord.adapters.transfer.importing import Imported, check, import_file
from onrecord.domain.content import Document
from onrecord.domain.errors import IdempotencyMismatch, InvalidInput, StorageFull
from onrecord.domain.log import RecordedEvent
from tests.adapters.transfer.exports import (
    API,
    KEY,
    LARGE,
    as_newer,
    asking,
    blobs_in_file,
    content_of,
    rewritten,
    taken_in,
    talked,
    written,
)
from tests.factories import BECAUSE


@pytest.fixture
def store() -> Store:
    return onrecord.connect("memory://")


@pytest.fixture
def other() -> Store:
    return onrecord.connect("memory://")


def test_another_store_gets_the_same_events_and_documents(
    store: Store, other: Store, tmp_path: Path
) -> None:
    conversation_id = talked(store)
    path = written(store, conversation_id, tmp_path / "chat.jsonl")
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
    path = written(store, conversation_id, tmp_path / "chat.jsonl")
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
    path = written(store, conversation_id, tmp_path / "chat.jsonl")
    store.conversation(KEY).user("And then?")
    assert taken_in(store, path).recorded == 0


def test_a_long_conversation_comes_in_batches(store: Store, other: Store, tmp_path: Path) -> None:
    chat = store.conversation(KEY)
    for number in range(600):
        chat.user(f"prompt {number}")
    done = taken_in(other, written(store, chat.conversation_id, tmp_path / "chat.jsonl"))
    assert done.recorded == 601
    assert content_of(other, chat.conversation_id) == content_of(store, chat.conversation_id)


def test_an_import_that_was_interrupted_goes_on_where_it_stopped(
    store: Store, other: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = store.conversation(KEY)
    for number in range(600):
        chat.user(f"prompt {number}")
    path = written(store, chat.conversation_id, tmp_path / "chat.jsonl")

    def full(_: object) -> NoReturn:
        raise StorageFull("no room")

    def stop_after_one_batch(done: int, total: int) -> None:
        if done > total // 2 + 300:
            monkeypatch.setattr(backend_of(other), "append", full)

    with pytest.raises(StorageFull):
        import_file(backend_of(other), other.tenant, path, progress=stop_after_one_batch)
    monkeypatch.undo()
    begun = other.conversation(KEY).head().version
    assert 0 < begun < 601
    assert taken_in(other, path).recorded == 601 - begun
    assert content_of(other, chat.conversation_id) == content_of(store, chat.conversation_id)


def test_progress_is_told_from_the_first_event_to_the_end(
    store: Store, other: Store, tmp_path: Path
) -> None:
    path = written(store, talked(store), tmp_path / "chat.jsonl")
    told: list[tuple[int, int]] = []
    import_file(
        backend_of(other),
        other.tenant,
        path,
        progress=lambda done, total: told.append((done, total)),
    )
    assert told == [(done, 8) for done in range(1, 9)]


def test_a_key_that_another_conversation_has_is_refused(
    store: Store, other: Store, tmp_path: Path
) -> None:
    path = written(store, talked(store), tmp_path / "chat.jsonl")
    talked(other)
    with pytest.raises(InvalidInput, match="--as"):
        taken_in(other, path)


def test_another_key_may_be_given(store: Store, other: Store, tmp_path: Path) -> None:
    conversation_id = talked(store)
    path = written(store, conversation_id, tmp_path / "chat.jsonl")
    talked(other)
    assert taken_in(other, path, "support/4711 (old)").recorded == 4
    assert taken_in(other, path, "support/4711 (old)").recorded == 0
    assert {found.key for found in other.conversations()} == {KEY, "support/4711 (old)"}
    theirs, ours = content_of(other, conversation_id), content_of(store, conversation_id)
    assert theirs[1:] == ours[1:]


def test_the_same_store_does_not_take_a_conversation_twice(store: Store, tmp_path: Path) -> None:
    path = written(store, talked(store), tmp_path / "chat.jsonl")
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
    store.forget(KEY, **BECAUSE)
    path = written(store, conversation_id, tmp_path / "chat.jsonl", key=None)
    text = path.read_text(encoding="utf-8")
    assert "kind" not in text
    assert KEY not in text
    checked = check(path)
    assert (checked.beginning.events, checked.erased) == (4, 4)
    with pytest.raises(InvalidInput, match="forgotten"):
        taken_in(onrecord.connect("memory://"), path)


def test_what_was_forgotten_here_does_not_come_back(store: Store, tmp_path: Path) -> None:
    path = written(store, talked(store), tmp_path / "chat.jsonl")
    store.forget(KEY, **BECAUSE)
    with pytest.raises(InvalidInput, match=r"was forgotten here: it cannot be imported again$"):
        taken_in(store, path)


def test_an_event_of_a_newer_release_travels_as_it_is(
    store: Store, other: Store, tmp_path: Path
) -> None:
    conversation_id = talked(store)
    path = written(store, conversation_id, tmp_path / "chat.jsonl")
    newer = rewritten(path, 4, lambda line: line | as_newer(line))
    assert taken_in(other, newer).recorded == 4
    (event,) = backend_of(other).read(conversation_id, after=3)
    assert event.type == "message.sung"


def test_a_fork_brings_what_its_requests_hold_of_its_origin(
    store: Store, other: Store, tmp_path: Path
) -> None:
    origin = talked(store)
    chat = store.conversation(KEY).fork("the other way")
    chat.log.append(asking(store, origin))
    path = written(store, chat.conversation_id, tmp_path / "fork.jsonl", chat.key)
    with pytest.raises(InvalidInput, match="import that one first"):
        taken_in(other, path)
    assert list(other.conversations()) == []
    taken_in(other, written(store, origin, tmp_path / "origin.jsonl"))
    assert taken_in(other, path).recorded == 3
    assert other.conversation(chat.key).request(API) == chat.request(API)


def test_memory_does_not_grow_with_the_document(store: Store, tmp_path: Path) -> None:
    chat = store.conversation(KEY)
    pieces = (bytes([number]) * 1024 * 1024 for number in range(48))
    blob = backend_of(store).put_blob(NO_TENANT, chat.conversation_id, pieces)
    chat.user(documents=[Document(media_type="video/mp4", blob=blob)])
    path = tmp_path / "chat.jsonl"
    tracemalloc.start()
    with path.open("wb") as file:
        file.writelines(export(backend_of(store), chat.conversation_id, KEY))
    check(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 16 * 1024 * 1024


def test_recorded_events_are_what_the_lines_hold(store: Store, tmp_path: Path) -> None:
    conversation_id = talked(store)
    path = written(store, conversation_id, tmp_path / "chat.jsonl")
    with path.open("rb") as file:
        events = [line for line in read_export(file) if isinstance(line, RecordedEvent)]
    assert events == list(backend_of(store).read(conversation_id))
