"""Branches of a session: which one its holder is on."""

from __future__ import annotations

from pathlib import Path

import pytest

import onrecord
from onrecord.adapters.frameworks.openai_agents.branches import FRAMEWORK, MAIN, Branches
from onrecord.adapters.frameworks.session import NewItem
from onrecord.adapters.frameworks.sessions import Sessions
from onrecord.adapters.store import Store
from onrecord.domain.log import Backend
from tests.adapters.frameworks.sessions_places import store_of


@pytest.fixture
def store(backend: Backend, tmp_path: Path) -> Store:
    return store_of(backend, tmp_path)


def branches_of(store: Store) -> Branches:
    return Branches(Sessions(store, FRAMEWORK).session("one"))


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
