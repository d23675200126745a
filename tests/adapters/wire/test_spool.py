"""What the store cannot take after a request was sent waits, and is recorded once."""

import logging
import shutil
import warnings
from pathlib import Path
from typing import Any

import anthropic
import pytest

from onrecord.adapters import app
from onrecord.adapters.app import connect
from onrecord.adapters.conversation.conversation import stream_of
from onrecord.adapters.demo.services.scenes import Answer, JsonObject
from onrecord.adapters.recording.spool import RecordingWarning, Spool, spool_folder
from onrecord.adapters.recording.unstored import PendingAppend
from onrecord.adapters.settings import NO_TENANT
from onrecord.adapters.storage.memory.memory import Memory
from onrecord.adapters.storage.sqlite.sqlite import open_sqlite
from onrecord.adapters.store import Store, backend_of, tenancy_of
from onrecord.domain.errors import NotRecorded, StorageUnavailable
from onrecord.domain.log import Append, Verdict
from onrecord.domain.log import Recorded as LogRecorded
from tests.adapters.recorded_calls import (
    CALLING,
    GREETING,
    HELLO,
    Recorded,
    calling,
    results,
    said,
)
from tests.adapters.recording.tabs import Tab, told
from tests.adapters.wire.spooled_events import FULL, begin, unstored
from tests.demo_faults import overloaded
from tests.factories import TENANT, prompt


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    return Recorded(tmp_path)


def files(recorded: Recorded, tmp_path: Path) -> list[Path]:
    return sorted(path for path in (tmp_path / "spool").rglob("*") if path.is_file())


@pytest.mark.parametrize("streamed", [True, False])
def test_a_store_that_fails_after_the_prompt_does_not_disturb_the_call(
    recorded: Recorded, tmp_path: Path, streamed: bool, caplog: pytest.LogCaptureFixture
) -> None:
    def script(_: JsonObject) -> Answer:
        recorded.counting.broken = FULL
        return CALLING

    with calling(recorded, script) as calls:
        message = calls.stream() if streamed else calls.ask()
    assert message.stop_reason == "tool_use"
    assert [record.levelno for record in caplog.records if record.name == "onrecord"] == [
        logging.ERROR
    ]
    assert len(files(recorded, tmp_path)) == 1


def test_what_waits_is_recorded_at_the_next_call_and_said_aloud(recorded: Recorded) -> None:
    scenes = iter([CALLING, GREETING])

    def script(_: JsonObject) -> Answer:
        scene = next(scenes)
        recorded.counting.broken = FULL if scene is CALLING else None
        return scene

    with calling(recorded, script) as calls:
        first = calls.ask()
        with pytest.raises(NotRecorded):
            calls.ask()
        recorded.counting.broken = None
        with pytest.warns(RecordingWarning, match="in time: 1 "):
            calls.ask([*HELLO, said(first), results("toolu_01", "toolu_02")])
    assert recorded.types()[:5] == [
        "message.recorded",
        "request.sent",
        "message.recorded",
        "tool_call.recorded",
        "tool_call.recorded",
    ]
    assert [request.line for request in recorded.requests()] == [None, None]


def test_what_is_said_of_late_answers_refuses_no_call_where_warnings_are_errors(
    recorded: Recorded,
) -> None:
    failing = iter([FULL, None])

    def script(_: JsonObject) -> Answer:
        recorded.counting.broken = next(failing)
        return GREETING

    with calling(recorded, script) as calls:
        calls.ask()
        recorded.counting.broken = None
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            calls.ask([{"role": "user", "content": "Another one"}])
    assert recorded.types().count("response.completed") == 2


def test_a_failed_attempt_waits_as_well(recorded: Recorded, tmp_path: Path) -> None:
    with calling(recorded, [overloaded(), GREETING]) as calls:
        recorded.chat.user("Hello")
        inner = recorded.counting.append

        def only_prompts(appends: list[Append]) -> object:
            if any(event.type == "attempt.failed" for event in appends[0].events):
                raise FULL
            return inner(appends)

        vars(recorded.counting)["append"] = only_prompts
        with pytest.raises(anthropic.APIStatusError):
            calls.ask()
        del vars(recorded.counting)["append"]
        with pytest.warns(RecordingWarning):
            calls.ask()
    assert recorded.types().count("attempt.failed") == 1


def test_events_come_back_with_their_ids_their_bytes_and_their_blobs(tmp_path: Path) -> None:
    store = Memory()
    waiting = unstored("Hello", "\ud800 and \u00fc", blob=b"%PDF-1.7 \x00\xff")
    begin(store, waiting)
    Spool(tmp_path).put(waiting, FULL)
    with pytest.warns(RecordingWarning):
        assert Spool(tmp_path).take_in(store) == 1
    got = list(store.read(waiting.append.conversation_id, after=1))
    assert [(e.event_id, e.header, e.salt, e.body) for e in got] == [
        (e.event_id, e.header, e.salt, e.body) for e in waiting.append.events
    ]
    assert store.head(waiting.append.conversation_id).exchange == 2
    (blob,) = waiting.append.events[-1].blobs
    assert b"".join(store.get_blob(waiting.append.conversation_id, blob)) == b"%PDF-1.7 \x00\xff"
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_what_the_log_has_already_is_not_recorded_again(tmp_path: Path) -> None:
    store = Memory()
    spool = Spool(tmp_path)
    waiting = unstored("Hello")
    store.append([waiting.append])
    spool.put(waiting, FULL)
    spool.put(waiting, FULL)
    with pytest.warns(RecordingWarning):
        spool.take_in(store)
    assert len(list(store.read(waiting.append.conversation_id))) == 1


class Lossy(Memory):
    """A store whose next reply about an answer aside is lost, though the answer is recorded."""

    loses = False

    def append(self, appends: Any) -> list[Verdict]:
        verdicts = super().append(appends)
        if self.loses and isinstance(verdicts[0], LogRecorded):
            self.loses = False
            raise StorageUnavailable("the connection was lost")
        return verdicts


def test_an_answer_whose_recording_aside_was_not_acknowledged_is_recorded_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = Lossy()
    tab, other = Tab(store, tmp_path), Tab(store, tmp_path)
    tab.chat.user("one")
    overtaken = tab.send(tab.render())
    other.chat.user("two")
    other.answer(other.send(other.render()), "second answer")
    store.loses = True
    tab.answer(overtaken, "first answer")
    before = len(list(store.read(tab.chat.conversation_id)))
    with pytest.warns(RecordingWarning, match="recorded late.*: 1 "):
        tab.recorder.spool.take_in(store)
    assert tab.chat.head().version == before == len(tab.chat.events(after=0))
    assert told(tab) == {"first answer": False, "second answer": True}
    assert not [record for record in caplog.records if record.levelno == logging.CRITICAL]
    assert not list(tmp_path.rglob("*.json"))


def test_what_waits_is_taken_in_the_order_in_which_it_came(tmp_path: Path) -> None:
    store = Memory()
    spool = Spool(tmp_path)
    all_waiting = [unstored(f"{number}") for number in range(5)]
    for waiting in all_waiting:
        begin(store, waiting)
        spool.put(waiting, FULL)
    begun = store.cursors()[0]
    with pytest.warns(RecordingWarning, match="in time: 5 "):
        assert spool.take_in(store) == 5
    order = [event.conversation_id for event in store.read_log(begun, 9)]
    assert order == [waiting.append.conversation_id for waiting in all_waiting]


def test_what_waits_is_recorded_in_whatever_incarnation_the_log_is_by_then(tmp_path: Path) -> None:
    waiting = unstored("Hello")
    file = tmp_path / "talks.db"
    spool = spool_folder(f"sqlite:///{file}", "1f", TENANT, {})
    store = open_sqlite(file)
    begin(store, waiting)
    before = store.cursors()[0].incarnation
    Spool(spool).put(waiting, FULL)
    store.close()
    (tmp_path / "talks.db-lock").unlink()
    store = open_sqlite(file)
    assert store.cursors()[0].incarnation != before
    with pytest.warns(RecordingWarning):
        assert Spool(spool).take_in(store) == 1
    assert len(list(store.read(waiting.append.conversation_id))) == 2
    store.close()


def test_what_waits_stays_while_the_store_cannot_take_it(tmp_path: Path) -> None:
    store = Memory()
    spool = Spool(tmp_path)
    spool.put(unstored("Hello"), FULL)
    store.close()
    with pytest.raises(StorageUnavailable):
        spool.take_in(store)
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 1


def test_where_it_waits_depends_on_the_log_and_the_tenant() -> None:
    beside = spool_folder("sqlite:////var/talks.db", "1f", TENANT, {})
    assert beside == Path(f"/var/talks.db-spool/{TENANT}")
    for url in (
        "sqlite:////var/talks.db",
        "postgresql://u:secret@h1:5432,h2:5432/app",
        "memory://",
    ):
        chosen = spool_folder(url, "1f", TENANT, {"ONRECORD_SPOOL": "/spool"})
        assert chosen == Path(f"/spool/1f/{TENANT}")
    server = spool_folder("postgresql:///app?host=db1", "1f", TENANT, {"XDG_STATE_HOME": "/state"})
    assert server == Path(f"/state/onrecord/spool/1f/{TENANT}")


def test_stores_that_share_a_folder_do_not_take_each_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONRECORD_SPOOL", str(tmp_path / "spool"))
    opened: list[Store] = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        opened.append(connect("sqlite:///support.db"))
    ours, theirs = opened
    chat = ours.conversation("ada")
    chat.user("Hello")
    event = stream_of(chat).draft(prompt("late"))
    tenancy_of(ours).spool.put(
        PendingAppend(Append(stream_of(chat).tenant, chat.conversation_id, (event,)), {}), FULL
    )
    assert tenancy_of(theirs).spool.take_in(backend_of(theirs)) == 0
    assert list(theirs.conversations()) == []
    ours.close()
    again = connect(f"sqlite:///{tmp_path / 'one' / 'support.db'}")
    with pytest.warns(RecordingWarning, match="recorded late"):
        assert tenancy_of(again).spool.take_in(backend_of(again)) == 1
    again.close()
    theirs.close()


@pytest.mark.parametrize(
    "url", ["postgresql://h1:5432,h2:5432/app", "postgresql:///app?host=/srv/a"]
)
def test_a_servers_url_is_not_taken_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setenv("ONRECORD_SPOOL", str(tmp_path))
    log = Memory()

    def opened(*_: object) -> Memory:
        return log

    monkeypatch.setattr(app, "_backend", opened)
    tenancy_of(connect(url)).spool.put(unstored("Hello"), FULL)
    (file,) = tmp_path.rglob("*.json")
    assert file.parent == tmp_path / log.digest("spool").hex() / str(NO_TENANT)


@pytest.mark.parametrize("held", [True, False])
def test_what_waits_for_a_conversation_that_the_log_does_not_have_goes_on_waiting(
    tmp_path: Path, held: bool, caplog: pytest.LogCaptureFixture
) -> None:
    store, waiting, folder = Memory(), unstored("Hello", blob=b"report"), tmp_path / "spool"
    if held:
        folder.write_text("not a folder")
    spool = Spool(folder)
    spool.put(waiting, FULL)
    caplog.clear()
    with pytest.warns(RecordingWarning, match="does not have: 1 "):
        assert spool.take_in(store) == 0
    assert [record.levelno for record in caplog.records] == [logging.CRITICAL]
    assert spool.take_in(store) == 0
    assert store.head(waiting.append.conversation_id).version == 0
    begin(store, waiting)
    with pytest.warns(RecordingWarning, match="recorded late"):
        assert spool.take_in(store) == 1
    assert store.head(waiting.append.conversation_id).version == 3


def test_a_spool_beside_the_wrong_file_stays_whole(tmp_path: Path) -> None:
    one = connect(f"sqlite:///{tmp_path / 'one.db'}")
    chat = one.conversation("ada")
    chat.user("Hello")
    event = stream_of(chat).draft(prompt("late"))
    tenancy_of(one).spool.put(
        PendingAppend(Append(stream_of(chat).tenant, chat.conversation_id, (event,)), {}), FULL
    )
    one.close()
    shutil.copytree(tmp_path / "one.db-spool", tmp_path / "two.db-spool")
    two = connect(f"sqlite:///{tmp_path / 'two.db'}")
    with pytest.warns(RecordingWarning, match="does not have: 1 "):
        two.conversation("ada").user("Hello")
    assert len(list(two.conversations())) == 1
    assert len(list((tmp_path / "two.db-spool").rglob("*.spooled.json"))) == 1
    two.close()


def test_a_full_disk_after_the_prompt_loses_nothing(tmp_path: Path) -> None:
    store = open_sqlite(tmp_path / "talks.db")
    recorded = Recorded(tmp_path, store)
    inner = store.append

    def only_prompts(appends: list[Append]) -> list[Verdict]:
        if appends[0].events[-1].type != "request.sent":
            raise FULL
        return inner(appends)

    vars(store)["append"] = only_prompts
    with calling(recorded, [GREETING]) as calls:
        calls.stream()
    del vars(store)["append"]
    with pytest.warns(RecordingWarning):
        recorded.spool.take_in(store)
    assert recorded.types()[-2:] == ["message.recorded", "response.completed"]
    store.close()


def test_what_waits_is_settled_when_the_store_can_take_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    recorded = Recorded(tmp_path)
    recorded.spool.settle(recorded.store)
    waiting = unstored("Hello")
    begin(recorded.store, waiting)
    recorded.spool.put(waiting, FULL)
    recorded.counting.broken = FULL
    recorded.spool.settle(recorded.store)
    assert "still waits (StorageFull)" in caplog.messages[-1]
    recorded.counting.broken = None
    with pytest.warns(RecordingWarning):
        recorded.spool.settle(recorded.store)
    assert len(list(recorded.store.read(waiting.append.conversation_id))) == 2


def test_where_nothing_waits_the_folder_is_looked_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Memory()
    spool = Spool(tmp_path)
    looked: list[object] = []
    monkeypatch.setattr(spool, "take_in", looked.append)
    spool.settle(store)
    spool.settle(store)
    assert looked == [store]


@pytest.mark.parametrize("use", ["read", "request", "result"])
def test_a_talk_is_whole_before_anything_is_asked_of_it(recorded: Recorded, use: str) -> None:
    def script(_: JsonObject) -> Answer:
        recorded.counting.broken = FULL
        return CALLING

    def look() -> None:
        match use:
            case "read":
                assert recorded.types()[-1] == "response.completed"
            case "request":
                messages = recorded.chat.request("anthropic-messages")["messages"]
                assert messages[1]["role"] == "assistant"
            case _:
                recorded.chat.tool_result("toolu_01", "found")
                assert recorded.types()[-2:] == ["response.completed", "tool_result.recorded"]

    with calling(recorded, script) as calls:
        calls.ask()
    recorded.counting.broken = None
    with pytest.warns(RecordingWarning):
        look()
