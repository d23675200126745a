"""What becomes of a conversation's holders, calls and answers when it is forgotten meanwhile."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anthropic
import pytest

from onrecord.adapters.app import connect
from onrecord.adapters.cli.upkeep import forget_one
from onrecord.adapters.conversation.conversation import Conversation, stream_of
from onrecord.adapters.demo.services.scenes import Answer, JsonObject
from onrecord.adapters.demo.services.server import DemoServer
from onrecord.adapters.recording.spool import RecordingWarning, Spool
from onrecord.adapters.recording.tenancy import Tenancy
from onrecord.adapters.storage.memory.memory import Memory
from onrecord.adapters.storage.sqlite.sqlite import open_sqlite
from onrecord.adapters.store import Store, backend_of
from onrecord.domain.errors import (
    ConversationForgotten,
    ConversationNotFound,
    CorruptRecord,
    NotRecorded,
    StorageBusy,
)
from tests.adapters.recorded_calls import GREETING, HELLO, KEY, MODEL, Recorded, calling
from tests.adapters.wire.spooled_events import FULL, unstored
from tests.factories import BECAUSE, answer, appending
from tests.sqlite_by_hand import ByHand


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    return Recorded(tmp_path)


def test_a_holder_of_a_forgotten_conversation_says_no_more_in_it(recorded: Recorded) -> None:
    recorded.chat.user("Hello")
    recorded.store.forget(recorded.chat.conversation_id)
    left = list(recorded.chat.log.read())
    other = Conversation(
        Tenancy(recorded.store, stream_of(recorded.chat).tenant, recorded.spool), recorded.chat.key
    )
    says: list[Callable[[], object]] = [
        lambda: recorded.chat.user("More"),
        lambda: recorded.chat.user("More", documents=[b"%PDF-1.7 more"]),
        lambda: recorded.chat.instruct("Be brief."),
        lambda: recorded.chat.end(),
    ]
    for say in says:
        with pytest.raises(ConversationForgotten, match="start another"):
            say()
    assert list(recorded.chat.log.read()) == left
    other.user("Hello again")
    assert other.conversation_id != recorded.chat.conversation_id


def test_a_forgotten_conversation_takes_no_call(recorded: Recorded) -> None:
    recorded.chat.user("Hello")
    recorded.store.forget(recorded.chat.conversation_id)
    with calling(recorded, [GREETING]) as calls:
        with pytest.raises(NotRecorded, match="forgotten: start another"):
            calls.ask()
        assert calls.server.requests == ()


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize("aside", [True, False])
def test_the_answer_to_a_call_in_flight_is_dropped(
    tmp_path: Path, streamed: bool, aside: bool, caplog: pytest.LogCaptureFixture
) -> None:
    recorded = Recorded(tmp_path)

    def forgetting(_: JsonObject) -> Answer:
        if aside:
            recorded.chat.log.append(answer("said meanwhile"))
        recorded.store.forget(recorded.chat.conversation_id)
        return GREETING

    with calling(recorded, forgetting) as calls:
        with pytest.warns(RecordingWarning, match="forgotten"):
            message = calls.stream() if streamed else calls.ask()
        assert message.content
    assert {event.body for event in recorded.chat.log.read()} == {None}
    assert not list(tmp_path.rglob("*.json"))
    assert "forgotten" in caplog.text


@pytest.mark.parametrize("held", [True, False])
def test_what_waits_for_a_forgotten_conversation_is_deleted(tmp_path: Path, held: bool) -> None:
    waiting, store, folder = unstored("swordfish", blob=b"report"), Memory(), tmp_path / "spool"
    conversation = waiting.append.conversation_id
    store.append([appending(conversation, answer())])
    store.forget(conversation)
    if held:
        folder.write_text("not a folder")
    spool = Spool(folder)
    spool.put(waiting, FULL)
    if held:
        folder.unlink()
    with pytest.warns(RecordingWarning, match="forgotten"):
        assert spool.take_in(store) == 0
    assert not folder.exists() or list(folder.iterdir()) == []
    assert spool.take_in(store) == 0


def test_a_call_during_which_the_store_forgets_leaves_nothing(tmp_path: Path) -> None:
    def forgetting(_: JsonObject) -> Answer:
        store.forget("support/4711", **BECAUSE)
        return GREETING

    with connect(f"sqlite:///{tmp_path / 'talks.db'}") as store, DemoServer(forgetting) as server:
        chat = store.conversation("support/4711")
        with anthropic.Anthropic(api_key=KEY, base_url=server.url, max_retries=0) as client:
            messages: Any = HELLO
            with pytest.warns(RecordingWarning, match="forgotten"):
                chat.record(client).messages.create(model=MODEL, max_tokens=9, messages=messages)
        assert {event.body for event in chat.log.read()} == {None}
        with pytest.raises(ConversationNotFound):
            store.forget("support/4711", **BECAUSE)
        assert store.verify().is_whole


def test_forgetting_goes_on_by_id_where_it_could_not_be_finished(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "talks.db"
    store = Store(open_sqlite(path, wait=0.05), str(path), spool=Spool(tmp_path / "spool"))
    chat = store.conversation("support/4711")
    chat.user("swordfish")
    reader = ByHand.open(path)
    reader.run("BEGIN")
    reader.run("SELECT * FROM event")
    with pytest.raises(StorageBusy, match=f"onrecord forget {chat.conversation_id}"):
        store.forget("support/4711", **BECAUSE)
    reader.close()
    key = str(chat.conversation_id)
    forget_one(store, key, "asked to", "ana", sure=True, as_json=False)
    assert capsys.readouterr().out.startswith("2 events erased")
    assert store.forget(chat.conversation_id, **BECAUSE).events == 0
    assert all(b"swordfish" not in file.read_bytes() for file in tmp_path.iterdir())
    store.close()


def test_a_document_that_was_stored_before_anything_was_said_is_forgotten_by_its_key() -> None:
    with connect("memory://") as store:
        chat = store.conversation("support/4711")
        blob = backend_of(store).put_blob(store.tenant, chat.conversation_id, [b"report"])
        with pytest.raises(ConversationNotFound):
            store.verify("support/4711")
        assert store.forget("support/4711", **BECAUSE).events == 0
        with pytest.raises(CorruptRecord):
            list(backend_of(store).get_blob(chat.conversation_id, blob))
        assert backend_of(store).find(store.tenant, "support/4711") is None
        with pytest.raises(ConversationNotFound):
            store.forget("support/4711", **BECAUSE)
