"""Views of an encrypted log: no text in their database, and what of it they tell all the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast
from uuid import UUID, uuid4

import psycopg
import pytest

from onrecord.adapters.encryption.encrypted_log import EncryptedLog
from onrecord.adapters.storage.postgres.postgres import Postgres, migrate, open_postgres
from onrecord.adapters.storage.sqlite.sqlite import open_sqlite
from onrecord.adapters.upkeep.verifying_views import VerifiedViews, verify_views
from onrecord.adapters.views.encrypted import opening_of
from onrecord.adapters.views.postgres.opening import server_views
from onrecord.adapters.views.reading import Views
from onrecord.adapters.views.sqlite.opening import file_views
from onrecord.domain import events
from onrecord.domain.content import ToolCall
from onrecord.domain.encryption.subjects import named_subject
from onrecord.domain.errors import InvalidInput
from onrecord.domain.log import Backend
from onrecord.projections.views.registry import VIEWS
from tests.adapters.encryption.places import erase
from tests.adapters.views.own_projections import Lengths
from tests.adapters.views.workers import caught_up
from tests.contract.encrypted_places import EncryptedPlace
from tests.factories import TENANT, answer, appending, prompt, started, tool_call, tool_result
from tests.faults.test_residue_postgres import ALL_TABLES
from tests.postgres_server import VERSIONS, server
from tests.sqlite_by_hand import Unruled

VERSION: Final = VERSIONS[-1]
FISH: Final = ("swordfish", "marlin", "barracuda", "sturgeon", "lamprey", "halibut", "haddock")
Words = tuple[str, ...]

ALLOWED: Final = ("search", "window", "lengths")


@dataclass(frozen=True)
class Opening:
    """A place that is opened by a function."""

    open: Callable[[], Backend]

    def remove(self) -> None:
        """Whoever made it takes it away."""


@dataclass
class Kept:
    """An encrypted log, where its views are kept, and what finds words in all that its database has."""

    log: EncryptedLog
    opened: Callable[[tuple[str, ...]], Views]
    caught_up: Callable[[tuple[str, ...]], None]
    found: Callable[[Words], set[str]]

    def views(self, *allowed: str) -> Views:
        """The views, brought to the end of the log."""
        self.caught_up(allowed)
        views = self.opened(allowed)
        views.conversations()
        views.tool_calls()
        views.usage()
        views.audit()
        return views

    def verified(self, views: Views) -> VerifiedViews:
        return verify_views(self.log, views.pages.kept())


def encrypted(folder: Path, opening: Callable[[], Backend]) -> EncryptedLog:
    return cast("EncryptedLog", EncryptedPlace(Opening(opening), folder).open())


def holds(file: Path, words: Words) -> bool:
    """Whether one of the words is in a file."""
    data = file.read_bytes()
    return any(word.encode() in data for word in words)


def tables_with(url: str, words: Words) -> set[str]:
    """The tables of a database whose rows have one of the words, as text or in hex: catalogues too."""
    either = [form for word in words for form in (word.encode(), word.encode().hex().encode())]
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("ANALYZE")
        connection.execute("CHECKPOINT")
        names = [name for (name,) in connection.execute(ALL_TABLES).fetchall()]
        found: set[str] = set()
        for name in (*names, "pg_stats"):
            with connection.cursor().copy(
                f"COPY (SELECT * FROM {name}) TO STDOUT".encode()
            ) as copy:
                data = b"".join(map(bytes, copy))
            if any(form in data for form in either):
                found.add(name)
        return found


def server_files_with(url: str, words: Words) -> set[str]:
    """The files of a server of ours that hold one of the words: indexes and the write-ahead log too."""
    carried = server(VERSION).carried
    if carried is None:
        return set()
    folder = Path(carried.pgdata)
    files = (path for path in folder.rglob("*") if path.is_file() and "pgsql_tmp" not in str(path))
    return {str(path.relative_to(folder)) for path in files if holds(path, words)}


def views_beside(log: EncryptedLog, folder: Path, allowed: Words) -> Views:
    """The views in the file beside a log on SQLite."""
    opening = opening_of(log, allowed)
    return file_views(log.stored, folder / "log.db", TENANT, opening)


def sqlite(folder: Path) -> Iterator[Kept]:
    log = encrypted(folder, lambda: open_sqlite(folder / "log.db"))

    def found(words: Words) -> set[str]:
        return {path.name for path in folder.rglob("*") if path.is_file() and holds(path, words)}

    yield Kept(
        log,
        lambda allowed: views_beside(log, folder, allowed),
        lambda _: None,
        found,
    )
    log.close()


def postgres(folder: Path) -> Iterator[Kept]:
    url = server(VERSION).create("log", migrate)
    log = encrypted(folder, lambda: open_postgres(url))
    stored = cast("Postgres", log.stored)

    def catch_up(allowed: tuple[str, ...]) -> None:
        opening = opening_of(log, allowed)
        caught_up(url, opening.texts.views(), opening.reading)

    def found(words: Words) -> set[str]:
        return tables_with(url, words) | server_files_with(url, words)

    yield Kept(
        log,
        lambda allowed: server_views(stored, url, TENANT, opening_of(log, allowed)),
        catch_up,
        found,
    )
    log.close()
    server(VERSION).drop(url)


@pytest.fixture(params=[sqlite, postgres])
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Kept]:
    yield from request.param(tmp_path)


def fish() -> Words:
    """Words that nobody else has written."""
    return tuple(f"{name}{uuid4().hex}" for name in FISH)


def told(log: EncryptedLog, words: Words) -> UUID:
    """A conversation of Ana in which each kind of content has a word."""
    key, asked, said, argument, gave, summary, rule = words
    conversation = log.open(TENANT, key)
    call = ToolCall(id="c1", name="look_up", arguments={"fish": argument})
    append = appending(
        conversation,
        started(key),
        events.InstructionsSet(content=rule),
        prompt(asked),
        events.ToolCallRecorded(call_id="c1", name="look_up", content=call),
        tool_result("c1", gave),
        answer(said),
        events.HistoryCompacted(summary=summary, until=3),
        prompt(asked),
    )
    under = tuple(event._replace(subjects=("ana",)) for event in append.events)
    log.append([append._replace(events=under)])
    return conversation


def test_nothing_that_was_said_is_in_the_database_of_an_encrypted_log(kept: Kept) -> None:
    words = fish()
    conversation = told(kept.log, words)
    views = kept.views()
    listed = views.conversations(key=words[0])
    assert [(each.key, each.title, each.exchanges) for each in listed] == [(words[0], None, 2)]
    assert listed.encrypted == ("title",)
    assert views.conversations(key="other").entries == ()
    calls = views.tool_calls(conversation=words[0])
    (call,) = calls
    assert (call.name, call.status, call.arguments, call.result) == ("look_up", "done", None, None)
    assert (call.arguments_digest, calls.encrypted[0]) == (None, "arguments")
    window = views.window(conversation)
    assert [(each.prompt, each.answer, each.messages) for each in window] == [(None, None, 1)]
    assert window.encrypted == ("prompt", "answer")
    assert views.audit().encrypted == ("sha256", "documents")
    for refused in (
        lambda: views.search(words[1]),
        lambda: views.tool_calls(arguments_digest="0" * 64),
        lambda: views.register(Lengths()),
    ):
        with pytest.raises(InvalidInput, match="this store is encrypted"):
            refused()
    views.keeper.rebuild("window")
    verified = kept.verified(views)
    assert verified.faults == ()
    assert {each.view for each in verified.views} <= set(VIEWS)
    assert {each.view: each.rows for each in verified.views}["tool_ledger"] == 1
    assert kept.found(words) == set()
    views.pages.close()


def test_a_view_that_is_named_holds_text_until_its_key_is_destroyed(kept: Kept) -> None:
    words = fish()
    conversation = told(kept.log, words)
    views = kept.views(*ALLOWED)
    assert [hit.version for hit in views.search(words[1])] == [8, 3]
    assert views.window(conversation).entries[0].prompt == words[1]
    assert views.conversations().encrypted == ("title",)
    assert views.register(Lengths()) == "lengths"
    assert kept.found(words[1:2])
    assert kept.log.keys is not None
    erase(kept.log.keys, named_subject(TENANT, "ana"))
    for name in VIEWS:
        views.keeper.rebuild(name)
    assert views.search(words[1]).entries == ()
    assert views.window(conversation).entries == ()
    assert views.conversations().entries == ()
    assert [each.key for each in views.audit()] == [None] * 8
    assert kept.verified(views).faults == ()
    views.pages.close()


def test_an_event_that_cannot_be_decrypted_holds_up_its_own_conversation_alone(
    tmp_path: Path,
) -> None:
    log = encrypted(tmp_path, lambda: open_sqlite(tmp_path / "log.db"))
    told(log, fish())
    log.append([appending(uuid4(), started("other"), prompt(), tool_call("c2"))])
    hand = Unruled.open(tmp_path / "log.db")
    hand.run("UPDATE event SET body = ? WHERE position = 3", b"\0" * 40)
    hand.close()
    views = views_beside(log, tmp_path, ALLOWED)
    page = views.search("report")
    assert (len(page), page.parked, page.behind) == (1, 1, 0)
    views.pages.close()
    log.close()
