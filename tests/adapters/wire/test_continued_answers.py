"""Answers that come in several hops: each is a response to a request of its own, and all are one turn."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from onrecord.domain.events import RequestSent, ResponseCompleted
from onrecord.domain.jsontext import JsonObject
from tests.corpus.interactions import Call, written
from tests.corpus.played import Played, play
from tests.projections.known_answers import turns

TOKENS = ["Q29udGludWU_-=", "YWdhaW4+/=="]
_PATH = "/v1beta/models/gemini-3-flash-preview:generateContent"


def hop(said: str, asked_by: str | None, goes_on_by: str | None) -> Call:
    """A request by a token, if any, and its answer, which may be gone on with by another."""
    contents = [{"role": "user", "parts": [{"text": "Hello"}]}]
    asked: JsonObject = {"contents": contents}
    if asked_by is not None:
        asked["continuationToken"] = asked_by
    candidate: JsonObject = {
        "content": {"role": "model", "parts": [{"text": said}]},
        "finishReason": "STOP" if goes_on_by is None else "CONTINUATION",
        "index": 0,
    }
    if goes_on_by is not None:
        candidate["continuationToken"] = goes_on_by
    told = {"candidates": [candidate], "modelVersion": "gemini-3-flash-preview"}
    answer = json.dumps({**told, "responseId": f"resp-{said}"}).encode()
    return Call("POST", _PATH, _PATH, written(asked), 200, "application/json", answer)


def hops(played: Played) -> list[tuple[str, bool]]:
    """The requests and answers in order, and whether each is of the main branch."""
    return [
        (type(event).__name__, event.line is None)
        for event in played.events()
        if isinstance(event, RequestSent | ResponseCompleted)
    ]


ONE_HOP = [("RequestSent", True), ("ResponseCompleted", True)]


def test_an_answer_goes_on_by_token_hop_after_hop(tmp_path: Path) -> None:
    first, second = TOKENS
    said = [hop("one", None, first), hop("two", first, second), hop("three", second, None)]
    played = play(said, tmp_path)
    assert [step.relation for step in played.steps] == ["extends"] * 3
    assert [step.said for step in played.steps[1:]] == [(), ()]
    assert hops(played) == ONE_HOP * 3
    played.chat.user("thanks")
    contents = played.chat.request("gemini").body["contents"]
    assert [part["text"] for part in contents[1]["parts"]] == ["one", "two", "three"]
    assert [said["role"] for said in contents] == ["user", "model", "user"]


@pytest.mark.parametrize("token", [None, TOKENS[1]])
def test_the_same_request_without_the_answers_token_is_another_sample(
    token: str | None, tmp_path: Path
) -> None:
    played = play([hop("one", None, TOKENS[0]), hop("another", token, None)], tmp_path)
    assert [step.relation for step in played.steps] == ["extends", "branches aside"]


def test_the_request_that_is_made_for_it_goes_on_with_the_answer(tmp_path: Path) -> None:
    played = play([hop("one", None, TOKENS[0])], tmp_path)
    body = played.chat.request("gemini").body
    second = hop("two", TOKENS[0], None)
    assert body == json.loads(second.request)


def test_each_hop_of_a_paused_turn_is_a_response_of_its_own(tmp_path: Path) -> None:
    played = play(turns("paused"), tmp_path)
    assert hops(played) == ONE_HOP * 2
    closings = [event for event in played.events() if isinstance(event, ResponseCompleted)]
    assert [closing.stop_reason for closing in closings] == ["pause_turn", "end_turn"]
    assert len({closing.request for closing in closings}) == 2
    assert len({closing.provider_id for closing in closings}) == 2
