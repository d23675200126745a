"""Signatures in Gemini's requests: just where they came, and for whom they were made."""

from __future__ import annotations

import pytest

from onrecord.projections.apis.gemini.encode import UNSIGNED
from onrecord.projections.apis.gemini.read import NAME
from onrecord.projections.apis.request import Options
from tests.projections.apis.gemini import gemini_happenings as gemini
from tests.projections.apis.gemini.gemini_happenings import (
    GEMINI,
    OLDER,
    call,
    of_model,
    response,
    signed,
    text,
    thought,
)
from tests.projections.happenings import Story, rules


def answered(model: str = GEMINI, account: str | None = None) -> Story:
    """A thought, an empty text and a text that are signed, and two calls at once."""
    story = Story()
    story.user("hi")
    gemini.asks(story, model, account)
    gemini.answers(
        story,
        thought("hm"),
        signed(text("")),
        signed(text("I look."), "+/8="),
        signed(call("a"), "-_8="),
        call("b"),
        model=model,
    )
    for name, call_id in zip("ab", gemini.call_ids(story), strict=True):
        gemini.gives(story, call_id, response("1", name))
    return story


def model_parts(story: Story, options: Options | None = None) -> dict[str, object]:
    told: dict[str, object] = gemini.contents(story, options)[1]
    return told


@pytest.mark.parametrize("model", [None, GEMINI, f"models/{GEMINI}"])
def test_signatures_go_back_just_where_they_came_in_their_own_spelling(model: str | None) -> None:
    assert model_parts(answered(), gemini.asked_of(model)) == of_model(
        thought("hm"),
        signed(text("")),
        signed(text("I look."), "+/8="),
        signed(call("a"), "-_8="),
        call("b"),
    )
    assert rules(gemini.gemini(answered())) == set()


def test_another_model_gets_neither_signatures_nor_thoughts() -> None:
    options = gemini.asked_of("gemini-3-pro-preview")
    assert model_parts(answered(), options) == of_model(
        "I look.", signed(call("a"), UNSIGNED), call("b")
    )
    assert {"G4", "G5", "G6"} == rules(gemini.gemini(answered(), options))


def test_another_account_gets_neither_signatures_nor_thoughts() -> None:
    story = answered(account="mine")
    assert "EqYD" in str(model_parts(story, Options(api=NAME, account="mine")))
    other = model_parts(story, Options(api=NAME, account="theirs"))
    assert other == of_model("I look.", signed(call("a"), UNSIGNED), call("b"))


def test_what_is_signed_is_dropped_as_asked() -> None:
    options = Options(api=NAME, thinking="drop")
    parts = of_model("I look.", signed(call("a"), UNSIGNED), call("b"))
    assert model_parts(answered(), options) == parts
    assert "thinking" in rules(gemini.gemini(answered(), options))


def test_an_older_model_wants_no_signature() -> None:
    options = gemini.asked_of(OLDER)
    assert model_parts(answered(), options) == of_model("I look.", call("a"), call("b"))


def test_calls_that_came_without_a_signature_go_so_to_the_model_that_made_them() -> None:
    story = Story()
    story.user("hi")
    gemini.asks(story, OLDER)
    gemini.answers(story, call("a"), model=OLDER)
    story.result(gemini.call_ids(story)[0])
    assert model_parts(story) == of_model(call("a"))
    assert rules(gemini.gemini(story)) == set()


@pytest.mark.parametrize(
    ("model", "wants"),
    [
        (None, True),
        (GEMINI, True),
        ("gemini-4-argon", True),
        ("gemini-flash-latest", True),
        ("models/gemini-3.1-pro-preview", True),
        ("publishers/google/models/gemini-2.5-flash", False),
        (OLDER, False),
        ("gemma-3-27b-it", False),
    ],
)
def test_the_first_call_of_a_step_is_signed_where_the_model_may_want_it(
    model: str | None, wants: bool
) -> None:
    story = Story()
    story.user("hi")
    story.call("x", "a", {"q": 1})
    story.call("y", "b", {"q": 2})
    for call_id in "xy":
        story.result(call_id)
    story.ask()
    story.call("z", "c", {"q": 3})
    story.result("z")
    contents = gemini.contents(story, gemini.asked_of(model))
    parts = [part for content in contents for part in content["parts"]]
    first, second, third = (part for part in parts if "functionCall" in part)
    expected = UNSIGNED if wants else None
    assert [part.get("thoughtSignature") for part in (first, second, third)] == [
        expected,
        None,
        expected,
    ]


def test_what_stands_in_for_a_signature_stays_when_the_turn_is_over() -> None:
    story = Story()
    story.user("hi")
    story.call("x")
    story.result("x")
    before = gemini.contents(story)
    gemini.asks(story)
    gemini.answers(story, signed(text("done")))
    story.user("thanks")
    assert gemini.contents(story)[: len(before)] == before
