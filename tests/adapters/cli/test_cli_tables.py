"""Tables on a terminal: what is copied from them is whole, and when it was is said in full."""

import re
from pathlib import Path

import pytest

import onrecord
from onrecord.adapters.presentation.sizes_and_times import moment
from tests.adapters.cli.command import on_a_terminal, url_of
from tests.factories import answer, tool_call, tool_result

KEY = "support/customer-4711/parcel-NW-20931/asked-by-mail"
FORK = f"{KEY}/tried-otherwise"
LISTS = (
    ("conversations",),
    ("overview",),
    ("search", "depot"),
    ("calls",),
    ("audit", "-c", KEY),
)


@pytest.fixture
def url(tmp_path: Path) -> str:
    with onrecord.connect(url_of(tmp_path)) as store:
        chat = store.conversation(KEY)
        chat.user("Where is my parcel?", documents=[b"%PDF-1.4"])
        chat.tools.declare([{"name": "track", "input_schema": {"type": "object"}}])
        chat.log.append(tool_call("c1", "mcp__parcels__track"))
        chat.log.append(tool_result("c1", "It left depot North"), answer("It left depot North."))
        chat.fork(FORK)
    return url_of(tmp_path)


def drawn(*arguments: str, columns: int) -> list[str]:
    shown = on_a_terminal(*arguments, columns=columns)
    return re.sub(r"\x1b\[[0-9;]*m", "", shown).splitlines()


@pytest.mark.parametrize("columns", [60, 160])
@pytest.mark.parametrize("what", LISTS, ids=" ".join)
def test_no_line_breaks_a_key(url: str, what: tuple[str, ...], columns: int) -> None:
    lines = drawn(*what, "--url", url, columns=columns)
    keys = [word for line in lines for word in line.split() if word.startswith("support/")]
    assert set(keys) <= {KEY, FORK}
    assert KEY in keys


@pytest.mark.parametrize("what", ["show", "tools", "documents"])
def test_no_title_breaks_a_key(url: str, what: str) -> None:
    assert drawn(what, KEY, "--url", url, columns=40)[0] == KEY


def test_a_key_that_leaves_no_room_stands_above_its_row(url: str) -> None:
    _, _, key, row, *_ = drawn("conversations", "--url", url, columns=80)
    assert key == FORK
    assert row == f"fork of {KEY}"


@pytest.mark.parametrize("columns", [60, 160])
@pytest.mark.parametrize("what", LISTS, ids=" ".join)
def test_a_time_is_told_in_full_beside_how_long_ago_it_was(
    url: str, what: tuple[str, ...], columns: int
) -> None:
    with onrecord.connect(url) as store:
        (day, clock) = moment(store.conversation(KEY).events()[0].recorded_at).split()
    text = "\n".join(drawn(*what, "--url", url, columns=columns))
    if what[0] == "search" and columns < 100:
        assert day not in text  # A narrow terminal has no room for this column.
        return
    assert day in text
    assert clock[:5] in text
    assert "just now" in text or " ago" in text


def test_a_narrow_terminal_says_which_columns_it_leaves_out(url: str) -> None:
    narrow, broad = (drawn("search", "depot", "--url", url, columns=at) for at in (99, 100))
    note = "Not shown: recorded, tool. A terminal of 100 columns shows them, and --json."
    assert note in narrow
    assert not any("Not shown" in line for line in broad)
    assert any("recorded" in line for line in broad)
    assert not any("Not shown" in line for line in drawn("conversations", "--url", url, columns=60))


def test_the_timeline_tells_when_an_exchange_began(url: str) -> None:
    (heading,) = (
        line for line in drawn("show", KEY, "--url", url, columns=80) if "exchange 1" in line
    )
    assert re.search(r"· \d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ · (just now|\d+ s ago) ─", heading)
    assert len(heading) == 80


def test_whom_somebody_acted_for_is_shown_on_a_narrow_terminal_too(url: str) -> None:
    with onrecord.connect(url) as store:
        store.conversation("served", actor="bot", on_behalf_of="ana").user("Hello " * 30)
        store.conversation("plain", actor="bot").user("Hello")
    served = "\n".join(drawn("why", "served", "2", "--url", url, columns=80))
    assert all(word in served for word in ("bot", "ana", "for"))
    assert "Not shown" not in served
    plain = drawn("why", "plain", "2", "--url", url, columns=80)
    assert not any(" for " in line for line in plain)


@pytest.mark.parametrize("columns", [80, 100])
def test_words_that_few_rows_have_stand_below_their_row(url: str, columns: int) -> None:
    reason = "asked to by the customer, letter of 3 March"
    with onrecord.connect(url) as store:
        gone = store.conversation("gone")
        gone.user("Hello.")
        store.forget(gone.conversation_id, reason=reason, actor="ana")
    lines = drawn("audit", "--url", url, columns=columns)
    below = lines.index(f"  ana: {reason}".ljust(columns))
    assert "erasure.intended" in "".join(lines[below - 3 : below])
