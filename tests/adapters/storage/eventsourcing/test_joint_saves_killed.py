"""A process is killed, or stopped, amid a save: both are recorded or neither, and others go on."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from signal import SIGCONT, SIGSTOP
from uuid import UUID, uuid4

import pytest

from onrecord import Conversation, Store
from onrecord.adapters.storage.sqlite.sqlite import open_sqlite
from onrecord.adapters.storage.sqlite.url import path_of
from onrecord.errors import StorageBusy
from tests.adapters.storage.eventsourcing.refunds import Refunds, environment
from tests.adapters.storage.eventsourcing.refunds_process import PLACES
from tests.adapters.views.own_projections import opened
from tests.factories import appending, prompt
from tests.patience import kill

ROOT = Path(__file__).parents[4]


@pytest.fixture(params=["sqlite", "postgres"])
def store(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Store]:
    monkeypatch.setenv("ONRECORD_ACTOR", "ann")
    yield from opened(request.param, tmp_path)


@pytest.fixture
def chat(store: Store) -> Conversation:
    chat = store.conversation("support")
    chat.user("refund me")
    return chat


@pytest.fixture
def refunds(store: Store) -> Iterator[Refunds]:
    application = Refunds(env=environment(store.url))
    yield application
    application.close()


@contextmanager
def granting(url: str, refund_id: UUID, place: str) -> Generator[subprocess.Popen[str]]:
    """Yield a process that grants a refund and has come to a place; it is killed at the end."""
    program = [sys.executable, "-m", "tests.adapters.storage.eventsourcing.refunds_process"]
    with subprocess.Popen(
        [*program, url, str(refund_id), place],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "there\n"
            yield process
        finally:
            kill(process)


def answer(process: subprocess.Popen[str]) -> str:
    """Let a process that waits go on, and return what it says."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("\n")
    process.stdin.flush()
    return process.stdout.readline()


def is_granted(chat: Conversation, refunds: Refunds, refund_id: UUID) -> bool:
    """Whether both say so; fails where one does."""
    words = "granted by ana" in [text for turn in chat.history() for text in turn.text.splitlines()]
    assert (refunds.find(refund_id).granted_by == "ana") == words
    return words


@pytest.mark.parametrize("place", PLACES)
def test_a_kill_leaves_both_or_neither_and_the_save_can_be_tried_again(
    store: Store, chat: Conversation, refunds: Refunds, place: str
) -> None:
    refund_id = refunds.request(500)
    with granting(store.url, refund_id, place):
        pass
    assert is_granted(chat, refunds, refund_id) == (place == "after")
    if place != "after":
        refunds.grant(refund_id, "ana", chat)
    assert is_granted(chat, refunds, refund_id)
    assert store.verify().faults == ()


def test_nobody_waits_for_a_process_that_is_slow_before_it_says_something(
    store: Store, chat: Conversation, refunds: Refunds
) -> None:
    refund_id = refunds.request(500)
    with granting(store.url, refund_id, "before") as process:
        chat.user("are you there?")
        assert answer(process) == "granted\n"  # It had no transaction that could have been ended.
    assert is_granted(chat, refunds, refund_id)


@pytest.mark.parametrize("store", ["postgres"], indirect=True)
def test_postgresql_ends_a_transaction_that_stands_still_and_others_go_on(
    store: Store, chat: Conversation, refunds: Refunds
) -> None:
    refund_id = refunds.request(500)
    with granting(store.url, refund_id, "appended") as process:
        process.send_signal(SIGSTOP)
        chat.user("are you there?")  # It waits for the shard, without a time-out of its own.
        process.send_signal(SIGCONT)
        assert answer(process) == "OperationalError\n"
    assert not is_granted(chat, refunds, refund_id)
    refunds.grant(refund_id, "ana", chat)
    assert is_granted(chat, refunds, refund_id)


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
def test_on_sqlite_others_are_told_after_their_own_wait(
    store: Store, chat: Conversation, refunds: Refunds
) -> None:
    refund_id = refunds.request(500)
    impatient, another = open_sqlite(path_of(store.url), wait=0.2), uuid4()
    with granting(store.url, refund_id, "appended"), pytest.raises(StorageBusy):
        impatient.append([appending(another, prompt())])
    impatient.append([appending(another, prompt())])
    impatient.close()
    assert not is_granted(chat, refunds, refund_id)
