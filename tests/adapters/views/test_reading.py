"""Pages of views: the same on SQLite and PostgreSQL; filters, cursors, and how a view stands."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from decimal import Decimal
from pathlib import Path
from typing import Any, cast
from uuid import UUID, uuid4

import pytest

import onrecord
from onrecord.adapters.storage.postgres.postgres import migrate
from onrecord.adapters.store import Store, backend_of
from onrecord.adapters.views.pages import Page
from onrecord.adapters.views.reading import Views
from onrecord.domain.errors import ConversationNotFound, InvalidInput
from onrecord.domain.events import ResponseCompleted
from onrecord.projections.views.registry import VIEWS
from tests.adapters.views.workers import caught_up
from tests.factories import BECAUSE, answer, tool_call, tool_result
from tests.postgres_server import VERSIONS, server

EVER = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass
class Place:
    """A store, and what brings its views up to date."""

    store: Store
    catch_up: Callable[[], None]

    @property
    def views(self) -> Views:
        self.catch_up()
        return self.store.views


@pytest.fixture(params=["sqlite", "memory", "postgres"])
def place(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Place]:
    monkeypatch.setenv("ONRECORD_ACTOR", "ann")
    if request.param == "postgres":
        version = VERSIONS[-1]
        url = server(version).create("log", migrate)
        with onrecord.connect(url) as store:
            yield Place(store, lambda: caught_up(url, VIEWS))
        server(version).drop(url)
        return
    url = f"sqlite:///{tmp_path / 'talks.db'}" if request.param == "sqlite" else "memory://"
    with onrecord.connect(url) as store:
        yield Place(store, lambda: None)


def said(store: Store, key: str, *texts: str) -> UUID:
    chat = store.conversation(key)
    chat.user(texts[0])
    for text in texts[1:]:
        chat.log.append(answer(text))
    return chat.conversation_id


def paged(ask: Callable[..., Page[Any]], **asked: Any) -> list[Any]:
    """All entries, page by page."""
    found: list[Any] = []
    page = ask(**asked)
    while True:
        found += page.entries
        if page.after is None:
            return found
        page = ask(after=page.after, **asked)


def test_pages_together_are_the_whole(place: Place) -> None:
    for number in range(5):
        said(place.store, f"support/{number}", "Hello", "Hi")
    views = place.views
    whole = views.audit(limit=1_000)
    assert (len(whole), whole.after) == (15, None)
    for size in (1, 4, 14, 15, 16):
        assert paged(views.audit, limit=size) == list(whole)


def test_a_page_says_how_far_the_view_is(place: Place) -> None:
    said(place.store, "support/4711", "Hello", "Hi")
    page = place.views.audit(limit=1)
    assert (page.position, page.behind, page.parked, page.stopped) == (3, 0, 0, None)


def test_a_view_that_is_paused_says_so_and_how_far_behind_it_is(place: Place) -> None:
    said(place.store, "support/4711", "Hello")
    place.views.audit()
    place.store.views.keeper.pause("audit")
    said(place.store, "support/4711", "Are you there?")
    page = place.views.audit()
    assert (page.position, page.behind, len(page)) == (2, 1, 2)
    assert page.stopped == "it was paused; `onrecord resume audit` lets it go on"
    place.store.views.keeper.resume("audit")
    page = place.views.audit()
    assert (page.behind, page.stopped) == (0, None)


def test_a_cursor_goes_with_the_view_and_the_filters_that_it_came_of(place: Place) -> None:
    said(place.store, "support/4711", "Hello", "Hi")
    views = place.views
    after = views.audit(limit=1).after
    assert after is not None
    with pytest.raises(InvalidInput, match="another view, or with other filters"):
        views.audit(type="message.recorded", after=after)
    with pytest.raises(InvalidInput, match="another view, or with other filters"):
        views.conversations(after=after)
    assert len(views.audit(limit=7, after=after)) == 2


@pytest.mark.parametrize("after", ["", "?", "AAAA", "W10", "bm9uZQ", "\ud800", "é"])
def test_what_is_no_cursor_is_refused(place: Place, after: str) -> None:
    with pytest.raises(InvalidInput):
        place.store.views.audit(after=after)


def test_a_cursor_tells_nothing_of_the_filters(place: Place) -> None:
    said(place.store, "support/4711", "Hello", "Hi")
    after = place.views.audit(actor="ann", limit=1).after
    assert after is not None
    digest = backend_of(place.store).digest("ann")
    told = {"ann", digest.hex(), urlsafe_b64encode(digest).decode().rstrip("=")}
    assert not any(each in after for each in told)


@pytest.mark.parametrize("position", ["x", "-5", str(2**70), ".1", "1,1", ""])
def test_a_cursor_that_was_changed_is_refused(place: Place, position: str) -> None:
    said(place.store, "support/4711", "Hello", "Hi")
    page = place.views.audit(limit=1)
    assert page.after is not None
    changed = position + page.after.removeprefix(str(page.entries[0].position))
    with pytest.raises(InvalidInput, match="none that a page gave"):
        place.store.views.audit(after=changed)


def test_a_key_that_no_text_of_a_database_holds_is_found_all_the_same(place: Place) -> None:
    said(place.store, "support\0 4711", "Hello")
    assert len(place.views.conversations(key="support\0 4711")) == 1
    assert len(place.views.audit(type="\0")) == 0


def test_what_no_filter_takes_is_refused(place: Place) -> None:
    views, wrong = place.store.views, cast("Any", 5)
    for ask in (
        lambda: views.conversations(closed=wrong),
        lambda: views.conversations(key=wrong),
        lambda: views.search(wrong),
        lambda: views.window(cast("Any", None)),
        lambda: views.keeper.retry("audit", cast("Any", "support/4711")),
    ):
        with pytest.raises(InvalidInput, match=r"\bis\b"):
            ask()


@pytest.mark.parametrize("limit", [0, -1, 1_001, True, "5", 2.0, None])
def test_a_limit_that_no_page_has_is_refused(place: Place, limit: Any) -> None:
    with pytest.raises(InvalidInput, match="from 1 to 1,000"):
        place.store.views.audit(limit=limit)


class Zoneless(tzinfo):
    """A time zone that does not say which."""

    def utcoffset(self, dt: datetime | None, /) -> None:
        return None

    def dst(self, dt: datetime | None, /) -> None:
        return None

    def tzname(self, dt: datetime | None, /) -> None:
        return None


@pytest.mark.parametrize(
    "since",
    [
        datetime(2026, 1, 1),
        datetime(2026, 1, 1, tzinfo=Zoneless()),
        "2026-01-01",
        5,
        date(2026, 1, 1),
    ],
)
def test_a_time_has_a_zone(place: Place, since: Any) -> None:
    with pytest.raises(InvalidInput, match="since"):
        place.store.views.audit(since=since)


def test_a_day_is_no_time(place: Place) -> None:
    wrong: Any = datetime(2026, 1, 1, tzinfo=UTC)
    with pytest.raises(InvalidInput, match="a day"):
        place.store.views.usage(since=wrong)


def test_audit_is_filtered_by_who_what_and_when(place: Place) -> None:
    chat = place.store.conversation("support/4711")
    chat.user("Hello")
    chat.log.append(tool_call("c1", "look_up"))
    chat.log.append(tool_result("c1"))
    other = said(place.store, "support/4712", "Hello")
    views = place.views
    assert [deed.tool for deed in views.audit(tool="look_up")] == ["look_up"]
    assert len(views.audit(type="conversation.started")) == 2
    assert len(views.audit(actor="ann")) == len(views.audit()) == 6
    assert len(views.audit(actor="bob")) == 0
    assert {deed.conversation_id for deed in views.audit(conversation="support/4712")} == {other}
    assert (
        views.audit(conversation=other).entries == views.audit(conversation="support/4712").entries
    )
    assert len(views.audit(since=EVER)) == 6
    assert len(views.audit(until=EVER)) == 0
    at = EVER + timedelta(microseconds=views.audit(limit=1).entries[0].recorded_at)
    assert len(views.audit(since=at)) >= 1
    assert len(views.audit(since=at + timedelta(microseconds=1))) == 0


def test_a_conversation_that_is_not_there_is_told(place: Place) -> None:
    with pytest.raises(ConversationNotFound):
        place.store.views.audit(conversation="support/none")
    assert len(place.views.audit(conversation=uuid4())) == 0


def test_another_tenants_conversations_are_on_no_page(place: Place) -> None:
    answered(place.store, "support/4711", "model-1", 5)
    conversation = place.store.get("support/4711").conversation_id
    ours = place.views
    theirs = Views(
        ours.pages,
        lambda: ours.keeper,
        backend_of(place.store),
        uuid4(),
        own_projections=ours.own_projections,
    )

    def pages(views: Views) -> list[int]:
        return [
            len(views.audit(conversation=conversation)),
            len(views.search("depot")),
            len(views.conversations()),
            len(views.tool_calls()),
            len(views.usage()),
            len(views.usage_total()),
            len(views.window(conversation)),
        ]

    assert all(pages(ours))
    assert not any(pages(theirs))
    after = ours.audit(limit=1).after
    with pytest.raises(InvalidInput, match="another view, or with other filters"):
        theirs.audit(limit=1, after=after)


def test_conversations_are_listed_by_their_last_activity(place: Place) -> None:
    for key in ("a", "b", "c"):
        said(place.store, key, f"Hello from {key}", "Hi")
    place.store.conversation("a").user("And?")
    views = place.views
    assert [found.key for found in views.conversations()] == ["a", "c", "b"]
    assert [found.key for found in paged(views.conversations, limit=1)] == ["a", "c", "b"]
    (found,) = views.conversations(key="a")
    assert (found.title, found.exchanges, found.user_messages) == ("Hello from a", 2, 2)
    assert [found.key for found in views.conversations(actor="ann")] == ["a", "c", "b"]
    assert len(views.conversations(actor="bob")) == 0
    assert len(views.conversations(closed=True)) == 0
    assert len(views.conversations(closed=False)) == 3


def test_what_was_said_is_found_and_what_was_redacted_or_forgotten_is_not(place: Place) -> None:
    said(place.store, "a", "Where is the parcel?", "It is in depot North.")
    said(place.store, "b", "Where is depot North?")
    found = place.views.search("depot north")
    assert [(hit.version, hit.role) for hit in found] == [(2, "user"), (3, "assistant")]
    assert "depot North" in found.entries[1].excerpt
    assert [hit.role for hit in place.store.views.search("north -parcel", role="user")] == ["user"]
    assert len(place.store.views.search('"north depot"')) == 0
    place.store.conversation("a").redact(3)
    assert len(place.views.search("depot")) == 1
    place.store.forget("b", **BECAUSE)
    assert len(place.store.views.search("depot")) == 0
    with pytest.raises(InvalidInput, match="nothing to look for"):
        place.store.views.search("-north")


def test_a_forgotten_conversation_is_on_no_page_that_tells_of_it(place: Place) -> None:
    conversation = said(place.store, "a", "Hello")
    assert [found.conversation_id for found in place.views.conversations()] == [conversation]
    place.store.forget("a", **BECAUSE)
    assert len(place.store.views.conversations()) == 0
    assert len(place.views.conversations()) == 0
    assert len(place.store.views.search("hello")) == 0


def answered(store: Store, key: str, model: str, tokens: int) -> None:
    """A response of a model, that called a tool, and its result."""
    response = uuid4()
    chat = store.conversation(key)
    chat.user("Track it.")
    chat.log.append(tool_call(f"{key}/1", "track"))
    chat.log.append(
        ResponseCompleted(
            response=response,
            request=uuid4(),
            api="anthropic-messages",
            model=model,
            stop_reason="end_turn",
            input_tokens=tokens,
            output_tokens=1,
            envelope={},
        )
    )
    chat.log.append(tool_result(f"{key}/1", "in depot North"))
    chat.log.append(answer("It is in depot North."))


def test_tokens_are_added_up_by_day_and_model_and_cost_what_the_prices_say(
    place: Place, tmp_path: Path
) -> None:
    answered(place.store, "a", "model-1", 1_000_000)
    answered(place.store, "b", "model-1", 1_000_000)
    answered(place.store, "c", "model-2", 5)
    views = place.views
    by_day = [(used.model, used.responses, used.input_tokens) for used in views.usage()]
    assert by_day == [("model-1", 2, 2_000_000), ("model-2", 1, 5)]
    assert paged(views.usage, limit=1) == list(views.usage())
    total = views.usage_total()
    assert [(used.day, used.model, used.responses) for used in total] == [
        (None, "model-1", 2),
        (None, "model-2", 1),
    ]
    assert (total.after, total.behind) == (None, 0)
    assert len(views.usage(model="model-2")) == len(views.usage_total(api="gemini")) + 1 == 1
    (used,) = views.usage(model="model-1")
    assert used.day is not None
    assert len(views.usage(until=used.day)) == 0
    assert len(views.usage(since=used.day)) == 2
    prices = tmp_path / "prices.toml"
    prices.write_text('[models."model-1"]\ninput = 3\noutput = 500000\n', encoding="utf-8")
    assert views.cost(used, prices) == Decimal(7)
    assert views.cost(total.entries[1], prices) is None


def test_calls_of_tools_are_shown_with_what_they_gave(place: Place) -> None:
    answered(place.store, "a", "model-1", 1)
    chat = place.store.conversation("b")
    chat.user("Track it.")
    chat.log.append(tool_call("open", "weigh"))
    views = place.views
    assert [(call.name, call.status) for call in views.tool_calls()] == [
        ("weigh", "open"),
        ("track", "done"),
    ]
    (call,) = views.tool_calls(name="track")
    assert call.result == "in depot North"
    assert paged(views.tool_calls, limit=1) == list(views.tool_calls())
    assert len(views.tool_calls(conversation="b", status="open", kind="tool")) == 1
    assert len(views.tool_calls(arguments_digest=call.arguments_digest)) == 2
    with pytest.raises(InvalidInput, match="open, unawaited"):
        views.tool_calls(status="lost")


def test_a_window_is_the_last_exchanges_of_a_conversation(place: Place) -> None:
    for number in range(1, 6):
        said(place.store, "a", f"Question {number}", f"Answer {number}")
    said(place.store, "b", "Another", "One")
    views = place.views
    page = views.window("a", exchanges=2)
    assert [entry.prompt for entry in page] == ["Question 5", "Question 4"]
    assert onrecord.remembered(page) == [
        ("user", "Question 4"),
        ("assistant", "Answer 4"),
        ("user", "Question 5"),
        ("assistant", "Answer 5"),
    ]
    (one, *_) = views.window("a", exchanges=2, after=page.after)
    assert one.prompt == "Question 3"
    with pytest.raises(ConversationNotFound):
        views.window("none")


def test_a_rebuild_gives_the_same_pages_of_another_generation(place: Place) -> None:
    answered(place.store, "a", "model-1", 5)
    views = place.views
    before = [views.audit(), views.search("track"), views.usage(), views.window("a")]
    for name in VIEWS:
        views.keeper.rebuild(name)
    after = [views.audit(), views.search("track"), views.usage(), views.window("a")]
    assert after == before
    standings = views.keeper.status()
    assert [standing.view for standing in standings] == sorted(VIEWS)
    assert {(standing.generation, standing.behind) for standing in standings} == {(2, 0)}
