"""What is forged where no pass over the log comes by is found, and what was compared is said."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import onrecord
from tests.adapters.cli.command import Command, in_process, url_of
from tests.adapters.upkeep.test_verifying import KEY, speak, verified, whys
from tests.sqlite_by_hand import ByHand, Unruled, empty_index


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A store of two conversations; closed, so that all of it is in its file."""
    place = url_of(tmp_path)
    with onrecord.connect(place) as store:
        speak(store)
    return place


@pytest.fixture
def file(tmp_path: Path, url: str) -> Path:
    return tmp_path / "talks.db"


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return in_process(monkeypatch, capsys)


@pytest.fixture
def by_hand(file: Path) -> Iterator[ByHand]:
    """The file; what is run by hand is not held up by the rules that keep its events as they are."""
    connection = Unruled.open(file)
    yield connection
    connection.close()


@pytest.mark.parametrize("position", [-1, 0])
def test_a_forged_event_before_the_first_position_is_found(
    url: str, by_hand: ByHand, position: int
) -> None:
    with onrecord.connect(url) as store:
        roots = store.verify().roots
    by_hand.run(
        "INSERT INTO event SELECT ?, conversation_id, 7, 3, points, zeroblob(16), type, "
        "schema_version, recorded_at, NULL, header, zeroblob(32), zeroblob(32), zeroblob(16), "
        "body FROM event WHERE position = 8",
        position,
    )
    by_hand.run(
        "UPDATE conversation_head SET version = 7, exchange = 3, position = ? WHERE version = 6",
        position,
    )
    place = f"it is at position {position}, and positions begin at 1"
    digest = "its digest is not that of its salt and body"
    with onrecord.connect(url) as store:
        for found in (store.verify(roots=roots), store.verify(KEY)):
            assert {place, digest} <= {fault.why for fault in found.faults if fault.version == 7}


def test_an_event_before_the_first_position_of_no_conversation_is_found(
    url: str, by_hand: ByHand
) -> None:
    by_hand.run(
        "INSERT INTO event SELECT -7, randomblob(16), version, exchange, points, randomblob(16), "
        "type, schema_version, recorded_at, NULL, header, digest, leaf, salt, body "
        "FROM event WHERE position = 2"
    )
    assert whys(url) == ["an event of it is at position -7, and positions begin at 1"]


def test_an_event_before_the_first_version_is_found(url: str, by_hand: ByHand) -> None:
    by_hand.run("UPDATE event SET version = -5 WHERE position = 8")
    assert "version 1 should stand here" in [fault.why for fault in verified(url, KEY).faults]


def test_a_table_and_a_trigger_that_are_named_as_of_sqlite_are_found(url: str, file: Path) -> None:
    by_hand = ByHand.open(file)
    by_hand.run("CREATE TABLE stash(body)")
    trigger = "TRIGGER {} AFTER INSERT ON event BEGIN INSERT INTO {} VALUES (new.body); END"
    by_hand.run(f"CREATE {trigger.format('evil', 'stash')}")
    by_hand.run("PRAGMA writable_schema = ON")
    for name, kind in (("stash", "TABLE {}(body)"), ("evil", trigger)):
        hidden = f"sqlite_{name}"
        by_hand.run(
            "UPDATE sqlite_schema SET name = ?, sql = ?, "
            "tbl_name = iif(type = 'table', ?, tbl_name) WHERE name = ?",
            *(hidden, f"CREATE {kind.format(hidden, 'sqlite_stash')}", hidden, name),
        )
    by_hand.run("PRAGMA writable_schema = RESET")
    by_hand.close()
    assert whys(url) == [
        "the schema is not that of this release: table sqlite_stash",
        "the schema is not that of this release: trigger sqlite_evil",
    ]


def test_what_analyze_makes_is_no_fault(url: str, file: Path) -> None:
    by_hand = ByHand.open(file)
    by_hand.run("ANALYZE")
    by_hand.close()
    assert whys(url) == []


@pytest.mark.parametrize("index", ["conversation_head_tenant", "event_version", "event_event_id"])
def test_an_index_that_was_emptied_is_found(url: str, file: Path, index: str) -> None:
    assert "the file: its pages, and each index against its table" in verified(url).checked
    empty_index(file, index)
    found = whys(url)
    assert any(why.startswith("the file is damaged: ") and index in why for why in found)


def test_each_root_that_holds_is_said_to_be_compared(url: str, command: Command) -> None:
    with onrecord.connect(url) as store:
        (root,) = store.verify().roots
        store.conversation(KEY).user("And then?")
    said = f"root {root}: the log still has it"
    done = command("verify", "--root", str(root), "--url", url)
    assert f"checked: {said}" in done.err.splitlines()
    other = str(root._replace(hash=bytes(32)))
    told = command("verify", "--root", str(root), "--root", other, "--url", url, "--json").document
    assert [what for what in told["checked"] if what.startswith("root ")] == [said]
