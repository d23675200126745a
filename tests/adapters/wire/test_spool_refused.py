"""What can never be recorded stops nothing else, and what is forgotten does not wait."""

import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import anthropic
import pytest

from onrecord.adapters.app import connect
from onrecord.adapters.cli.upkeep import forget_one
from onrecord.adapters.demo.services.scenes import Answer, JsonObject, Playback
from onrecord.adapters.demo.services.server import DemoServer
from onrecord.adapters.recording.spool import RecordingWarning, Spool
from onrecord.adapters.recording.unstored import PendingAppend
from onrecord.adapters.storage.memory.memory import Memory
from onrecord.adapters.storage.sqlite.sqlite import open_sqlite
from onrecord.adapters.store import backend_of
from onrecord.domain import jsontext
from onrecord.domain.errors import StorageError
from onrecord.domain.log import Append, Verdict
from tests.adapters.recorded_calls import GREETING, HELLO, KEY, MODEL, Recorded, calling
from tests.adapters.wire.spooled_events import FULL, Refusing, begin, unstored
from tests.factories import BECAUSE


def test_a_file_that_cannot_be_read_is_put_aside(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = Memory()
    folder = tmp_path
    (folder / f"{uuid4()}.spooled.json").write_bytes(b'{"half":')
    (folder / f"{uuid4()}.spooled.part").write_bytes(b"unfinished")
    spool = Spool(tmp_path)
    with pytest.warns(RecordingWarning, match="never recorded"):
        assert spool.take_in(store) == 0
    assert spool.take_in(store) == 0
    assert [record.levelno for record in caplog.records] == [logging.CRITICAL]
    assert [path.suffixes for path in folder.glob("*.refused.json")] == [[".refused", ".json"]]


def test_a_folder_that_cannot_be_read_is_told_and_stops_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "loop"
    folder.symlink_to(folder)
    assert Spool(folder).take_in(Memory()) == 0
    (record,) = caplog.records
    assert record.levelno == logging.CRITICAL
    assert record.getMessage().startswith(f"what waits in {folder} cannot be read")


@pytest.mark.parametrize("held", [True, False])
def test_what_the_store_refuses_for_ever_stops_nothing_else(
    tmp_path: Path, held: bool, caplog: pytest.LogCaptureFixture
) -> None:
    odd, good = unstored("odd"), unstored("good")
    store = Refusing(odd.append.conversation_id)
    begin(store, good)
    folder = tmp_path / "spool"
    if held:
        folder.write_text("not a folder")
    spool = Spool(folder)
    spool.put(odd, FULL)
    spool.put(good, FULL)
    if held:
        folder.unlink()
    caplog.clear()
    with pytest.warns(RecordingWarning) as warned:
        assert spool.take_in(store) == 1
    assert [str(warning.message).partition(",")[0] for warning in warned] == [
        "recorded late",
        "never recorded",
    ]
    assert [r.levelno for r in caplog.records] == [logging.CRITICAL, logging.WARNING]
    assert len(list(store.read(good.append.conversation_id))) == 2
    assert spool.take_in(store) == 0
    (refused,) = [path for path in folder.rglob("*") if path.is_file()]
    assert refused.name.endswith(".refused.json")


def test_what_is_refused_stays_in_memory_while_no_file_can_hold_it(tmp_path: Path) -> None:
    odd = unstored("odd")
    store = Refusing(odd.append.conversation_id)
    folder = tmp_path / "spool"
    folder.write_text("not a folder")
    spool = Spool(folder)
    spool.put(odd, FULL)
    for _ in range(2):
        with pytest.warns(RecordingWarning, match="never recorded"):
            assert spool.take_in(store) == 0
    store.refused = uuid4()
    with pytest.warns(RecordingWarning, match="recorded late"):
        assert spool.take_in(store) == 1


def test_a_folder_that_cannot_be_read_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def denied(_: object) -> Any:
        raise PermissionError(13, "not yours")

    store = Memory()
    spool = Spool(tmp_path)
    monkeypatch.setattr(os, "scandir", denied)
    assert spool.take_in(store) == 0
    assert [record.levelno for record in caplog.records] == [logging.CRITICAL]


def test_a_count_of_tokens_beyond_all_bounds_stops_no_call(tmp_path: Path) -> None:
    store = open_sqlite(tmp_path / "talks.db")
    recorded = Recorded(tmp_path, store)
    usage = {"input_tokens": 10**30, "output_tokens": 10**30}
    body = {"id": "msg_1", "type": "message", "role": "assistant", "model": MODEL, "usage": usage}
    odd = jsontext.write({**body, "content": [], "stop_reason": "end_turn"})
    with calling(recorded, [Playback(odd, "application/json"), GREETING]) as calls:
        calls.ask()
        calls.ask()
    assert recorded.types().count("response.completed") == 2
    assert not list(tmp_path.rglob("*.spooled.json"))
    store.close()


@pytest.mark.skipif(os.name != "posix", reason="needs a file in place of a folder")
def test_what_no_file_can_hold_is_held_in_memory(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = Memory()
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    spool = Spool(blocked)
    waiting = unstored("Hello")
    begin(store, waiting)
    spool.put(waiting, FULL)
    assert caplog.records[-1].levelno == logging.CRITICAL
    with pytest.warns(RecordingWarning):
        spool.take_in(store)
    assert len(list(store.read(waiting.append.conversation_id))) == 2


def forgettable(folder: Path) -> tuple[Spool, Refusing, PendingAppend]:
    """A spool that holds something of a conversation in each way that it can."""
    mine, other = unstored("swordfish"), unstored("other")
    conversation = mine.append.conversation_id
    store, spool = Refusing(conversation), Spool(folder)
    begin(store, other)
    spool.put(mine, FULL)
    with pytest.warns(RecordingWarning, match="never recorded"):
        spool.take_in(store)
    for kept in (mine, other):
        spool.put(kept, FULL)
    (waiting,) = folder.glob(f"*.{conversation}.spooled.json")
    waiting.with_suffix(".part").write_bytes(waiting.read_bytes()[:-9])
    folder.rename(folder.with_name("away"))
    folder.write_text("not a folder")
    spool.put(mine, FULL)
    folder.unlink()
    folder.with_name("away").rename(folder)
    assert len(list(folder.iterdir())) == 4
    return spool, store, mine


def test_what_is_forgotten_does_not_wait_either(tmp_path: Path) -> None:
    spool, store, mine = forgettable(tmp_path / "spool")
    spool.forget(mine.append.conversation_id)
    store.refused = uuid4()
    with pytest.warns(RecordingWarning, match="recorded late.*: 1 "):
        assert spool.take_in(store) == 1
    assert list((tmp_path / "spool").iterdir()) == []
    assert [e.type for e in store.read(mine.append.conversation_id)] == ["conversation.started"]


def test_what_cannot_be_deleted_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_: object, **__: object) -> None:
        raise PermissionError(13, "not yours")

    spool, _, mine = forgettable(tmp_path / "spool")
    monkeypatch.setattr(Path, "unlink", denied)
    with pytest.raises(StorageError, match="cannot be deleted"):
        spool.forget(mine.append.conversation_id)


@pytest.mark.parametrize("by", ["key", "id", "command"])
def test_forgetting_a_conversation_deletes_the_answer_that_waits_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    def full(appends: Sequence[Append]) -> list[Verdict]:
        # That it is erased is recorded before anything goes: a disk that takes nothing keeps it.
        if appends[0].tenant == store.tenant:
            raise FULL
        return append(appends)

    def script(_: JsonObject) -> Answer:
        monkeypatch.setattr(backend_of(store), "append", full)
        return GREETING

    with connect(f"sqlite:///{tmp_path / 'talks.db'}") as store, DemoServer(script) as server:
        append = backend_of(store).append
        chat = store.conversation("support/4711")
        with anthropic.Anthropic(api_key=KEY, base_url=server.url, max_retries=0) as client:
            messages: Any = HELLO
            chat.record(client).messages.create(model=MODEL, max_tokens=9, messages=messages)
        assert len(list(tmp_path.rglob("*.spooled.json"))) == 1
        match by:
            case "key":
                assert store.forget("support/4711", **BECAUSE).events > 0
            case "id":
                assert store.forget(chat.conversation_id, **BECAUSE).events > 0
            case _:
                key = "support/4711"
                forget_one(store, key, "asked to", "ana", sure=True, as_json=True)
        assert not list(tmp_path.rglob("*.spooled.*"))
