"""Leases on calls: one runner makes each, and a call that a dead one began is never lost nor doubled."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import onrecord
from onrecord.adapters.conversation.conversation import stream_of
from onrecord.adapters.conversation.open_calls import open_calls
from onrecord.domain.tools import ToolCallBegun
from tests.adapters.tools import leased_runner
from tests.adapters.tools.conversations import call_tools, recorded_results
from tests.patience import PATIENCE
from tests.postgres_places import fresh_log
from tests.postgres_server import VERSIONS, server

KEY = "support/4711"
SHORT = "1"
CALLS = 3


@pytest.fixture(params=["sqlite", VERSIONS[-1]])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A store in which some calls await their results."""
    kind = str(request.param)
    place = f"sqlite:///{tmp_path / 'talks.db'}" if kind == "sqlite" else fresh_log(kind)
    with onrecord.connect(place) as store:
        calls = (("leave", {"number": number}) for number in range(1, CALLS + 1))
        call_tools(store.conversation(KEY), *calls)
    yield place
    if kind != "sqlite":
        server(kind).drop(place)


def begin(
    url: str, file: Path, way: str, kind: str, lease: str = "default"
) -> subprocess.Popen[str]:
    root = str(Path(__file__).parents[3])
    path = os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [sys.executable, str(leased_runner.__file__), url, str(file), lease, way, kind],
        env={**os.environ, "PYTHONPATH": path},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def run(url: str, file: Path, way: str = "runs", kind: str = "plain") -> str:
    """What a runner says that ran to its end: how many calls it made, and how many it left."""
    process = begin(url, file, way, kind)
    out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == (-signal.SIGKILL if way == "dies" else 0)
    return out.strip()


def lines(file: Path) -> Counter[str]:
    return Counter(file.read_text("utf-8").splitlines() if file.exists() else [])


def test_of_processes_that_compete_one_makes_each_call(url: str, tmp_path: Path) -> None:
    file = tmp_path / "lines"
    processes = [begin(url, file, "runs", "plain") for _ in range(3)]
    for process in processes:
        process.communicate(timeout=PATIENCE)
        assert process.returncode == 0
    assert lines(file) == {f"begun {number}": 1 for number in range(1, CALLS + 1)}
    with onrecord.connect(url) as store:
        chat = store.conversation(KEY)
        results = [(f"call_{n}", f"result {n}", False) for n in range(1, CALLS + 1)]
        assert sorted(recorded_results(chat)) == results
        assert "tool_result.rejected" not in {each.type for each in chat.events()}
        assert store.verify().faults == ()


def test_a_call_that_another_process_makes_is_left_to_it(url: str, tmp_path: Path) -> None:
    """The first process is amid its first call while the second one runs."""
    file, other = tmp_path / "lines", tmp_path / "other"
    first = begin(url, file, "waits", "plain")
    try:
        while not lines(file):
            assert first.poll() is None
        assert run(url, other) == f"{CALLS - 1} 1"
        assert lines(other) == {"begun 2": 1, "begun 3": 1}
    finally:
        out, _ = first.communicate("go on", timeout=PATIENCE)
    assert out.strip() == "1 0"
    assert lines(file) == {"begun 1": 1}


def begun_events(url: str) -> list[ToolCallBegun]:
    with onrecord.connect(url) as store:
        events = (each.event() for each in store.conversation(KEY).events())
        return [event for event in events if isinstance(event, ToolCallBegun)]


def wait_until_over(url: str, until: int) -> None:
    with onrecord.connect(url) as store:
        backend = stream_of(store.conversation(KEY)).backend
        while backend.clock() < until:
            time.sleep(0.05)


def amid_a_call_that_outlasts_its_lease(
    url: str, file: Path, kind: str = "plain"
) -> subprocess.Popen[str]:
    """A process amid its first call, whose first lease is over."""
    process = begin(url, file, "waits", kind, SHORT)
    while not lines(file):
        assert process.poll() is None
    wait_until_over(url, begun_events(url)[0].until)
    return process


def test_a_call_that_outlasts_its_lease_is_left_to_the_process_that_makes_it(
    url: str, tmp_path: Path
) -> None:
    file, other = tmp_path / "lines", tmp_path / "other"
    first = amid_a_call_that_outlasts_its_lease(url, file, "repeatable")
    try:
        assert run(url, other, kind="repeatable") == f"{CALLS - 1} 1"
        assert lines(other) == {"begun 2": 1, "begun 3": 1}
        with onrecord.connect(url) as store:
            assert store.conversation(KEY).approvals() == ()
    finally:
        out, _ = first.communicate("go on", timeout=PATIENCE)
    assert out.strip() == "1 0"
    assert lines(file) == {"begun 1": 1}
    first_of, *renewals = (each for each in begun_events(url) if each.call_id == "call_1")
    assert not first_of.renews
    assert renewals and all(each.renews for each in renewals)


def test_the_lease_of_a_process_that_is_killed_after_it_was_renewed_runs_out(
    url: str, tmp_path: Path
) -> None:
    file = tmp_path / "lines"
    process = amid_a_call_that_outlasts_its_lease(url, file, "repeatable")
    process.kill()
    process.communicate(timeout=PATIENCE)
    wait_until_over(url, begun_events(url)[-1].until)
    assert run(url, file, kind="repeatable") == f"{CALLS} 0"
    assert lines(file) == {"begun 1": 2, "begun 2": 1, "begun 3": 1}


def test_what_a_killed_process_began_is_left_alone_as_long_as_its_lease_lasts(
    url: str, tmp_path: Path
) -> None:
    file = tmp_path / "lines"
    run(url, file, way="dies", kind="repeatable")
    assert run(url, file, kind="repeatable") == f"{CALLS - 1} 1"
    assert lines(file)["begun 1"] == 1
    with onrecord.connect(url) as store:
        chat = store.conversation(KEY)
        assert [call.id for call in chat.open_calls()] == ["call_1"]
        assert chat.approvals() == ()


def killed_and_over(url: str, file: Path, kind: str = "plain") -> None:
    """A process died amid the first call, and its lease is over."""
    process = begin(url, file, "dies", kind, SHORT)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == -signal.SIGKILL
    with onrecord.connect(url) as store:
        opened = open_calls(stream_of(store.conversation(KEY)))
    (state,) = [each.state for each in opened if each.state.begun]
    wait_until_over(url, state.until)


def test_a_repeatable_call_of_a_killed_process_is_made_again_after_its_lease(
    url: str, tmp_path: Path
) -> None:
    file = tmp_path / "lines"
    killed_and_over(url, file, "repeatable")
    assert run(url, file, kind="repeatable") == f"{CALLS} 0"
    assert lines(file) == {"begun 1": 2, "begun 2": 1, "begun 3": 1}


def test_about_any_other_a_person_is_asked_and_may_have_it_made_again(
    url: str, tmp_path: Path
) -> None:
    file = tmp_path / "lines"
    killed_and_over(url, file)
    assert run(url, file) == f"{CALLS - 1} 1"
    with onrecord.connect(url) as store:
        (waiting,) = store.conversation(KEY).approvals()
        assert (waiting.call.id, waiting.unsure) == ("call_1", True)
        store.conversation(KEY).approve("call_1", actor="ana")
    assert run(url, file) == "1 0"
    assert lines(file)["begun 1"] == 2


def test_or_tell_the_model_that_it_was_not_made(url: str, tmp_path: Path) -> None:
    file = tmp_path / "lines"
    killed_and_over(url, file)
    run(url, file)
    with onrecord.connect(url) as store:
        chat = store.conversation(KEY)
        chat.deny("call_1", reason="it was made, the bank says", actor="ana")
        assert chat.open_calls() == []
    assert lines(file)["begun 1"] == 1


def test_a_call_that_a_person_approved_is_never_made_twice_by_itself(
    url: str, tmp_path: Path
) -> None:
    file = tmp_path / "lines"
    assert run(url, file, kind="approved") == f"0 {CALLS}"
    with onrecord.connect(url) as store:
        store.conversation(KEY).approve("call_1", actor="ana")
    killed_and_over(url, file, "approved")
    assert run(url, file, kind="approved") == f"0 {CALLS}"
    with onrecord.connect(url) as store:
        unsure = {each.call.id: each.unsure for each in store.conversation(KEY).approvals()}
    assert unsure == {"call_1": True, "call_2": False, "call_3": False}
    assert lines(file) == {"begun 1": 1}
