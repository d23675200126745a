"""Runners without leases that compete: each call has one result, and no other is lost.

Nothing keeps two of them from running one call: docs/tool-runner.md says so.
"""

import os
import subprocess
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import onrecord
from onrecord.domain.events import ToolResultRejected
from tests.adapters.tools import killed_runner
from tests.adapters.tools.conversations import call_tools, recorded_results
from tests.patience import PATIENCE

CALLS = 4
KEY = "support/4711"
WAYS = pytest.mark.parametrize("parallel", [False, True])


@pytest.fixture
def url(tmp_path: Path) -> str:
    place = f"sqlite:///{tmp_path / 'talks.db'}"
    with onrecord.connect(place) as store:
        calls = (("leave", {"number": number}) for number in range(1, CALLS + 1))
        call_tools(store.conversation(KEY), *calls)
    return place


def rejected(chat: onrecord.Conversation) -> list[str]:
    events = (recorded.event() for recorded in chat.log.read())
    return [event.call_id for event in events if isinstance(event, ToolResultRejected)]


def must_be_answered_once(url: str) -> None:
    with onrecord.connect(url) as store:
        chat = store.conversation(KEY)
        assert [(call, text) for call, text, _ in recorded_results(chat)] == [
            (f"call_{number}", f"result {number}") for number in range(1, CALLS + 1)
        ]
        assert chat.open_calls() == []
        assert store.verify().faults == ()
        assert len(chat.request("openai-chat").body["messages"]) == 2 + CALLS


@WAYS
def test_of_two_runners_that_run_a_call_at_once_one_result_counts(url: str, parallel: bool) -> None:
    """Both have begun the first call before either gives its result."""
    both = threading.Barrier(2)
    made: Counter[int] = Counter()
    lock = threading.Lock()

    def run(_: int) -> list[object]:
        def leave(number: int) -> str:
            if number == 1:
                both.wait(PATIENCE)
            with lock:
                made[number] += 1
            return f"result {number}"

        with onrecord.connect(url) as store:
            runner = onrecord.ToolRunner(
                store.conversation(KEY), [leave], parallel=parallel, lease=None
            )
            return [each.done for each in runner.run()]

    with ThreadPoolExecutor(2) as pool:
        done = [each.result(PATIENCE) for each in (pool.submit(run, 1), pool.submit(run, 2))]
    must_be_answered_once(url)
    assert made[1] == 2, "nothing keeps two runners from running one call"
    assert all(1 <= times <= 2 for times in made.values())
    assert sum(len(each) for each in done) >= CALLS


def test_another_result_of_a_call_is_kept_beside_the_history(url: str) -> None:
    both = threading.Barrier(2)

    def run(who: str) -> None:
        def leave(number: int) -> str:
            if number == 1:
                both.wait(PATIENCE)
            return f"result {number} of {who}"

        with onrecord.connect(url) as store:
            onrecord.ToolRunner(store.conversation(KEY), [leave], parallel=True, lease=None).run()

    with ThreadPoolExecutor(2) as pool:
        for each in [pool.submit(run, "one"), pool.submit(run, "two")]:
            each.result(PATIENCE)
    with onrecord.connect(url) as store:
        chat = store.conversation(KEY)
        assert [call for call, _, _ in recorded_results(chat)] == [
            f"call_{n}" for n in range(1, CALLS + 1)
        ]
        assert rejected(chat).count("call_1") == 1
        assert max(Counter(rejected(chat)).values()) == 1


@pytest.mark.parametrize("way", ["in-order", "parallel"])
def test_processes_that_compete_leave_one_result_a_call(url: str, way: str, tmp_path: Path) -> None:
    file = tmp_path / "lines"
    root = str(Path(__file__).parents[3])
    path = os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])
    processes = [
        subprocess.Popen(
            [sys.executable, str(killed_runner.__file__), url, str(file), "0", way],
            env={**os.environ, "PYTHONPATH": path},
        )
        for _ in range(3)
    ]
    assert [process.wait(PATIENCE) for process in processes] == [0, 0, 0]
    must_be_answered_once(url)
    begun = Counter(file.read_text("utf-8").splitlines())
    assert all(1 <= begun[f"done {number}"] <= 3 for number in range(1, CALLS + 1))


def test_a_result_that_comes_after_its_call_was_given_up_is_kept_beside_the_history(
    url: str,
) -> None:
    with onrecord.connect(url) as store:
        chat = store.conversation(KEY)

        def leave(number: int) -> str:
            with onrecord.connect(url) as other:
                if number == 1:
                    for call in other.conversation(KEY).open_calls():
                        other.conversation(KEY).cancel(call.id)
            return f"late {number}"

        onrecord.ToolRunner(chat, [leave]).run()
        assert chat.open_calls() == []
        texts = [text for _, text, _ in recorded_results(chat)]
        assert len(texts) == CALLS
        assert not any("late" in text for text in texts)
        assert rejected(chat)[:1] == ["call_1"]
        assert store.verify().faults == ()
