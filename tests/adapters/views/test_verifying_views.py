"""`verify --views` holds of whatever a log tells, says what lags or waits, and names what was changed."""

from __future__ import annotations

import shutil
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

import onrecord
from onrecord.adapters.storage.postgres.postgres import Postgres
from onrecord.adapters.storage.sqlite.inventory import SqliteMoment
from onrecord.adapters.upkeep import verifying_views
from onrecord.adapters.upkeep.verifying_views import VerifiedViews, verify_views
from onrecord.adapters.views.ports import KeptMoment
from onrecord.adapters.views.postgres.pages import PostgresKept
from onrecord.adapters.views.sqlite import kept
from onrecord.domain.inventory import StoredEvent, StoredHead
from onrecord.domain.items import ItemRecorded
from onrecord.projections.views.registry import VIEWS
from onrecord.projections.views.search import SEARCH
from onrecord.projections.views.view import Row
from tests.adapters.cli.command import in_process, url_of
from tests.adapters.views.histories import Happening, append_of, happenings
from tests.adapters.views.sqlite_places import Opened, in_memory, opened
from tests.adapters.views.workers import Stepping, caught_up
from tests.factories import appending, prompt, started, tool_call
from tests.search import examples
from tests.sqlite_by_hand import ByHand, empty_index


@examples(200)
@given(
    told=st.lists(happenings, min_size=1, max_size=14),
    read_after=st.integers(0, 14),
    forgotten=st.sampled_from([None, 0, 1]),
    is_read=st.booleans(),
)
def test_views_hold_of_any_history_whenever_they_were_read(
    told: Sequence[Happening], read_after: int, forgotten: int | None, is_read: bool
) -> None:
    store, ids = in_memory(), [uuid4() for _ in range(3)]
    for number, happening in enumerate(told):
        if number == read_after:
            read(store)
        store.log.append([append_of(happening, ids[happening.conversation])])
    read(store)
    if forgotten is not None:
        store.log.forget(ids[forgotten])
    if is_read:
        read(store)
    found = compared(store)
    assert found.faults == ()
    assert sum(view.rows for view in found.views) or is_read is False or forgotten is not None
    store.close()


def test_a_view_that_lags_is_not_at_fault(tmp_path: Path) -> None:
    store = opened(tmp_path)
    store.said("Hello", "Hi")
    read(store)
    store.said("And?", "Well.", "So.")
    store.page(SEARCH, match="x", around="x")
    found = compared(store)
    assert found.faults == ()
    behind = {view.view: view.behind for view in found.views}
    assert behind == {**dict.fromkeys(VIEWS, 4), "search": 0}
    store.close()


def test_a_moment_lasts_for_one_long_conversation_or_for_a_few_short_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = opened(tmp_path)
    for _ in range(3):
        store.said(*["Hello"] * 300)
    for _ in range(40):
        store.said("Hello", "Hi")
    read(store)
    kept, moments = store.views.kept(), list[list[tuple[UUID, int]]]()
    lent, paged = type(kept).moment, SqliteMoment.events

    @contextmanager
    def lending(own: Any) -> Generator[KeptMoment]:
        moments.append([])
        with lent(own) as moment:
            yield moment

    def paging(own: Any, of: StoredHead, after: int, limit: int) -> list[StoredEvent]:
        found = paged(own, of, after, limit)
        moments[-1].append((of.conversation_id, len(found)))
        return found

    monkeypatch.setattr(type(kept), "moment", lending)
    monkeypatch.setattr(SqliteMoment, "events", paging)
    assert verify_views(store.log, kept).faults == ()
    told = [told for told in moments if told]
    assert sum(events for read_then in told for _, events in read_then) == 3 * 301 + 40 * 3
    for read_then in told:
        *before, last = dict.fromkeys(which for which, _ in read_then)
        assert sum(events for which, events in read_then if which != last) < 256, before
    store.close()


def test_workers_may_be_behind_and_in_parts(url: str, log: Postgres) -> None:
    for _ in range(5):
        log.append([appending(uuid4(), started(), prompt(), tool_call("c1", "look_up"))])
    caught_up(url, VIEWS)
    gone = uuid4()
    log.append([appending(gone, started(), prompt())])
    worker = Stepping(url, {"search": SEARCH})
    worker.claim()
    worker.finish()
    worker.close()
    log.forget(gone)
    found = verify_views(log, PostgresKept(log.connections))
    assert (found.faults, found.unchecked) == ((), ())
    behind = {view.view: view.behind for view in found.views}
    assert behind == {**dict.fromkeys(VIEWS, 2), "search": 0}


def test_no_page_of_rows_ends_amid_the_calls_of_an_item(
    url: str, log: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: Row = {"type": "tool_use", "name": "track", "input": {}}
    calls = [{**called, "id": each} for each in "abc"]
    said: Row = {"type": "assistant", "message": {"role": "assistant", "content": calls}}
    item = ItemRecorded(framework="claude-agent-sdk", item=said)
    conversation = uuid4()
    log.append([appending(conversation, started(), item, item)])
    caught_up(url, VIEWS)
    views = PostgresKept(log.connections)
    with views.moment() as moment:
        (build,) = (each for each in moment.builds() if each.view == "tool_ledger")
        page = moment.rows(build, str(conversation), 0, 1)
    assert [(row["version"], row["ordinal"]) for row in page] == [(2, 0), (2, 1), (2, 2)]
    for module in (kept, verifying_views):
        monkeypatch.setattr(module, "PAGE", 1)
    assert verify_views(log, views).faults == ()


def test_a_parked_conversation_is_compared_up_to_where_it_waits(tmp_path: Path) -> None:
    store = opened(tmp_path)
    conversation = str(store.said("Hello", "Hi", "What else?"))
    read(store)
    by_hand = views_of(tmp_path)
    by_hand.run("DELETE FROM view_window WHERE version >= 3")
    assert [fault.why for fault in compared(store).faults] == ["view window: 2 rows are missing"]
    by_hand.run(
        "INSERT INTO parked VALUES ('window', 1, ?, '', 3, 3, '', 'Broken', '', 9, 0, NULL)",
        conversation,
    )
    found = compared(store)
    assert found.faults == ()
    assert {view.view: view.parked for view in found.views if view.parked} == {"window": 1}
    by_hand.run("DELETE FROM view_window")
    assert len(compared(store).faults) == 1
    by_hand.close()
    store.close()


def test_an_index_of_views_that_was_emptied_is_found(tmp_path: Path) -> None:
    store = opened(tmp_path)
    store.said("Hello", "Hi")
    read(store)
    [file] = tmp_path.glob("*-views")
    empty_index(file, "view_audit_position")
    found = [fault.why for fault in compared(store).faults]
    assert any(why.startswith("views: their file is damaged: ") for why in found)
    assert any("view_audit_position" in why for why in found)
    store.close()


def test_a_file_of_views_that_is_none_is_a_fault_and_the_log_is_verified(tmp_path: Path) -> None:
    file = tmp_path / "log.db"
    with onrecord.connect(f"sqlite:///{file}") as store:
        store.conversation("support/4711").user("Hello")
        store.views.conversations()
    shutil.copy(file, tmp_path / "log.db-views")
    with onrecord.connect(f"sqlite:///{file}") as store:
        found = store.verify(views=True)
    assert [fault.why.partition(": ")[0] for fault in found.faults] == ["views"]
    assert found.events == 2


def test_what_is_still_to_be_taken_out_is_said(tmp_path: Path) -> None:
    store = opened(tmp_path)
    gone = store.said("Hello", "Hi")
    store.said("Hello", "Hi")
    read(store)
    store.log.forget(gone)
    found = compared(store)
    assert found.faults == ()
    told = "views: 1 erased conversation, taken out of the views as they are read"
    assert found.unchecked == (told,)
    read(store)
    assert compared(store).unchecked == ()
    store.close()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("UPDATE generation SET position = 99", "it says that it has come further than the log"),
        ("UPDATE view_audit SET generation = 7", "it has rows of a generation that there is not"),
        (
            "UPDATE view_audit SET conversation_id = 'nobody'",
            "it has rows of a conversation that the log does not have",
        ),
    ],
)
def test_rows_that_belong_to_nothing_are_found(tmp_path: Path, change: str, why: str) -> None:
    store = opened(tmp_path)
    store.said("Hello")
    read(store)
    by_hand = views_of(tmp_path)
    by_hand.run(change)
    by_hand.close()
    assert f"view audit: {why}" in {fault.why for fault in compared(store).faults}
    store.close()


def test_rows_of_another_release_and_a_file_of_another_log_are_unchecked(tmp_path: Path) -> None:
    store = opened(tmp_path)
    assert compared(store).unchecked == (
        "views: there are none yet, they are made as they are read",
    )
    store.said("Hello")
    read(store)
    by_hand = views_of(tmp_path)
    by_hand.run("UPDATE generation SET revision = 99 WHERE view = 'audit'")
    told = "view audit: another release made its rows: run `onrecord rebuild audit`"
    assert compared(store).unchecked == (told,)
    by_hand.run("UPDATE meta SET incarnation = ?", str(UUID(int=1)))
    (told,) = compared(store).unchecked
    assert told.startswith("views: they are of another log or release")
    by_hand.close()
    store.close()


def test_the_command_says_what_it_compared_and_fails_where_a_row_is_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    url, command = url_of(tmp_path), in_process(monkeypatch, capsys)
    with onrecord.connect(url) as store:
        store.conversation("support/4711").user("Where is my parcel?")
        assert store.views.search("parcel")
        path = Path(url.removeprefix("sqlite:///"))
    whole = command("verify", "--views", "--url", url, "--json")
    assert (whole.code, whole.document["whole"]) == (0, True)
    assert whole.document["views"] == [{"view": "search", "rows": 1, "behind": 0, "parked": 0}]
    by_hand = ByHand.open(path.with_name(f"{path.name}-views"))
    by_hand.run("UPDATE view_search SET role = 'assistant'")
    by_hand.close()
    done = command("verify", "--views", "--url", url)
    assert done.code == 1
    ((_, version, why),) = done.columns
    assert (version, why) == ("2", "view search: 1 row is not what the events come to, in role")
    assert "checked: view search: its rows (1) against the events\n" in done.err
    assert command("verify", "--url", url).code == 0


def compared(store: Opened) -> VerifiedViews:
    return verify_views(store.log, store.views.kept())


def read(store: Opened) -> None:
    """Catch every view up, as reading it does."""
    store.page(SEARCH, match="x", around="x")
    for view in VIEWS.values():
        if view is not SEARCH:
            store.page(view)


def views_of(folder: Path) -> ByHand:
    return ByHand.open(folder / "log.db-views")
