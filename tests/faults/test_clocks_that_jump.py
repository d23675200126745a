"""A clock that is set far ahead, or back: what was stored is kept its time, later times are right."""

import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID, uuid4

import psycopg
import pytest

import onrecord
from onrecord.adapters.recording.spool import RecordingWarning
from onrecord.adapters.storage.clocks import jump, stamped
from onrecord.adapters.storage.sqlite.blobs import elapsed
from onrecord.adapters.storage.sqlite.sqlite import Sqlite, open_sqlite
from onrecord.domain.log import Backend
from tests.adapters.cli.command import in_process, url_of
from tests.contract.places import PLACES, WHERE_THE_LOG_IS, Place
from tests.factories import TENANT, answer, appending, attachment, started
from tests.ledger import verified_log

HOUR = 3_600_000_000
DAY = 24 * HOUR
YEAR = 365 * DAY

SHIFTED = """
CREATE OR REPLACE FUNCTION onrecord.clock() RETURNS bigint LANGUAGE sql VOLATILE
RETURN (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + {shift};
"""


@dataclass
class Clocked:
    """A store, and the clock that stamps its events."""

    place: Place
    patch: pytest.MonkeyPatch

    def shift(self, microseconds: int) -> None:
        """Let the log's clock be off by so much."""
        url: str | None = getattr(self.place, "url", None)
        if url is None:
            self.shift_of_writer(microseconds)
            return
        with psycopg.connect(url, autocommit=True) as operator:
            operator.execute(SHIFTED.format(shift=microseconds).encode())

    def shift_of_writer(self, microseconds: int) -> None:
        """Let the clock of this process be off by so much."""
        self.patch.undo()
        clock = time.time_ns
        self.patch.setattr(time, "time_ns", lambda: clock() + microseconds * 1000)


@pytest.fixture(params=WHERE_THE_LOG_IS)
def clocked(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Clocked]:
    place = PLACES[request.param](tmp_path)
    yield Clocked(place, monkeypatch)
    monkeypatch.undo()
    place.remove()


@pytest.fixture
def backend(clocked: Clocked) -> Iterator[Backend]:
    opened = clocked.place.open()
    yield opened
    opened.close()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Sqlite]:
    opened = open_sqlite(tmp_path / "log.db")
    yield opened
    opened.close()


def recorded_at(backend: Backend, conversation: UUID) -> int:
    """The time of an event that is recorded now."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RecordingWarning)
        backend.append([appending(conversation, answer())])
    return list(backend.read(conversation))[-1].recorded_at


@pytest.mark.parametrize("ahead", [25 * HOUR, -25 * HOUR, 30 * YEAR])
def test_a_writers_clock_does_not_cut_the_grace_of_a_document(
    backend: Backend, clocked: Clocked, ahead: int
) -> None:
    conversation = uuid4()
    clocked.shift_of_writer(ahead)
    early = backend.put_blob(TENANT, conversation, [b"stored by the clock that is off"])
    clocked.patch.undo()
    late = backend.put_blob(TENANT, conversation, [b"stored by the clock that is right"])
    assert backend.sweep_blobs(DAY) == 0
    clocked.shift_of_writer(ahead)
    assert backend.sweep_blobs(DAY) == 0
    backend.append([appending(conversation, attachment(early), attachment(late))])
    assert backend.sweep_blobs(0) == 0


@pytest.mark.parametrize("shift", [0, 30 * YEAR, -2 * DAY])
def test_a_sweep_without_grace_takes_what_any_clock_has_stored(
    backend: Backend, clocked: Clocked, shift: int
) -> None:
    clocked.shift_of_writer(shift)
    backend.put_blob(TENANT, uuid4(), [b"orphan"])
    clocked.patch.undo()
    assert backend.sweep_blobs(0) == 1


def test_one_stamp_of_a_clock_far_ahead_leaves_later_ones_right(
    backend: Backend, clocked: Clocked
) -> None:
    conversation = uuid4()
    before = recorded_at(backend, conversation)
    clocked.shift(30 * YEAR)
    assert recorded_at(backend, conversation) > before + 29 * YEAR
    clocked.shift(0)
    after = [recorded_at(backend, conversation) for _ in range(2)]
    assert before <= after[0] <= after[1] < before + DAY
    assert len(verified_log(backend)) == 4


def test_a_clock_that_falls_by_less_than_a_day_is_waited_for(
    backend: Backend, clocked: Clocked
) -> None:
    conversation = uuid4()
    clocked.shift(23 * HOUR)
    before = recorded_at(backend, conversation)
    clocked.shift(0)
    assert recorded_at(backend, conversation) == before


def test_the_logs_own_clock_is_told(backend: Backend, clocked: Clocked) -> None:
    clocked.shift(30 * YEAR)
    off = backend.clock()
    clocked.shift(0)
    assert 29 * YEAR < off - backend.clock() < 31 * YEAR


@pytest.mark.parametrize(("shift", "said"), [(30 * YEAR, "past the last"), (-3 * DAY, "behind")])
def test_a_jump_is_said_once_and_the_event_is_recorded(
    store: Sqlite, monkeypatch: pytest.MonkeyPatch, shift: int, said: str
) -> None:
    conversation, clock = uuid4(), time.time_ns
    store.append([appending(conversation, started())])
    monkeypatch.setattr(time, "time_ns", lambda: clock() + shift * 1000)
    with pytest.warns(RecordingWarning, match=said):
        store.append([appending(conversation, answer())])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        store.append([appending(conversation, answer())])
    assert store.head(conversation).version == 3


def test_a_warning_that_is_made_an_error_does_not_undo_the_append(
    store: Sqlite, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation, clock = uuid4(), time.time_ns
    store.append([appending(conversation, started())])
    monkeypatch.setattr(time, "time_ns", lambda: clock() + 30 * YEAR * 1000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        store.append([appending(conversation, answer())])
    assert store.head(conversation).version == 2


def test_an_idle_store_and_a_first_event_raise_no_doubt() -> None:
    assert jump(0, 40 * YEAR) is None
    assert jump(YEAR, 2 * YEAR) is None
    assert jump(2 * DAY, DAY) is None
    assert "a day behind" in str(jump(2 * DAY + 1, DAY))
    assert stamped(2 * DAY, DAY) == 2 * DAY
    assert stamped(2 * DAY + 1, DAY) == DAY


def test_after_a_restart_of_the_machine_the_time_of_day_tells_the_age(
    store: Sqlite, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.put_blob(TENANT, uuid4(), [b"stored before the restart"])
    monkeypatch.setattr(
        "onrecord.adapters.storage.sqlite.blobs.elapsed", lambda: ("another", 5 * HOUR)
    )
    assert store.sweep_blobs(DAY) == 0
    assert store.sweep_blobs(6 * HOUR) == 0
    # It is at least as old as the machine's start.
    assert store.sweep_blobs(4 * HOUR) == 1


def test_where_no_machine_tells_how_long_it_runs_the_time_of_day_does(
    store: Sqlite, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = time.time_ns
    monkeypatch.setattr("onrecord.adapters.storage.sqlite.blobs.elapsed", lambda: (None, 0))
    store.put_blob(TENANT, uuid4(), [b"orphan"])
    assert store.sweep_blobs(DAY) == 0
    monkeypatch.setattr(time, "time_ns", lambda: clock() + 25 * HOUR * 1000)
    assert store.sweep_blobs(DAY) == 1


def test_the_machines_own_clock_goes_on() -> None:
    (boot, earlier), (boot_then, later) = elapsed(), elapsed()
    assert boot == boot_then
    assert earlier <= later


def test_sweep_and_verify_say_that_the_clock_is_far_from_the_last_event(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command, clock = in_process(monkeypatch, capsys), time.time_ns
    url = url_of(tmp_path)
    with onrecord.connect(url) as store:
        store.conversation("a").user("Hello")
        assert store.sweep().doubts == ()
        monkeypatch.setattr(time, "time_ns", lambda: clock() - 3 * DAY * 1000)
        (doubt,) = store.sweep().doubts
        assert "behind the last event" in doubt
    assert f"onrecord: {doubt}" in command("verify", "--url", url).err
    assert command("verify", "--json", "--url", url).document["doubts"] == [doubt]
    assert f"onrecord: {doubt}" in command("sweep", "--url", url).err
