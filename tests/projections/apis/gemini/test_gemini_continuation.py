"""Answers that Gemini goes on with by a token."""

from __future__ import annotations

import pytest

from onrecord.projections.apis.gemini.read import NAME
from onrecord.projections.apis.request import Options
from tests.projections.apis.gemini import gemini_happenings as gemini
from tests.projections.apis.gemini.gemini_happenings import of_model, of_user, text
from tests.projections.happenings import Story, rules


def begun(*tokens: str) -> Story:
    """An answer of several hops, each of which broke off with a token."""
    story = Story()
    story.user("hi")
    for token in tokens:
        gemini.asks(story)
        gemini.answers(story, text(f"<{token}>"), stop="CONTINUATION", continuationToken=token)
    return story


def test_the_service_goes_on_by_the_token_without_what_it_said_so_far() -> None:
    request = gemini.gemini(begun("YQ==", "YmI="))
    body = {"contents": [of_user("hi")], "continuationToken": "YmI="}
    assert request.body == body
    assert request["config"] == {"continuationToken": "YmI="}
    assert rules(request) == {"G12"}


def test_an_answer_that_is_whole_is_one_content() -> None:
    story = begun("YQ==", "YmI=")
    gemini.asks(story)
    gemini.answers(story, text("done"))
    story.user("go on")
    contents = [of_user("hi"), of_model("<YQ==>", "<YmI=>", "done"), of_user("go on")]
    assert gemini.gemini(story).body == {"contents": contents}


def test_a_word_of_the_user_s_ends_what_the_token_is_for() -> None:
    story = begun("YQ==")
    story.user("stop")
    contents = [of_user("hi"), of_model("<YQ==>"), of_user("stop")]
    assert gemini.gemini(story).body == {"contents": contents}


def test_an_answer_before_that_was_whole_stays() -> None:
    story = Story()
    story.user("hi")
    gemini.answers(story, text("whole"))
    gemini.asks(story)
    gemini.answers(story, text("half"), stop="CONTINUATION", continuationToken="YQ==")
    body = {"contents": [of_user("hi"), of_model("whole")], "continuationToken": "YQ=="}
    assert gemini.gemini(story).body == body


def test_a_token_beside_an_answer_that_is_whole_is_for_nothing() -> None:
    story = Story()
    story.user("hi")
    gemini.answers(story, text("whole"), continuationToken="YQ==")
    assert "continuationToken" not in gemini.gemini(story).body


@pytest.mark.parametrize(
    "options", [Options(api=NAME, model="gemini-2.5-pro"), Options(api=NAME, account="theirs")]
)
def test_another_model_or_account_gets_what_was_said_so_far(options: Options) -> None:
    story = Story()
    story.user("hi")
    gemini.asks(story, account="mine")
    gemini.answers(story, text("half"), stop="CONTINUATION", continuationToken="YQ==")
    request = gemini.gemini(story, options)
    assert request.body == {"contents": [of_user("hi"), of_model("half")]}
