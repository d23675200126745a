"""Views on SQLite and in memory catch up when they are read, keep to their bounds, and are rebuilt."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from onrecord.adapters.views.sqlite import builds, feeding
from onrecord.domain.errors import InvalidInput, ViewStopped
from onrecord.projections.views.audit import AUDIT
from onrecord.projections.views.step import CIRCUIT, LAST_ATTEMPT
from tests.adapters.views.sqlite_places import SECOND, Fragile, Opened, in_memory, opened


@pytest.fixture(params=["sqlite", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opened]:
    place = opened(tmp_path) if request.param == "sqlite" else in_memory()
    yield place
    place.close()


def small_pages(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(feeding, "PAGE", size)


def fragile(store: Opened, monkeypatch: pytest.MonkeyPatch, view: Fragile) -> Fragile:
    monkeypatch.setitem(store.views.known, "audit", view)
    return view


def test_a_view_catches_up_when_it_is_read(store: Opened) -> None:
    assert store.page().rows == ()
    store.said("Hello", "Hi")
    found = store.page()
    assert [row["position"] for row in found.rows] == [3, 2, 1]
    assert (found.position, found.behind, found.parked) == (3, 0, 0)
    store.said("And?")
    assert store.positions() == [5, 4, 3, 2, 1]


def test_another_opening_goes_on_where_the_last_one_was(tmp_path: Path) -> None:
    first = opened(tmp_path)
    first.said("Hello")
    before = first.page()
    first.close()
    second = opened(tmp_path)
    assert second.page() == before
    assert second.views.status()[0].generation == 1
    second.close()


def test_a_page_is_answered_after_so_many_events(
    store: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_pages(monkeypatch, 2)
    monkeypatch.setattr(builds, "MOST_EVENTS", 4)
    for _ in range(5):
        store.said("Hello")
    found = store.page()
    assert (found.position, found.behind) == (4, 6)
    assert [row["position"] for row in found.rows] == [4, 3, 2, 1]
    assert [store.page().position for _ in range(3)] == [8, 10, 10]


def test_a_page_is_answered_after_so_long(store: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    small_pages(monkeypatch, 2)
    for _ in range(5):
        store.said("Hello")
    store.ticking.a_look_takes = builds.MOST_SECONDS / 2
    assert store.page().behind == 8
    store.ticking.a_look_takes = 0
    assert store.page().behind == 0


def test_few_events_are_folded_at_once_until_it_is_known_how_long_that_takes(
    store: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(builds, "MOST_EVENTS", 1)
    for _ in range(4):
        store.said(*("Hello",) * 99)
    assert [store.page().position for _ in range(3)] == [64, 192, 400]


def test_a_page_and_how_far_it_goes_are_of_one_moment(store: Opened) -> None:
    store.said("Hello")
    found = store.page(limit=1)
    assert [row["position"] for row in found.rows] == [found.position]


def test_a_failing_event_is_parked_and_only_its_conversation_waits(store: Opened) -> None:
    failing, other = store.said("Hello", "Hi", "Ho"), store.said("Hello")
    view = Fragile(conversations={failing})
    found = store.page(view)
    assert [row["position"] for row in found.rows] == [6, 5, 1]
    assert (found.position, found.behind, found.parked) == (6, 0, 1)
    (parked,) = store.views.parked()
    assert (parked.conversation_id, parked.version, parked.position) == (failing, 2, 2)
    assert (parked.kind, parked.attempts, parked.generation) == ("Broken", 1, 1)
    assert parked.error.startswith("Broken at sqlite_places.py:")
    assert parked.retry_at == store.ticking.time + SECOND
    assert other not in {event.conversation_id for event in store.views.parked("audit")}


def test_a_parked_event_is_tried_again_when_it_is_due_and_not_before(store: Opened) -> None:
    failing = store.said("Hello", "Hi")
    view = Fragile(conversations={failing})
    store.page(view)
    view.conversations.clear()
    assert store.positions(view) == [1]
    store.ticking.time += SECOND
    assert store.positions(view) == [3, 2, 1]
    assert store.views.parked() == []


def test_what_comes_behind_a_parked_event_is_folded_with_it_in_steps(
    store: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_pages(monkeypatch, 2)
    failing = store.said("Hello", *("Hi",) * 6)
    view = Fragile(conversations={failing})
    store.page(view)
    view.conversations.clear()
    assert store.views.retry("audit") == 1
    assert store.positions(view) == [8, 7, 6, 5, 4, 3, 2, 1]
    assert store.views.parked() == []


def test_each_failure_makes_the_next_try_later_until_it_waits_for_a_person(
    store: Opened,
) -> None:
    view = Fragile(conversations={store.said("Hello")})
    waits: list[int | None] = []
    store.page(view)
    for _ in range(LAST_ATTEMPT):
        (parked,) = store.views.parked()
        waits.append(None if parked.retry_at is None else parked.retry_at - store.ticking.time)
        store.ticking.time += 10_000 * SECOND
        store.page(view)
    assert waits == [SECOND * 4**power for power in range(LAST_ATTEMPT - 1)] + [None]


def test_who_waits_for_a_person_is_tried_again_when_a_person_says_so(
    store: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = store.said("Hello"), store.said("Hello")
    view = fragile(store, monkeypatch, Fragile(conversations={one, two}))
    for _ in range(LAST_ATTEMPT):
        store.page(view)
        store.ticking.time += 10_000 * SECOND
    view.conversations.clear()
    assert store.page(view).parked == 2
    assert store.views.retry("audit", one) == 1
    assert [parked.conversation_id for parked in store.views.parked()] == [two]


def test_a_strict_view_stands_still_before_the_event_that_it_cannot_fold(store: Opened) -> None:
    store.said("Hello")
    failing = store.said("Hello")
    store.said("Hello")
    view = Fragile(strict=True, conversations={failing})
    found = store.page(view)
    assert (found.position, found.behind, found.parked) == (3, 3, 0)
    assert found.stopped is not None
    assert f"cannot fold event 2 (message.recorded) of conversation {failing}" in found.stopped
    view.conversations.clear()
    assert store.page(view).position == 3
    store.views.resume("audit")
    assert store.page(view).behind == 0


def test_many_failures_of_one_kind_stop_the_view(store: Opened) -> None:
    view = Fragile(conversations={store.said("Hello") for _ in range(CIRCUIT)})
    found = store.page(view)
    assert (found.parked, found.behind) == (CIRCUIT, 0)
    assert found.stopped is not None
    assert "Broken" in found.stopped
    later = store.said("Hello")
    assert store.page(view).behind == 2
    view.conversations = {later}
    store.ticking.time += SECOND
    store.views.resume("audit")
    found = store.page(view)
    assert (found.stopped, found.parked, found.behind) == (None, 1, 0)


def test_a_paused_view_stands_still_until_it_is_resumed(store: Opened) -> None:
    store.said("Hello")
    store.page()
    store.views.pause("audit")
    store.said("Hello")
    assert store.page().behind == 2
    assert store.views.status()[0].paused
    store.views.resume("audit")
    assert store.page().behind == 0


def test_a_rebuild_makes_the_same_rows_beside_those_that_are_read(
    store: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_pages(monkeypatch, 2)
    for _ in range(3):
        store.said("Hello", "Hi")
    before = store.page()
    seen: list[tuple[int, int]] = []

    def progress(done: int, of: int) -> None:
        seen.append((done, of))
        assert store.page().rows == before.rows

    store.views.rebuild("audit", progress)
    assert seen[0] == (2, 9)
    assert seen[-1] == (9, 9)
    assert store.page() == before
    (standing,) = [found for found in store.views.status() if found.view == "audit"]
    assert (standing.generation, standing.building, standing.behind) == (2, None, 0)
    store.views.rebuild("audit")
    assert store.page() == before


def test_what_is_said_during_a_rebuild_is_in_both_generations(
    store: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_pages(monkeypatch, 2)
    for _ in range(3):
        store.said("Hello")
    left = [store.page().position]

    def progress(done: int, of: int) -> None:
        if left[-1] < 12:
            store.said("And?")
            found = store.page()
            left.append(found.position)
            assert found.behind == 0

    store.views.rebuild("audit", progress)
    found = store.page()
    assert [row["position"] for row in found.rows] == list(range(found.position, 0, -1))
    assert found.behind == 0


def test_a_rebuild_that_was_ended_goes_on_where_it_was(
    store: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_pages(monkeypatch, 2)
    for _ in range(4):
        store.said("Hello")
    before = store.page()

    def ended(done: int, of: int) -> None:
        if done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.views.rebuild("audit", ended)
    (standing,) = [found for found in store.views.status() if found.view == "audit"]
    assert (standing.generation, standing.building, standing.built) == (1, 2, 4)
    seen: list[int] = []
    store.views.rebuild("audit", lambda done, _: seen.append(done))
    assert seen[0] == 6
    assert store.page() == before


def test_an_abandoned_rebuild_leaves_nothing(
    store: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_pages(monkeypatch, 2)
    store.said("Hello", "Hi", "Ho")
    before = store.page()

    def ended(done: int, of: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.views.rebuild("audit", ended)
    assert store.views.abandon("audit")
    assert not store.views.abandon("audit")
    (standing,) = [found for found in store.views.status() if found.view == "audit"]
    assert (standing.generation, standing.building) == (1, None)
    assert store.page() == before


def test_a_rebuild_that_cannot_go_on_leaves_the_view_that_is_read(
    store: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = fragile(store, monkeypatch, Fragile(strict=True))
    conversation = store.said("Hello")
    before = store.page(view)
    view.conversations.add(conversation)
    with pytest.raises(ViewStopped, match="cannot fold event 2"):
        store.views.rebuild("audit")
    store.said("And?")
    found = store.page(view)
    assert (found.stopped, found.behind) == (None, 0)
    assert len(found.rows) == len(before.rows) + 2


def test_a_view_whose_fold_is_another_by_now_is_rebuilt_when_it_is_read(
    store: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_pages(monkeypatch, 2)
    for _ in range(3):
        store.said("Hello")
    before = store.page()
    newer = Fragile(revision=AUDIT.revision + 1)
    monkeypatch.setattr(builds, "MOST_EVENTS", 2)
    assert store.page(newer).rows == before.rows
    store.said("And?")
    assert store.page(newer).behind == 2
    while store.page(newer).behind:
        pass
    (standing,) = [found for found in store.views.status() if found.view == "audit"]
    assert (standing.generation, standing.revision, standing.behind) == (2, newer.revision, 0)
    assert store.positions(newer) == list(range(8, 0, -1))


def test_an_older_release_leaves_what_a_newer_one_made(
    store: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.said("Hello")
    newer = Fragile(revision=AUDIT.revision + 1)
    assert store.page(newer).behind == 0
    store.said("And?")
    older = store.page()
    assert (older.behind, len(older.rows)) == (2, 2)
    assert older.stopped is not None
    assert "a newer Onrecord made it" in older.stopped
    assert store.page(newer).behind == 0
    assert len(store.page().rows) == 4
    store.views.rebuild("audit")
    assert (store.page().stopped, store.page().behind) == (None, 0)


def test_an_older_release_does_not_switch_what_a_newer_one_makes(
    store: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_pages(monkeypatch, 2)
    for _ in range(3):
        store.said("Hello")
    store.page()
    monkeypatch.setattr(builds, "MOST_EVENTS", 2)
    store.page(Fragile(revision=AUDIT.revision + 1))
    store.said("And?")
    assert [store.page().behind for _ in range(3)] == [0, 0, 0]
    (standing,) = [found for found in store.views.status() if found.view == "audit"]
    assert (standing.generation, standing.revision, standing.building) == (1, AUDIT.revision, 2)


def test_a_parked_event_that_is_erased_waits_no_more(
    store: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing = store.said("Hello", "Hi")
    view = Fragile(conversations={failing})
    for _ in range(LAST_ATTEMPT):
        store.page(view)
        store.ticking.time += 10_000 * SECOND
    assert [parked.retry_at for parked in store.views.parked()] == [None]
    view.conversations.clear()
    store.log.forget(failing)
    assert store.positions(view) == [3, 2, 1]
    assert store.views.parked() == []


def test_a_rebuild_mends_a_view_that_had_stopped(
    store: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = fragile(store, monkeypatch, Fragile(strict=True, conversations={store.said("Hello")}))
    assert store.page(view).stopped is not None
    view.conversations.clear()
    store.views.rebuild("audit")
    found = store.page(view)
    assert (found.stopped, found.behind, len(found.rows)) == (None, 0, 2)


@pytest.mark.parametrize("verb", ["pause", "resume", "retry", "rebuild", "abandon", "parked"])
def test_a_view_that_there_is_not_is_told_with_those_that_there_are(
    store: Opened, verb: str
) -> None:
    with pytest.raises(InvalidInput, match=r"there are .*audit"):
        getattr(store.views, verb)("autid")


def test_looking_how_views_stand_makes_no_file(tmp_path: Path) -> None:
    store = opened(tmp_path)
    store.said("Hello")
    assert {(found.generation, found.behind) for found in store.views.status()} == {(None, 2)}
    assert store.views.parked() == []
    assert not (tmp_path / "log.db-views").exists()
    store.close()
