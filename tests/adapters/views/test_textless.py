"""Views in an encrypted store: which columns they leave out, and what is refused there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onrecord.adapters.upkeep.verifying_views import verify_views
from onrecord.adapters.views.own_projections import register_projection, views_of_store
from onrecord.adapters.views.sqlite.feeding import SqliteRows
from onrecord.adapters.views.sqlite.kept import kept_rows, scratch
from onrecord.adapters.views.sqlite.views import SqliteViews
from onrecord.domain.errors import InvalidInput
from onrecord.domain.log import RecordedEvent
from onrecord.projections.views.planning import Build, feeding
from onrecord.projections.views.registry import EVERYTHING, VIEWS, Textless, TextPolicy
from onrecord.projections.views.step import event_batches, step
from onrecord.projections.views.view import ALL_COLUMNS, NO_TEXT, Feed, Row, View
from tests.adapters.views.histories import histories, pieces
from tests.adapters.views.own_projections import Mailbox
from tests.adapters.views.row_stores import in_pieces
from tests.adapters.views.sqlite_places import opened
from tests.search import examples

NOTHING_ALLOWED: Final = TextPolicy(is_encrypted=True)


def rows_of(view: View, steps: Sequence[Sequence[RecordedEvent]]) -> list[Row]:
    """The rows that a view keeps of a history that is folded in steps."""
    build = Build(view.name, 1, view.revision, "live")
    with scratch() as space, space.transaction() as session:
        for events in steps:
            assert step(Feed(view, 1), event_batches(events, view), SqliteRows(session)) == []
        conversations = {str(event.conversation_id) for events in steps for event in events}
        return [
            row
            for conversation in sorted(conversations)
            for row in kept_rows(session, build, conversation, -(2**62), 2**62)
        ]


@examples(200)
@given(st.data(), histories())
@pytest.mark.parametrize("name", ["conversations", "search", "tool_ledger", "window"])
def test_rows_without_text_are_those_with_text_but_for_the_texts(
    name: str, data: st.DataObject, history: list[RecordedEvent]
) -> None:
    view = VIEWS[name]
    steps = in_pieces(history, data.draw(pieces(history)))
    without = rows_of(Textless(view), steps)
    if view.texts == ALL_COLUMNS:
        assert without == []
        return
    whole = rows_of(view, [history])
    assert without == [row | dict.fromkeys(view.texts) for row in whole]
    assert all(view.texts <= row.keys() for row in whole)


def test_only_views_with_text_change_in_an_encrypted_store() -> None:
    kept = NOTHING_ALLOWED.views()
    assert {name for name, view in kept.items() if view is VIEWS[name]} == {"usage"}
    assert all(view.texts == NO_TEXT for view in kept.values())
    assert EVERYTHING.views() == VIEWS
    allowed = TextPolicy(is_encrypted=True, allowed=frozenset({"search", "window"})).views()
    assert {name for name, view in allowed.items() if view.texts} == {"search", "window"}


def test_a_projection_of_ones_own_is_refused_unless_it_is_named() -> None:
    with pytest.raises(InvalidInput, match="mailbox may hold no text"):
        register_projection(Mailbox(), {}, NOTHING_ALLOWED)
    allowed = TextPolicy(is_encrypted=True, allowed=frozenset({"mailbox"}))
    assert register_projection(Mailbox(), {}, allowed).name == "mailbox"
    assert set(views_of_store(NOTHING_ALLOWED)) == set(VIEWS)


@pytest.mark.parametrize("name", ["conversations", "search", "tool_ledger", "window"])
def test_rows_that_another_policy_made_are_not_gone_on_with(name: str) -> None:
    plain, textless = VIEWS[name], Textless(VIEWS[name])
    for made, view, told in [(plain, textless, "hold"), (textless, plain, "lack")]:
        build = Build(name, 1, made.revision, "live")
        fed = feeding([build], {name: view})
        assert fed.feeds == frozenset()
        assert f"{told} what was said" in fed.told[0]
        assert f"onrecord rebuild {name}" in fed.told[0]


def test_what_views_held_goes_with_the_next_rebuild(tmp_path: Path) -> None:
    store, policy = opened(tmp_path), NOTHING_ALLOWED
    store.said("swordfish", "marlin")
    for view in VIEWS.values():
        store.views.catch_up(view)
    assert b"swordfish" in files_of(tmp_path)
    store.views.close()
    views = SqliteViews(store.log, tmp_path / "log.db", views=policy.views())
    found = verify_views(store.log, views.kept())
    assert [view.view for view in found.views] == ["usage"]
    assert "view search: the live rows of search hold what was said" in "\n".join(found.unchecked)
    for name in VIEWS:
        views.rebuild(name)
    found = verify_views(store.log, views.kept())
    assert (found.faults, found.unchecked) == ((), ())
    assert {view.view: view.rows for view in found.views}["search"] == 0
    for view in VIEWS.values():
        views.catch_up(view)
    views.rewrite()
    views.close()
    assert b"swordfish" not in files_of(tmp_path)
    again = SqliteViews(store.log, tmp_path / "log.db")
    assert again.catch_up(VIEWS["conversations"]).revision == VIEWS["conversations"].revision
    again.close()
    store.close()


def files_of(folder: Path) -> bytes:
    """All that the files of the views hold."""
    return b"".join(path.read_bytes() for path in sorted(folder.glob("*-views*")))
