"""The caller's own summary: what it stands for, where it may end, how long it holds."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from uuid_utils.compat import uuid7

import onrecord
from onrecord.adapters.storage.memory.memory import Memory
from onrecord.domain import events
from onrecord.domain.errors import InvalidContent, NothingToSend
from onrecord.domain.log import RecordedEvent, Told
from onrecord.projections.api import known_api
from tests.adapters.every_spelling import EVERY
from tests.adapters.recording.own_history import Spelling
from tests.adapters.recording.retold import Retold


class Reads(Memory):
    """A log that remembers which versions were read."""

    def __init__(self) -> None:
        super().__init__()
        self.read_versions: set[int] = set()

    def read(self, *about: Any, **more: Any) -> Iterator[RecordedEvent]:
        for event in super().read(*about, **more):
            self.read_versions.add(event.version)
            yield event

    def tell(self, *about: Any, **more: Any) -> Iterator[Told]:
        for event in super().tell(*about, **more):
            self.read_versions.add(event.version)
            yield event

    def pointed(self, *about: Any, **more: Any) -> list[RecordedEvent]:
        found = super().pointed(*about, **more)
        self.read_versions |= {event.version for event in found}
        return found


each_api = pytest.mark.parametrize("spelling", EVERY, ids=lambda spelling: spelling.api)


@pytest.fixture
def told(tmp_path: Path) -> Retold:
    """Two exchanges, both answered."""
    told = Retold(tmp_path)
    told.exchange("u1", "a1")
    told.exchange("u2", "a2")
    return told


@each_api
def test_a_summary_is_the_first_that_the_user_says(spelling: Spelling, tmp_path: Path) -> None:
    told = Retold(tmp_path, spelling)
    told.chat.instruct("Be brief.")
    tool = {"name": "look", "description": "Look.", "input_schema": {"type": "object"}}
    told.chat.tools.declare([tool])
    told.exchange("u1", "a1")
    told.exchange("u2", "a2")
    told.chat.compact("In short.")
    told.exchange("u3", "a3")
    assert told.said() == ["In short.", "u3", "a3"]
    request = told.chat.request(told.api)
    assert "compacted" in [note.rule for note in request.report]
    assert "Be brief." in told.words()
    assert "look" in str(request.body.get("tools") or request.body["toolConfig"])
    assert told.words(at=10).count("u1") == 1


def test_by_default_a_summary_stands_for_all_exchanges_that_are_over(told: Retold) -> None:
    told.chat.user("u3")
    told.chat.compact("In short.")
    assert told.said() == ["In short.", "u3"]
    told.answered("looking", "call_1")
    told.chat.compact("In other words.")
    assert told.said()[:3] == ["In other words.", "u3", "looking"]
    told.chat.tool_result("call_1", "found")
    told.answered("a3")
    told.chat.compact("All of it.")
    assert told.said() == ["All of it."]


def test_an_exchange_is_not_over_while_its_answer_broke_off(told: Retold) -> None:
    told.chat.user("u3")
    told.program.cut(told.send(), "half")
    told.chat.compact("In short.")
    assert told.said()[:2] == ["In short.", "u3"]


def test_an_exchange_is_over_where_others_followed_though_it_broke_off(told: Retold) -> None:
    told.chat.user("u3")
    told.program.cut(told.send(), "half")
    told.chat.user("u4")
    told.chat.compact("In short.")
    assert told.said() == ["In short.", "u4"]


def test_a_prompt_that_was_said_amid_an_answer_is_not_parted_from_it(told: Retold) -> None:
    told.chat.user("u3")
    begun = told.send()
    told.chat.user("wait")
    told.program.answer(begun, "a3")
    told.chat.compact("In short.")
    assert told.said() == ["In short.", "u3", "a3", "wait"]


def test_where_no_exchange_is_over_there_is_nothing_to_sum_up(tmp_path: Path) -> None:
    told = Retold(tmp_path)
    with pytest.raises(NothingToSend):
        told.chat.compact("In short.")
    told.chat.user("u1")
    with pytest.raises(InvalidContent, match="no exchange is over yet"):
        told.chat.compact("In short.")
    told.answered("looking", "call_1")
    with pytest.raises(InvalidContent, match="no exchange is over yet"):
        told.chat.compact("In short.")


def test_a_summary_stands_for_rounds_of_an_exchange_that_is_open(tmp_path: Path) -> None:
    told = Retold(tmp_path)
    told.chat.user("u1")
    result = 0
    for number in range(3):
        told.answered("looking", f"call_{number}")
        result = told.chat.tool_result(f"call_{number}", "found").last
    told.chat.compact("It looked thrice.", until=result)
    assert told.said() == ["It looked thrice."]
    told.answered("a1")
    assert told.said() == ["It looked thrice.", "a1"]


def test_no_summary_ends_amid_a_round(told: Retold) -> None:
    told.chat.user("u3")
    told.answered("looking", "call_1", "call_2")
    calls = told.chat.head().version
    result = told.chat.tool_result("call_1", "found").last
    for version in (calls, result):
        with pytest.raises(InvalidContent, match=f"version {version} is amid a round"):
            told.chat.compact("In short.", until=version)
    told.chat.compact("In short.", until=told.chat.tool_result("call_2", "found").last)


def test_no_summary_ends_amid_an_answer(told: Retold) -> None:
    for version in (3, 4):
        with pytest.raises(InvalidContent, match=f"version {version} is amid an answer"):
            told.chat.compact("In short.", until=version)
    told.chat.user("u3")
    sent = told.send()
    with pytest.raises(InvalidContent, match="amid an answer"):
        told.chat.compact("In short.", until=told.chat.head().version)
    told.program.fail(sent)
    told.chat.compact("It was too long.", until=told.chat.head().version)
    assert told.said() == ["It was too long."]


def test_a_summary_needs_words_and_a_version_that_is_history(told: Retold) -> None:
    with pytest.raises(InvalidContent, match="needs words"):
        told.chat.compact("  ")
    with pytest.raises(InvalidContent, match="no event at version 99"):
        told.chat.compact("In short.", until=99)
    with pytest.raises(InvalidContent, match="nothing was said up to version 1"):
        told.chat.compact("In short.", until=1)
    told.chat.edit_message(2, "u1b")
    with pytest.raises(InvalidContent, match="not on the main branch"):
        told.chat.compact("In short.", until=9)


def test_a_summary_that_is_redacted_gives_all_back(told: Retold) -> None:
    before = told.words()
    version = told.chat.compact("In short.").last
    told.chat.redact(version)
    assert told.words() == before


def test_of_two_summaries_the_last_one_counts(told: Retold) -> None:
    told.chat.compact("In short.", until=5)
    assert told.said() == ["In short.", "u2", "a2"]
    version = told.chat.compact("All of it.").last
    assert told.said() == ["All of it."]
    told.chat.redact(version)
    assert told.said() == ["In short.", "u2", "a2"]


def test_a_summary_of_what_is_given_up_stands_for_nothing(told: Retold) -> None:
    told.chat.compact("In short.")
    told.chat.edit_message(6, "u2b")
    assert told.said() == ["u1", "a1", "u2b"]


def test_a_summary_holds_where_only_what_is_behind_it_is_given_up(told: Retold) -> None:
    version = told.chat.user("u3").last
    told.chat.compact("In short.")
    told.answered("a3")
    told.chat.edit_message(version, "u3b")
    assert told.said() == ["In short.", "u3b"]
    told.answered("a3b")
    told.chat.retract_answer()
    assert told.said() == ["In short.", "u3b"]


def test_a_window_counts_the_exchanges_behind_a_summary_and_keeps_it(told: Retold) -> None:
    told.chat.compact("In short.")
    for number in range(3, 7):
        told.exchange(f"u{number}", f"a{number}")
    said = told.words(window=onrecord.Window(exchanges=1, step=1))
    assert "In short." in said
    assert [word for word in ("u1", "u2", "u3", "u4", "u5", "u6") if word in said] == ["u5", "u6"]
    pinned = told.words(window=onrecord.Window(exchanges=1, step=1, pinned=1))
    assert [word for word in ("u2", "u3", "u4", "u5") if word in pinned] == ["u3", "u5"]
    notes = told.chat.request(told.api, window=onrecord.Window(exchanges=1, step=1)).report
    assert {"compacted", "window"} <= {note.rule for note in notes}


@each_api
def test_a_program_that_goes_on_from_a_list_with_the_summary_says_nothing_twice(
    spelling: Spelling, tmp_path: Path
) -> None:
    told = Retold(tmp_path, spelling)
    told.exchange("u1", "a1")
    told.exchange("u2", "a2")
    told.chat.compact("In short.")
    history = list(told.chat.request(told.api).body[known_api(told.api).messages])
    program = told.program
    for number in (3, 4):
        history = program.ask([*history, *program.user(f"u{number}")], f"a{number}")
    assert told.said() == ["In short.", "u3", "a3", "u4", "a4"]
    assert [said.rpartition("\n")[2] for said in program.said()] == ["u1", "u2", "u3", "u4"]


def test_what_a_tool_of_the_providers_did_is_told_though_a_summary_stands_for_it(
    told: Retold,
) -> None:
    call = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search"}
    searched = events.ServerToolCallRecorded(
        response=uuid7(),
        index=0,
        call_id="srvtoolu_1",
        name="web_search",
        content=onrecord.Native(api=told.api, value=call),
    )
    told.chat.log.append(searched)
    told.chat.compact("In short.")
    assert [done.tool for done in told.chat.tools.server_calls()] == ["web_search"]


def test_what_a_summary_stands_for_is_not_read(tmp_path: Path) -> None:
    log = Reads()
    told = Retold(tmp_path, backend=log)
    told.chat.instruct("Be brief.")
    for number in range(20):
        told.exchange(f"u{number}", f"a{number}")
    told.chat.compact("In short.")
    told.exchange("u20", "a20")
    for window in (None, onrecord.Window(exchanges=5, step=1)):
        log.read_versions.clear()
        assert "In short." in told.words(window=window)
        # The instructions, where the summary ends, it itself, and what came behind it.
        assert log.read_versions <= {2, 82, *range(83, 88)}


def test_a_fork_has_the_summary_of_its_origin_and_may_have_its_own(told: Retold) -> None:
    before = told.chat.fork("before")
    told.chat.compact("In short.")
    fork = told.chat.fork("fork")
    fork.user("u3")
    assert "In short." in str(fork.request(told.api)["messages"])
    assert "u1" not in str(fork.request(told.api)["messages"])
    assert "u1" in str(before.request(told.api)["messages"])
    before.compact("In other words.")
    assert "u1" not in str(before.request(told.api)["messages"])
    assert told.said() == ["In short."]
