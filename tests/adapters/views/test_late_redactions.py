"""No answer of a view quotes what the log says is redacted by now, however far behind the view is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from uuid import uuid4

import pytest

import onrecord
from onrecord.adapters.encryption.key_file import new_key_file
from onrecord.adapters.storage.memory.memory import Memory
from onrecord.adapters.store import backend_of
from onrecord.adapters.views.encrypted import reading_of
from onrecord.adapters.views.ports import PageQuery
from onrecord.adapters.views.sqlite.views import SqliteViews
from onrecord.domain.events import ContentRedacted
from onrecord.projections.views.registry import VIEWS
from onrecord.projections.views.search import SEARCH, parse_query
from onrecord.projections.views.view import Changes, EventBatch, Row
from tests.adapters.views.workers import Unfoldable, caught_up
from tests.databases import url_of
from tests.factories import TENANT, appending, prompt

QUOTING = ("search", "tool_ledger", "conversations", "window", "audit")


@dataclass
class Place:
    """A store whose views quote, and what brings them up to date."""

    store: onrecord.Store
    catch_up: Callable[[], None]

    def stand_still(self) -> None:
        """Fold all that there is, then let the views fold no more."""
        self.catch_up()
        self.quoted("swordfish")
        for view in QUOTING:
            self.store.views.keeper.pause(view)

    def resume(self) -> None:
        """Let the views go on, and fold what was done meanwhile."""
        for view in QUOTING:
            self.store.views.keeper.resume(view)
        self.catch_up()

    def quoted(self, word: str) -> str:
        """All that the answers of the views quote, when somebody looks for a word."""
        views = self.store.views
        hits, calls = views.search(word), views.tool_calls()
        entries = (*views.window("fish"), *views.conversations(), *views.audit(), *calls, *hits)
        return repr(entries).lower()


def nothing() -> None:
    """What has to be done where views are folded as they are read."""


@pytest.fixture(params=["memory", "sqlite", "postgres", "encrypted sqlite", "encrypted postgres"])
def place(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Place]:
    kind = request.param.removeprefix("encrypted ")
    if kind != request.param:
        new_key_file(tmp_path / "kek")
        monkeypatch.setenv("ONRECORD_KEYS", str(tmp_path / "keys.db"))
        monkeypatch.setenv("ONRECORD_KEK", str(tmp_path / "kek"))
        monkeypatch.setenv("ONRECORD_PLAIN_VIEWS", " ".join(QUOTING))
    with ExitStack() as scopes:
        for url in url_of(kind, tmp_path):
            store = scopes.enter_context(onrecord.connect(url))
            reading = reading_of(backend_of(store))

            # Others fold their views as they are read.
            fold = partial(caught_up, url, VIEWS, reading) if kind == "postgres" else nothing
            yield Place(store, fold)
            scopes.close()


def test_what_was_redacted_is_quoted_no_more_though_the_view_has_not_folded_it(
    place: Place,
) -> None:
    chat = place.store.conversation("fish")
    chat.user("A swordfish asks.")
    chat.assistant("", calls=[onrecord.AssistantCall("track", {"fish": "swordfish"})])
    (call,) = chat.open_calls()
    chat.tool_result(call.id, "A swordfish swims.")
    chat.assistant("The swordfish swims.")
    place.store.conversation("other").user("Another swordfish stays.")
    place.stand_still()
    said = ("message.recorded", "tool_call.recorded", "tool_result.recorded")
    for version in [event.version for event in chat.events() if event.type in said]:
        chat.redact(version)
    hits = place.store.views.search("swordfish")
    assert [hit.excerpt for hit in hits] == ["Another swordfish stays."]
    assert hits.behind
    assert place.quoted("swordfish").count("swordfish") == 2, "of the other one: hit and title"


def test_a_result_goes_with_a_document_of_it_that_was_redacted(
    place: Place, tmp_path: Path
) -> None:
    paper = tmp_path / "swordfish.pdf"
    paper.write_bytes(b"%PDF-1.7 fish")
    chat = place.store.conversation("fish")
    chat.assistant("", calls=[onrecord.AssistantCall("fetch", {})])
    (call,) = chat.open_calls()
    chat.tool_result(call.id, ["It is here:", paper])
    place.stand_still()
    assert "swordfish" in place.quoted("swordfish")
    (version,) = [each.version for each in chat.events() if each.type == "document.extracted"]
    chat.redact(version)
    assert "swordfish" not in place.quoted("swordfish")


def test_what_was_redacted_long_ago_hides_nothing_else(place: Place) -> None:
    chat = place.store.conversation("fish")
    chat.user("A swordfish asks.")
    chat.redact(chat.head().version)
    chat.assistant("", calls=[onrecord.AssistantCall("track", {})])
    (call,) = chat.open_calls()
    chat.tool_result(call.id, "A swordfish swims.")
    place.stand_still()
    chat.user("And now?")
    assert [hit.role for hit in place.store.views.search("swordfish")] == ["tool"]


def test_pages_go_on_behind_what_is_not_shown(place: Place) -> None:
    chat = place.store.conversation("fish")
    for number in range(4):
        chat.user(f"Swordfish {number}")
    versions = [each.version for each in chat.events() if each.type == "message.recorded"]
    place.stand_still()
    chat.redact(versions[-1])
    chat.redact(versions[-2])
    first = place.store.views.search("swordfish", limit=2)
    assert (len(first), first.after is not None) == (0, True)
    rest = place.store.views.search("swordfish", limit=2, after=first.after)
    assert [hit.version for hit in rest] == [versions[1], versions[0]]


def test_the_audit_finds_by_a_text_no_event_that_was_redacted(place: Place) -> None:
    chat = place.store.conversation("fish")
    chat.user("A swordfish asks.")
    place.stand_still()
    assert len(place.store.views.audit(text="swordfish")) == 1
    chat.redact(chat.head().version)
    assert len(place.store.views.audit(text="swordfish")) == 0


def test_the_audit_names_of_a_redacted_event_only_that_it_was(place: Place, tmp_path: Path) -> None:
    paper = tmp_path / "paper.pdf"
    paper.write_bytes(b"%PDF-1.7 fish")
    chat = place.store.conversation("fish")
    chat.instruct("Speak of fish.")
    chat.user("What is it?", documents=[paper])
    chat.annotate({"kind": "swordfish"})
    chat.record_request({"model": "swordmodel", **chat.request("openai-chat")}, api="openai-chat")
    chat.assistant("", calls=[onrecord.AssistantCall("swordtool", {})])
    (call,) = chat.open_calls()
    chat.tool_result(call.id, "It swims.")
    place.store.conversation("other").user("It stays.")
    place.stand_still()
    audit = place.store.views.audit
    before = {each.version: each for each in audit(conversation="fish")}
    (rules,) = [each.sha256 for each in before.values() if each.type == "instructions.set"]
    (digest,) = {each for entry in before.values() for each in entry.documents}
    asks: dict[str, Callable[[], onrecord.Page[onrecord.AuditEntry]]] = {
        "tool": partial(audit, tool="swordtool"),
        "model": partial(audit, model="swordmodel"),
        "outcome": partial(audit, outcome="done"),
        "document": partial(audit, document=digest),
        "label": partial(audit, label="kind", label_value="swordfish"),
    }
    assert all(len(ask()) for ask in asks.values())
    assert rules is not None
    assert len(place.store.views.in_force(instructions=rules)) == 1
    for version in before:
        chat.redact(version)
    late = {each.version: each for each in audit(conversation="fish") if each.version in before}
    assert late.keys() == before.keys(), "what was done stays"
    told = ("api", "model", "tool", "sha256", "outcome")
    assert {getattr(each, name) for each in late.values() for name in told} == {None}
    assert {each.documents for each in late.values()} == {()}
    assert [(name, ask().entries) for name, ask in asks.items() if len(ask())] == []
    assert len(place.store.views.in_force(instructions=rules)) == 0
    assert len(place.store.views.in_force(model="swordmodel")) == 0
    place.resume()
    assert {each.version: each for each in audit(conversation="fish")}.items() >= late.items()


@dataclass(frozen=True, slots=True)
class Stuck:
    """The view `search`, but that it can fold no redaction."""

    name: str = SEARCH.name
    revision: int = SEARCH.revision
    strict: bool = False
    types: frozenset[str] = SEARCH.types
    texts: frozenset[str] = SEARCH.texts

    def wanted(self, batch: EventBatch) -> list[Row]:
        return SEARCH.wanted(batch)

    def fold(self, batch: EventBatch, known: Sequence[Row]) -> Changes:
        if any(event.type == "content.redacted" for event in batch.events):
            raise Unfoldable
        return SEARCH.fold(batch, known)


def test_a_redaction_that_is_parked_holds_in_memory() -> None:
    log, conversation = Memory(), uuid4()
    log.append([appending(conversation, prompt("a swordfish"), ContentRedacted(version=1))])
    views = SqliteViews(log, None, now=lambda: 1)
    filters = parse_query("swordfish").filters()
    page = views.page(PageQuery(Stuck(), "search_page", TENANT, filters, {}, 2))
    assert (page.parked, page.behind) == (1, 0)
    assert page.redacted == {str(conversation): {1}}


def test_a_redaction_that_is_parked_holds_on_a_server(tmp_path: Path) -> None:
    for url in url_of("postgres", tmp_path):
        with onrecord.connect(url) as store:
            chat = store.conversation("fish")
            chat.user("A swordfish asks.")
            caught_up(url, {"search": Stuck()})
            assert len(store.views.search("swordfish")) == 1
            chat.redact(chat.head().version)
            caught_up(url, {"search": Stuck()})
            page = store.views.search("swordfish")
            assert (page.parked, page.behind, len(page)) == (1, 0, 0)
