"""History surgery: what is asked for again, said otherwise, summed up, and what cannot be."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import onrecord
from onrecord.adapters.storage.memory.memory import Memory
from onrecord.domain.errors import InvalidContent, NothingToSend, VersionConflict
from onrecord.domain.log import Append, Verdict
from tests.adapters.recording.own_history import SPELLINGS, Spelling
from tests.adapters.recording.retold import Retold

each_api = pytest.mark.parametrize("spelling", SPELLINGS, ids=lambda spelling: spelling.api)


@pytest.fixture
def told(tmp_path: Path) -> Retold:
    """Two exchanges, both answered."""
    told = Retold(tmp_path)
    told.exchange("u1", "a1")
    told.exchange("u2", "a2")
    return told


# -- regenerate --------------------------------------------------------------------------------


@each_api
def test_a_regenerated_answer_is_asked_for_with_the_very_bytes(
    spelling: Spelling, tmp_path: Path
) -> None:
    told = Retold(tmp_path, spelling)
    told.chat.instruct("Be brief.")
    told.exchange("u1", "a1")
    told.exchange("u2", "a2")
    told.chat.retract_answer()
    told.answered("a2b")
    assert told.bodies[-1] == told.bodies[-2]
    assert told.said() == ["u1", "a1", "u2", "a2b"]


@each_api
def test_what_came_of_results_is_regenerated_and_the_results_stay(
    spelling: Spelling, tmp_path: Path
) -> None:
    told = Retold(tmp_path, spelling)
    told.chat.user("u1")
    told.answered("looking", "call_1")
    told.chat.tool_result("call_1", "found")
    told.answered("a1")
    told.chat.retract_answer()
    told.answered("a1b")
    assert told.bodies[-1] == told.bodies[-2]
    assert told.said() == ["u1", "looking", "call call_1", "call_1 gave found", "a1b"]


def test_a_regenerated_call_is_open_no_more(told: Retold) -> None:
    told.chat.user("u3")
    told.answered("looking", "call_1", "call_2")
    assert len(told.chat.open_calls()) == 2
    told.chat.retract_answer()
    assert told.chat.open_calls() == []
    assert told.said()[-1] == "u3"


def test_an_answer_in_several_parts_is_regenerated_as_one(told: Retold) -> None:
    told.chat.user("u3")
    told.program.cut(told.send(), "broken off")
    told.answered("a3")
    told.chat.retract_answer()
    assert told.said() == ["u1", "a1", "u2", "a2", "u3"]


def test_an_answer_is_regenerated_again_and_again(told: Retold) -> None:
    for number in range(5):
        told.chat.retract_answer()
        told.answered(f"a2.{number}")
    assert told.said() == ["u1", "a1", "u2", "a2.4"]
    assert len(set(told.bodies[1:])) == 1


def test_an_answer_that_another_holder_gave_up_meanwhile_is_no_history(told: Retold) -> None:
    told.chat.user("u3")
    begun = told.send()
    told.chat.retract_answer()
    told.program.answer(begun, "too late")
    assert told.said()[-1] == "u3"
    told.answered("a3")
    assert told.said()[-2:] == ["u3", "a3"]


def test_an_answer_to_what_was_edited_meanwhile_is_no_history(told: Retold) -> None:
    version = told.chat.user("u3").last
    begun = told.send()
    told.chat.edit_message(version, "u3b")
    told.program.answer(begun, "too late")
    assert told.said()[-1] == "u3b"


def test_nothing_is_regenerated_where_something_was_said_since(told: Retold) -> None:
    version = told.chat.user("u3").last
    with pytest.raises(InvalidContent, match=f"version {version} is not answered yet"):
        told.chat.retract_answer()


def test_nothing_is_regenerated_where_something_was_said_while_the_answer_came(
    told: Retold,
) -> None:
    told.chat.user("u3")
    begun = told.send()
    version = told.chat.user("wait").last
    told.program.answer(begun, "a3")
    with pytest.raises(InvalidContent, match=f"version {version} "):
        told.chat.retract_answer()


def test_nothing_is_regenerated_where_nothing_was_answered(tmp_path: Path) -> None:
    chat = Retold(tmp_path).chat
    with pytest.raises(NothingToSend):
        chat.retract_answer()
    chat.user("u1")
    with pytest.raises(InvalidContent, match="version 2 is not answered yet"):
        chat.retract_answer()


def test_a_fork_does_not_regenerate_what_its_origin_was_answered(told: Retold) -> None:
    fork = told.chat.fork("fork")
    with pytest.raises(InvalidContent, match=f"fork {told.chat.conversation_id} at version 6"):
        fork.retract_answer()


def test_a_version_that_is_expected_is_no_other(told: Retold) -> None:
    version = told.chat.head().version
    with pytest.raises(VersionConflict):
        told.chat.retract_answer(expected_version=version - 1)
    with pytest.raises(VersionConflict):
        told.chat.edit_message(2, "u1b", expected_version=version + 1)
    with pytest.raises(VersionConflict):
        told.chat.compact("In short.", expected_version=0)
    assert told.chat.head().version == version


class Busy(Memory):
    """A log to which another writer appends right before this one, once."""

    def __init__(self) -> None:
        super().__init__()
        self.rival: Callable[[], object] | None = None

    def append(self, appends: Sequence[Append]) -> list[Verdict]:
        rival, self.rival = self.rival, None
        if rival is not None:
            rival()
        return super().append(appends)


def test_a_prompt_that_another_writer_said_meanwhile_is_not_given_up(tmp_path: Path) -> None:
    log = Busy()
    told = Retold(tmp_path, backend=log)
    told.exchange("u1", "a1")
    log.rival = lambda: told.chat.user("u2")
    with pytest.raises(InvalidContent, match="is not answered yet"):
        told.chat.retract_answer()
    assert told.said() == ["u1", "a1", "u2"]


def test_what_another_writer_remarked_meanwhile_stands_in_no_ones_way(tmp_path: Path) -> None:
    log = Busy()
    told = Retold(tmp_path, backend=log)
    told.exchange("u1", "a1")
    log.rival = lambda: told.chat.annotate({"rating": "5"})
    told.chat.retract_answer()
    assert told.said() == ["u1"]


# -- edit --------------------------------------------------------------------------------------


@each_api
def test_an_edited_prompt_is_asked_instead_and_what_followed_is_given_up(
    spelling: Spelling, tmp_path: Path
) -> None:
    told = Retold(tmp_path, spelling)
    told.exchange("u1", "a1")
    version = told.exchange("u2", "a2")
    told.exchange("u3", "a3")
    told.chat.edit_message(version, "u2b")
    told.answered("a2b")
    assert told.said() == ["u1", "a1", "u2b", "a2b"]


def test_an_edit_is_edited_and_so_is_what_was_said_before_it(told: Retold) -> None:
    edited = told.chat.edit_message(6, "u2b").last
    told.answered("a2b")
    told.chat.edit_message(edited, "u2c")
    assert told.said() == ["u1", "a1", "u2c"]
    told.chat.edit_message(2, "u1b")
    assert told.said() == ["u1b"]


def test_an_edit_may_bring_documents(told: Retold) -> None:
    told.chat.edit_message(
        6, "see", documents=[onrecord.Document(media_type="image/png", url="https://x/y")]
    )
    assert "https://x/y" in told.words()


@pytest.mark.parametrize("version", [0, 10])
def test_no_version_is_edited_that_is_not_there(told: Retold, version: int) -> None:
    with pytest.raises(InvalidContent, match=f"no event at version {version}"):
        told.chat.edit_message(version, "x")


def test_only_a_prompt_is_edited(told: Retold) -> None:
    said = r"version 4 is no prompt, but message\.recorded of the assistant"
    with pytest.raises(InvalidContent, match=said):
        told.chat.edit_message(4, "x")
    with pytest.raises(InvalidContent, match=r"version 3 is no prompt, but request\.sent"):
        told.chat.edit_message(3, "x")


def test_what_was_given_up_is_not_edited(told: Retold) -> None:
    told.chat.edit_message(2, "u1b")
    with pytest.raises(InvalidContent, match="not on the main branch"):
        told.chat.edit_message(6, "x")


def test_instructions_that_were_set_later_are_given_up_with_what_followed(told: Retold) -> None:
    told.chat.instruct("Be loud.")
    assert told.chat.request(told.api)["system"] == "Be loud."
    told.chat.edit_message(6, "u2b")
    assert "system" not in told.chat.request(told.api)


def test_a_closed_conversation_takes_no_surgery(told: Retold) -> None:
    told.chat.end()
    with pytest.raises(onrecord.ConversationClosed):
        told.chat.retract_answer()
    with pytest.raises(onrecord.ConversationClosed):
        told.chat.edit_message(2, "x")
    with pytest.raises(onrecord.ConversationClosed):
        told.chat.compact("In short.")


@each_api
def test_what_a_program_went_on_with_beside_is_regenerated_and_edited_as_well(
    spelling: Spelling, tmp_path: Path
) -> None:
    told = Retold(tmp_path, spelling)
    program = told.program
    history = program.ask(program.user("u1"), "a1")
    program.ask([*history, *program.user("u2")], "a2")
    beside = program.ask([*history, *program.user("u2b")], "b2")
    program.ask([*beside, *program.user("u3")], "a3")
    assert told.said() == ["u1", "a1", "u2b", "b2", "u3", "a3"]
    told.chat.retract_answer()
    assert told.said() == ["u1", "a1", "u2b", "b2", "u3"]
    edited = next(
        event.version for event in told.chat.events(after=0) if b"u2b" in (event.body or b"")
    )
    told.chat.edit_message(edited, "u2c")
    assert told.said() == ["u1", "a1", "u2c"]
    told.answered("c2")
    told.chat.retract_answer()
    assert told.said() == ["u1", "a1", "u2c"]
    told.chat.compact("In short.")
    assert told.said() == ["In short.", "u2c"]


@each_api
def test_a_program_goes_on_from_what_was_edited_for_it(spelling: Spelling, tmp_path: Path) -> None:
    told = Retold(tmp_path, spelling)
    program = told.program
    history = program.ask(program.user("u1"), "a1")
    program.ask([*history, *program.user("u2")], "a2")
    version = max(
        e.version
        for e in told.chat.events(after=0)
        if b"u2" in (e.body or b"") and "message" in e.type
    )
    told.chat.edit_message(version, "u2b")
    program.ask([*history, *program.user("u2b")], "b2")
    assert told.said() == ["u1", "a1", "u2b", "b2"]
    assert program.said() == ["u1", "u2", "u2b"]


# -- redact ------------------------------------------------------------------------------------


def test_a_redaction_holds_where_what_came_before_it_is_gone_back_to(told: Retold) -> None:
    told.chat.redact(2)
    told.chat.edit_message(6, "u2b")
    assert "u1" not in told.words()
    told.answered("a2b")
    told.chat.retract_answer()
    assert "u1" not in told.words()


def test_a_redaction_before_a_window_holds_for_what_the_window_keeps(tmp_path: Path) -> None:
    told = Retold(tmp_path)
    told.chat.instruct("Be brief.")
    told.chat.instruct("The password is 1234.")
    told.exchange("secret", "a1")
    told.chat.redact(3)
    told.chat.redact(4)
    for number in range(2, 6):
        told.exchange(f"u{number}", f"a{number}")
    window = onrecord.Window(exchanges=1, step=1, pinned=1)
    said = told.words(window=window)
    assert "secret" not in said
    assert "1234" not in said
    assert "Be brief." in said
