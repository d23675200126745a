"""What a list shares with a line: given what the line says, when a list is sent, then it goes on so."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st

from onrecord.projections.matching.align import Alignment, align
from onrecord.projections.matching.recorded_units import RecordedUnit
from onrecord.projections.matching.units import Unit


def unit(word: str) -> Unit:
    """`u...` is said by the user, `a...` by the model, `c...` is a call and `r...` its result."""
    match word[0]:
        case "c":
            return Unit(f"call {word}", (f"call:{word[1:]}",), is_answer=True)
        case "r":
            return Unit(word, result_of=word[1:].rstrip("'"))
        case kind:
            return Unit(word, is_answer=kind == "a", is_blank=word == "a_")


@dataclass(frozen=True)
class Line:
    """A line as it was recorded, an event a word; what is in brackets did not come whole."""

    units: tuple[RecordedUnit, ...]
    gap: int | None = None

    def when(self, list_: str) -> Sent:
        return Sent(list_.split(), align([unit(w) for w in list_.split()], self.units, self.gap))


@dataclass(frozen=True)
class Sent:
    words: list[str]
    found: Alignment

    def then(self, how: str, new: str = "", after: int | None = None) -> None:
        assert self.found.how == how
        assert [self.words[place] for place in self.found.new] == new.split()
        assert after is None or self.found.after == after


def given(line: str, gap: int | None = None) -> Line:
    return Line(
        tuple(
            RecordedUnit(unit(word.strip("[]")), version, version, may_miss=word.startswith("["))
            for version, word in enumerate(line.split(), 1)
        ),
        gap,
    )


def test_a_list_that_holds_all_and_more_extends() -> None:
    given("u1 a1").when("u1 a1 u2").then("extends", "u2", after=2)


def test_a_list_extends_a_line_that_says_nothing() -> None:
    given("").when("u1 a1 u2").then("extends", "u1 a1 u2")


def test_a_blank_answer_before_anything_that_was_recorded_is_new() -> None:
    given("").when("a_ u1").then("extends", "a_ u1")


def test_a_list_that_holds_just_all_repeats() -> None:
    given("u1 a1 u2").when("u1 a1 u2").then("repeats")


def test_a_list_that_ends_before_the_end_branches_there() -> None:
    given("u1 a1 u2 a2").when("u1 a1 u2").then("branches", after=3)


def test_a_list_that_goes_another_way_branches() -> None:
    given("u1 a1 u2 a2").when("u1 a1 u2b").then("branches", "u2b", after=2)


def test_what_the_user_said_alone_makes_no_view_sure() -> None:
    given("u1 a1 u2 u3").when("u1 u2 u3").then("branches", "u2 u3", after=1)


def test_a_list_that_leaves_out_what_was_said_first_is_a_view() -> None:
    given("u1 a1 u2 a2").when("u2 a2 u3").then("view", "u3")


def test_a_list_that_replaces_what_was_said_first_is_a_view() -> None:
    given("u1 a1 u2 a2").when("uSummary u2 a2 u3").then("view", "u3")


def test_a_list_that_puts_something_in_between_is_a_view() -> None:
    given("u1 a1 u2 a2").when("u1 uNote a1 u2 a2 u3").then("view", "u3")


def test_an_edit_behind_a_window_branches_where_it_was() -> None:
    given("u1 a1 u2 a2 u3 a3").when("u2 a2 u3b").then("branches", "u3b", after=4)


def test_an_edit_behind_a_summary_branches_where_it_was() -> None:
    given("u1 a1 u2 a2 u3 a3").when("uSummary u2 a2 u3b").then("branches", "u3b", after=4)


def test_one_word_that_the_user_says_again_is_no_place() -> None:
    given("u1 a1 uyes a2 u3 a3").when("uyes uNew").then("apart")


def test_a_line_that_shares_nothing_is_apart() -> None:
    given("u1 a1").when("u2").then("apart")


def test_results_in_any_order_are_known() -> None:
    given("u1 c1 c2 c3 r3 r1").when("u1 c1 c2 c3 r1 r2 r3 u2").then("extends", "r2 u2")


def test_a_result_that_was_rewritten_makes_a_view() -> None:
    given("u1 c1 r1 a1").when("u1 c1 r1' a1 u2").then("view", "u2")


def test_a_result_that_is_left_out_makes_a_view() -> None:
    given("u1 c1 r1 a1").when("u1 c1 a1 u2").then("view", "u2")


def test_an_edited_result_is_new_where_all_after_it_is() -> None:
    given("u1 c1 r1 a1").when("u1 c1 r1'").then("branches", "r1'", after=2)


def test_a_call_id_that_is_given_again_is_another_call() -> None:
    given("u1 c1 r1 c1 r1'").when("u1 c1 r1 c1 r1' u2").then("extends", "u2")
    given("u1 c1 r1 c1").when("u1 c1 r1 c1 r1'").then("extends", "r1'")


@pytest.mark.parametrize("sent", ["u1 a1 a2 u2", "u1 a1 u2", "u1 a2 u2", "u1 u2"])
def test_what_did_not_come_whole_may_be_sent_or_left_out(sent: str) -> None:
    given("u1 [a1] [a2]").when(sent).then("extends", "u2")


def test_a_blank_may_be_there_or_not() -> None:
    given("u1 a_ c1").when("u1 c1 r1").then("extends", "r1")
    given("u1 c1").when("u1 a_ c1 r1").then("extends", "r1")


def test_a_cut_never_parts_what_was_said_before_from_what_it_keeps() -> None:
    """What the user said while the model answered (version 2) is told behind the answer."""
    first, held, answer = given("u1 u2 a1").units
    line = Line((first, answer, held))
    line.when("u1 a1 u2b").then("branches", "a1 u2b", after=1)


def test_of_a_long_line_only_the_ends_are_looked_at() -> None:
    given("u1 a1 u8 a8", gap=2).when("u1 a1 u2b").then("branches", "u2b", after=2)
    given("u1 a1 u8 a8", gap=2).when("u8 a8 u9").then("view", "u9")


@drawn(st.integers(1, 12), st.integers(1, 3))
def test_repeated_words_are_told_apart_by_their_place(turns: int, more: int) -> None:
    line = " ".join(["uyes aok"] * turns)
    sent = " ".join(["uyes aok"] * (turns + more)) + " uyes"
    new = " ".join(["uyes aok"] * more) + " uyes"
    given(line).when(sent).then("extends", new)


@drawn(
    st.lists(st.sampled_from(["u1", "u2", "a1", "a2", "c1", "r1"]), max_size=8), st.integers(0, 8)
)
def test_all_that_is_sent_is_known_or_new(line: list[str], cut: int) -> None:
    sent = [*line[:cut], "uNew", *line[cut:]]
    found = given(" ".join(line)).when(" ".join(sent)).found
    assert list(found.new) == sorted(set(found.new))
    if found.how == "extends":
        assert "uNew" in [sent[place] for place in found.new]
    assert found.after <= len(line)
