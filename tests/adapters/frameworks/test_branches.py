"""Branches of a session: which one its holder is on, and what it costs to find the last turn."""

from __future__ import annotations

from pathlib import Path

import pytest

import onrecord
from onrecord.adapters.frameworks.openai_agents.branches import MAIN, Branches
from onrecord.adapters.frameworks.session import NewItem
from onrecord.adapters.frameworks.sessions import Sessions
from onrecord.adapters.store import Store
from onrecord.domain.log import Backend
from onrecord.projections.frameworks.openai_agents import OPENAI_AGENTS
from tests.adapters.frameworks.counted_reads import counted_reads
from tests.adapters.frameworks.sessions_places import store_of


@pytest.fixture
def store(backend: Backend, tmp_path: Path) -> Store:
    return store_of(backend, tmp_path)


def branches_of(store: Store) -> Branches:
    return Branches(Sessions(store, OPENAI_AGENTS.name).session("one"))


def prompt(text: str) -> NewItem:
    return NewItem({"role": "user", "content": text})


def answer(text: str) -> NewItem:
    return NewItem({"role": "assistant", "content": text})


def contents(branches: Branches, branch: str | None = None) -> list[str]:
    return [held.item["content"] for held in branches.load(branch).items]


def test_who_was_on_a_branch_that_another_deleted_goes_on_with_main(store: Store) -> None:
    first, second = branches_of(store), branches_of(store)
    first.add([prompt("one"), answer("1"), prompt("two")])
    first.create(2, "other")
    second.delete("other", force=False)
    first.add([prompt("more")])
    assert [branch.name for branch in second.all()] == [MAIN]
    assert contents(first) == contents(second) == ["one", "1", "two", "more"]
    with pytest.raises(onrecord.InvalidInput, match="no branch"):
        first.delete("other", force=False)


def test_who_is_on_a_branch_stays_there_when_another_branch_is_deleted(store: Store) -> None:
    first, second = branches_of(store), branches_of(store)
    first.add([prompt("one"), answer("1"), prompt("two")])
    second.create(2, "another")
    first.create(2, "other")
    second.delete("another", force=True)
    first.add([prompt("more")])
    assert contents(first) == ["one", "1", "more"]


def test_the_last_turn_is_the_one_of_the_last_prompt_of_the_current_branch(store: Store) -> None:
    branches = branches_of(store)
    assert branches.last_turn() is None
    branches.add([answer("hello"), answer("there")])
    assert branches.last_turn() == (MAIN, 2)
    branches.add([prompt("one"), answer("1"), prompt("two"), answer("2")])
    assert branches.last_turn() == (MAIN, 6)
    branches.create(2, "other")
    assert branches.last_turn() == ("other", 4)
    branches.add([prompt("two, otherwise")])
    assert branches.last_turn() == ("other", 9)
    branches.pop()
    assert branches.last_turn() == ("other", 4)


def test_finding_the_last_turn_reads_as_much_however_long_the_session_is(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    branches, read = branches_of(store), counted_reads(store, monkeypatch)
    counts: list[int] = []
    for _ in range(3):
        branches.add([answer(str(number)) for number in range(300)])
        branches.add([prompt("one"), answer("1")])
        read.clear()
        branches.last_turn()
        counts.append(len(read))
    assert counts == [64, 64, 64]


def test_all_branches_tell_when_an_event_was_recorded_by_one_mapping(store: Store) -> None:
    branches = branches_of(store)
    branches.add([prompt("one"), answer("1"), prompt("two")])
    for name in ("other", "another"):
        branches.create(1, name)
        branches.switch(MAIN)
    times = [branch.recorded_at for branch in branches.all()]
    assert len(times) == 3
    assert all(each is times[0] for each in times)
    assert list(times[0]) == [2, 3, 4, 5, 6]
