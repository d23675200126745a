"""The folds that a process keeps: what they save, how much they hold, and when they go."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

import onrecord
from onrecord.adapters.conversation.conversation import tenancy_of
from onrecord.adapters.recording.spool import Spool
from onrecord.adapters.store import Store, backend_of
from onrecord.adapters.streams import folds as folds_module
from onrecord.adapters.streams.folding import size_of
from onrecord.adapters.streams.folds import FoldCache
from onrecord.domain import jsontext
from onrecord.domain.events import MessageRecorded
from onrecord.domain.log import Backend, Told
from onrecord.projections.history.turns import GrowingHistory
from tests.contract.places import PLACES
from tests.factories import BECAUSE
from tests.patience import PATIENCE
from tests.projections.happenings import Story
from tests.projections.recorded import recorded

API = "anthropic-messages"
KEY = "support/4711"
WINDOW = onrecord.Window(exchanges=3, step=2)


@pytest.fixture(params=PLACES)
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    place = PLACES[request.param](tmp_path)
    with closing(place.open()) as opened:
        yield opened
    place.remove()


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'talks.db'}"


def store_on(backend: Backend, folder: Path, folds: int = 1 << 20) -> Store:
    return Store(backend, "test://", spool=Spool(folder / "spool"), folds=folds)


def kept(store: Store) -> FoldCache:
    folds = tenancy_of(store.conversation(KEY)).folds
    assert folds is not None
    return folds


def answer(text: str) -> MessageRecorded:
    return MessageRecorded(role="assistant", content=(onrecord.Text(text=text),))


def converse(chat: onrecord.Conversation, exchanges: int = 6) -> None:
    for number in range(exchanges):
        chat.user(f"Question {number}")
        chat.log.append(answer(f"Answer {number}"))


class Calls:
    """Counts what a backend is asked."""

    def __init__(self, backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
        self.names: list[str] = []
        for name in ("head", "read", "tell", "pointed", "new_since", "exchange_start"):
            monkeypatch.setattr(backend, name, self._counted(name, getattr(backend, name)))

    def _counted(self, name: str, verb: Any) -> Any:
        def counted(*arguments: Any, **named: Any) -> Any:
            self.names.append(name)
            return verb(*arguments, **named)

        return counted


def test_where_no_thread_can_be_started_nothing_is_kept_and_the_request_is_made(
    backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = store_on(backend, tmp_path)
    chat = store.conversation(KEY)
    converse(chat)

    def start(_: threading.Timer) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Timer, "start", start)
    request = chat.request(API)
    assert len(kept(store)) == 0
    monkeypatch.undo()
    assert chat.request(API).body_parts() == request.body_parts()
    assert len(kept(store)) == 1


@pytest.mark.parametrize("window", [None, WINDOW], ids=["whole", "windowed"])
def test_a_request_after_a_turn_asks_the_log_one_thing(
    backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, window: onrecord.Window
) -> None:
    chat = store_on(backend, tmp_path).conversation(KEY)
    converse(chat)
    chat.request(API, window=window)
    chat.log.append(answer("And another thing"))
    calls = Calls(backend, monkeypatch)
    request = chat.request(API, window=window)
    assert calls.names == ["new_since"]
    plain = store_on(backend, tmp_path, folds=0).conversation(KEY)
    assert request.body_parts() == plain.request(API, window=window).body_parts()


def test_where_the_edge_of_a_window_moves_what_is_there_is_not_read_again(
    backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = store_on(backend, tmp_path).conversation(KEY)
    plain = store_on(backend, tmp_path, folds=0).conversation(KEY)
    chat.instruct("be kind")
    converse(chat)
    window, calls = onrecord.Window(exchanges=2, step=1), list[str]()
    chat.request(API, window=window)
    for number in range(6):
        chat.user(f"More {number}")
        with monkeypatch.context() as patched:
            counted = Calls(backend, patched)
            request = chat.request(API, window=window)
        calls += counted.names
        assert request.body_parts() == plain.request(API, window=window).body_parts()
        assert request.report == plain.request(API, window=window).report
        chat.log.append(answer(f"Answered {number}"))
    assert set(calls) <= {"new_since", "exchange_start"}
    # Prompts that came since are known to open exchanges.
    assert calls[-1] == "new_since"


def test_what_this_process_forgets_goes_at_once(backend: Backend, tmp_path: Path) -> None:
    store = store_on(backend, tmp_path)
    for key in (KEY, "support/4712"):
        converse(store.conversation(key))
        store.conversation(key).request(API)
    assert len(kept(store)) == 2
    store.forget(KEY, **BECAUSE)
    assert len(kept(store)) == kept(store).size == 0


def test_what_another_process_forgets_goes_with_the_next_request(url: str) -> None:
    with onrecord.connect(url) as ours, onrecord.connect(url) as theirs:
        for key in (KEY, "support/4712"):
            converse(ours.conversation(key))
            ours.conversation(key).request(API)
        theirs.forget(KEY, **BECAUSE)
        assert len(kept(ours)) == 2
        ours.conversation("support/4712").request(API)
        assert len(kept(ours)) == 1
        with pytest.raises(onrecord.NothingToSend):
            ours.conversation(KEY).request(API)


def test_a_fork_says_nothing_of_an_origin_that_another_process_forgot(url: str) -> None:
    with ExitStack() as stores:
        ours, theirs = (stores.enter_context(onrecord.connect(url)) for _ in range(2))
        plain = stores.enter_context(onrecord.connect(url, folds=0))
        converse(ours.conversation(KEY))
        fork = ours.conversation(KEY).fork("fork")
        fork.user("Question of the fork")
        assert b"Answer 1" in fork.request(API).body_parts()["messages"]
        theirs.forget(KEY, **BECAUSE)
        after = fork.request(API)
        assert b"Answer 1" not in after.body_parts()["messages"]
        assert after.body_parts() == plain.conversation("fork").request(API).body_parts()


def test_what_was_read_before_an_erasure_is_not_kept_after_it(url: str) -> None:
    with onrecord.connect(url) as store:
        converse(store.conversation(KEY))
        folds, backend = kept(store), backend_of(store)
        new_since = backend.new_since

        def erasing(*arguments: Any) -> Any:
            found = new_since(*arguments)
            store.forget("support/4712", **BECAUSE)
            return found

        converse(store.conversation("support/4712"))
        vars(backend)["new_since"] = erasing
        store.conversation(KEY).request(API)
        assert len(folds) == 0
        del vars(backend)["new_since"]
        store.conversation(KEY).request(API)
        store.conversation(KEY).request(API)
        assert len(folds) == 1


def test_what_nobody_uses_goes_by_itself(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folds_module, "IDLE_SECONDS", 0.05)
    with onrecord.connect(url) as store:
        converse(store.conversation(KEY))
        store.conversation(KEY).request(API)
        folds, until = kept(store), time.monotonic() + PATIENCE
        while len(folds) and time.monotonic() < until:
            time.sleep(0.01)
        assert len(folds) == folds.size == 0


def test_what_is_used_stays_and_the_rest_goes(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1_000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    with onrecord.connect(url) as store:
        for key in (KEY, "support/4712"):
            converse(store.conversation(key))
            store.conversation(key).request(API)
        now += folds_module.IDLE_SECONDS - 1
        store.conversation(KEY).request(API)
        now += 1
        kept(store).drop_idle()
        assert len(kept(store)) == 1
        now += folds_module.IDLE_SECONDS
        kept(store).drop_idle()
        assert len(kept(store)) == 0


def test_folds_are_bounded_by_their_bytes_and_the_oldest_go_first(
    backend: Backend, tmp_path: Path
) -> None:
    converse(store_on(backend, tmp_path).conversation("0"))
    one = store_on(backend, tmp_path)
    one.conversation("0").request(API)
    store = store_on(backend, tmp_path, folds=3 * kept(one).size)
    for number in range(6):
        if number:
            converse(store.conversation(str(number)))
        store.conversation(str(number)).request(API)
        assert kept(store).size <= kept(store).max_bytes
    assert len(kept(store)) == 3
    converse(store.conversation("5"), exchanges=60)
    store.conversation("5").request(API)
    assert kept(store).size <= kept(store).max_bytes
    store.conversation("5").request(API, window=WINDOW)
    assert kept(store).size <= kept(store).max_bytes


BODIES: dict[str, Any] = {
    "prose": [
        {"kind": "text", "text": "All of it is said in plain words, as most things are. " * 20}
    ],
    "emoji": [{"kind": "text", "text": "All of it \N{PARTY POPPER} " * 40}],
    "chinese": [{"kind": "text", "text": "\u8bdd" * 500}],
    "numbers": [
        {"kind": "native", "api": API, "value": {"type": "x", "at": list(range(1000, 2000))}}
    ],
    "objects": [{"kind": "native", "api": API, "value": {"type": "x", "at": [{"a": 1}] * 300}}],
    "lists": [{"kind": "native", "api": API, "value": {"type": "x", "at": [[1000, 2000]] * 300}}],
    "members": [
        {"kind": "native", "api": API, "value": {"type": "x", **{f"m{n}": n for n in range(400)}}}
    ],
    "short": [{"kind": "text", "text": "hm"}],
}


@pytest.mark.parametrize("content", BODIES.values(), ids=BODIES)
def test_the_bytes_that_are_counted_are_no_less_than_those_that_are_taken(
    content: list[Any],
) -> None:
    story = Story()
    story.user("hello")
    body = jsontext.write({"role": "user", "content": content})
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        items = [copied(recorded(story)[0], number, body) for number in range(1, 101)]
        growing = GrowingHistory(items)
        folded = growing.history()
        taken = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert len(folded.turns) == 1
    assert taken <= size_of(items) <= 12 * taken


def copied(told: Told, version: int, body: bytes) -> Told:
    return told._replace(version=version, body=bytes(bytearray(body)))


def test_an_interrupt_amid_keeping_costs_no_room_and_no_timer(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with onrecord.connect(url) as store:
        chat = store.conversation(KEY)
        chat.user("Hello")
        chat.request(API)
        cache = tenancy_of(chat).folds
        assert cache is not None
        size = cache.size
        monkeypatch.setattr(cache, "max_bytes", 2 * size)

        def interrupted(*_: object) -> None:
            raise KeyboardInterrupt

        for _ in range(8):
            with monkeypatch.context() as patched:
                patched.setattr(folds_module, "_Entry", interrupted)
                with pytest.raises(KeyboardInterrupt):
                    chat.request(API)
        chat.request(API)
        assert (len(cache), cache.size) == (1, size)


def test_without_room_nothing_is_kept(url: str) -> None:
    with onrecord.connect(url, folds=0) as store:
        converse(store.conversation(KEY))
        store.conversation(KEY).request(API)
        assert tenancy_of(store.conversation(KEY)).folds is None
    with onrecord.connect(url, folds=1) as store:
        store.conversation(KEY).request(API)
        assert len(kept(store)) == 0


@pytest.mark.parametrize("folds", [-1, "1", 1.5, True, None])
def test_what_is_no_number_of_bytes_is_refused(tmp_path: Path, folds: Any) -> None:
    path = tmp_path / "none.db"
    with pytest.raises(onrecord.InvalidContent, match="folds="):
        onrecord.connect(f"sqlite:///{path}", folds=folds)
    assert not path.exists()


def test_threads_that_ask_the_same_conversation_get_what_a_fresh_fold_gives(url: str) -> None:
    with ExitStack() as stores:
        store = stores.enter_context(onrecord.connect(url))
        plain = stores.enter_context(onrecord.connect(url, folds=0)).conversation(KEY)
        converse(store.conversation(KEY))

        def ask(_: int) -> dict[str, tuple[int, bytes]]:
            asked: dict[str, tuple[int, bytes]] = {}
            for number in range(20):
                request = store.conversation(KEY).request(API, window=WINDOW)
                store.conversation(KEY).user(f"And {number}?", message_id=None)
                body = request.body_parts()["messages"]
                asked[body.decode()] = (number, body)
            return asked

        with ThreadPoolExecutor(4) as pool:
            bodies = {body for asked in pool.map(ask, range(4)) for body in asked}
        whole = {
            plain.request(API, window=WINDOW, at=version).body_parts()["messages"].decode()
            for version in range(2, plain.head().version + 1)
        }
        assert bodies <= whole
        last = store.conversation(KEY).request(API, window=WINDOW)
        assert last.body_parts() == plain.request(API, window=WINDOW).body_parts()


FORKING = """
import os, sys, threading
import onrecord
from onrecord.adapters.streams import folds as kept
kept.IDLE_SECONDS = 1_000_000  # A timer that held the process would hold it for days.
store = onrecord.connect(sys.argv[1])
chat = store.conversation("support/4711")
chat.user("hello")
chat.request("openai-chat")
chat.request("openai-chat")
from onrecord.adapters.conversation.conversation import tenancy_of
folds = tenancy_of(chat).folds
assert len(folds) == 1 and threading.active_count() == 2
child = os.fork()
if child == 0:
    assert len(folds) == 0 and threading.active_count() == 1
    chat.user("from the child")
    assert len(chat.request("openai-chat")["messages"]) == 2
    assert len(folds) == 1
    os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert len(folds) == 0
assert len(chat.request("openai-chat")["messages"]) == 2
"""


def test_a_forked_process_begins_with_none_and_a_process_ends_although_some_are_kept(
    url: str,
) -> None:
    subprocess.run([sys.executable, "-c", FORKING, url], check=True, timeout=PATIENCE)


def test_a_store_that_is_closed_or_gone_leaves_no_thread(url: str) -> None:
    before = set(threading.enumerate())
    with onrecord.connect(url) as store:
        converse(store.conversation(KEY))
        store.conversation(KEY).request(API)
        (timer,) = set(threading.enumerate()) - before
    timer.join(PATIENCE)
    assert not timer.is_alive()
