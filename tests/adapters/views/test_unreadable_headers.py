"""A header that cannot be read: its event waits or stands still where it is needed, all else goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID, uuid4

import psycopg
import pytest

import onrecord
from onrecord.adapters.storage.memory.memory import Memory
from onrecord.adapters.storage.postgres.postgres import migrate
from onrecord.adapters.store import Store
from onrecord.domain.errors import CorruptRecord
from onrecord.projections.views.audit import AUDIT
from onrecord.projections.views.registry import VIEWS
from onrecord.projections.views.step import STRICT_ATTEMPTS, by_conversation, event_batches
from tests.adapters.cli.command import Command, in_process
from tests.adapters.views.row_stores import everything
from tests.adapters.views.workers import Stepping
from tests.factories import TENANT, appending, prompt, started
from tests.postgres_server import VERSIONS, server
from tests.sqlite_by_hand import Unruled


@dataclass(frozen=True)
class Place:
    """A store, what brings its views up to date, and what puts a header in the place of another."""

    url: str
    catch_up: Callable[[Store], None]
    put: Callable[[bytes, UUID, int], None]


@pytest.fixture(params=["sqlite", "postgres"])
def place(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Place]:
    monkeypatch.setenv("ONRECORD_ACTOR", "ann")
    if request.param == "sqlite":
        yield _in_a_file(tmp_path / "talks.db")
        return
    running = server(VERSIONS[-1])
    place, stepping = _on_a_server(running.create("log", migrate))
    yield place
    stepping.close()
    running.drop(place.url)


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return in_process(monkeypatch, capsys)


def _in_a_file(file: Path) -> Place:
    def catch_up(store: Store) -> None:
        store.views.conversations()
        store.views.audit()
        store.views.search("parcel")

    def put(header: bytes, conversation: UUID, version: int) -> None:
        by_hand = Unruled.open(file)
        changed = "UPDATE event SET header = ? WHERE conversation_id = ? AND version = ?"
        by_hand.run(changed, header, conversation.bytes, version)
        by_hand.close()

    return Place(f"sqlite:///{file}", catch_up, put)


def _on_a_server(url: str) -> tuple[Place, Stepping]:
    worker = Stepping(url, VIEWS)
    worker.claim()

    def catch_up(_: Store) -> None:
        for _attempt in range(STRICT_ATTEMPTS):
            worker.finish()
            worker.now += 3600

    def put(header: bytes, conversation: UUID, version: int) -> None:
        with psycopg.connect(url) as connection:
            connection.execute("ALTER TABLE onrecord.event DISABLE TRIGGER USER")
            connection.execute(
                "UPDATE onrecord.event SET header = %s WHERE conversation_id = %s AND version = %s",
                (header, conversation, version),
            )
            connection.execute("ALTER TABLE onrecord.event ENABLE TRIGGER USER")

    return Place(url, catch_up, put), worker


def test_only_its_conversation_waits_and_is_folded_once_it_is_mended(
    place: Place, command: Command
) -> None:
    def shown(*arguments: str) -> list[list[str]]:
        return command(*arguments, "--url", place.url).columns

    with onrecord.connect(place.url) as store:
        bad, good = store.conversation("bad"), store.conversation("good")
        bad.user("Where is parcel 1?")
        good.user("Where is parcel 2?")
        whole = bad.events(after=0)[0].header
        place.put(whole[:20], bad.conversation_id, 1)
        place.catch_up(store)
        good.user("And parcel 3?")
        place.catch_up(store)

        assert [row[0] for row in shown("overview")] == ["good"]
        # What is said is in bodies: views that need no header have all of it.
        assert {row[0] for row in shown("search", "parcel")} == {"bad", "good"}
        [waiting] = shown("parked")
        assert waiting[:4] == ["conversations", "bad", "1", "conversation.started"]
        assert "the bytes are not an event's header" in waiting[-1]
        [audit] = [row for row in shown("views") if row[0] == "audit"]
        assert str(bad.conversation_id) in audit[-1]
        verified = command("verify", "--url", place.url)
        assert verified.code == 1
        assert [str(bad.conversation_id), "1", "its header cannot be read"] in verified.columns

        shown("retry", "conversations")
        place.catch_up(store)
        assert len(shown("parked")) == 1
        place.put(whole, bad.conversation_id, 1)
        shown("retry", "conversations")
        shown("resume", "audit")
        place.catch_up(store)
        assert shown("parked") == []
        assert {row[0] for row in shown("overview")} == {"bad", "good"}
        assert len(shown("audit")) == 5
        assert command("verify", "--url", place.url).code == 0


def test_whose_an_event_is_is_asked_where_its_header_does_not_say() -> None:
    log, conversation = Memory(), uuid4()
    log.append([appending(conversation, started(), prompt())])
    first, second = everything(log)
    damaged = [first._replace(header=first.header[:20]), second]
    [batch] = event_batches(damaged, AUDIT, log.owner)
    assert (batch.tenant, batch.events) == (TENANT, tuple(damaged))
    with pytest.raises(CorruptRecord):
        by_conversation(damaged, lambda _: None)
