"""Programs whose model names its calls by their function alone: Gemini's, of its Developer API."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from onrecord.adapters.wire.clients.exchange_recorder import ExchangeRecorder
from onrecord.adapters.wire.clients.sending import Sending
from onrecord.domain.events import Event, ToolCallRecorded, ToolResultRecorded
from onrecord.domain.jsontext import JsonObject
from tests.adapters.recorded_calls import Recorded
from tests.corpus.interactions import Call, written
from tests.corpus.played import Played, play

PATH = "/v1beta/models/gemini-2.5-pro:generateContent"
ASKED: JsonObject = {"role": "user", "parts": [{"text": "Is it warm in Paris, and in Rome?"}]}
DONE: JsonObject = {"role": "model", "parts": [{"text": "It is warm in both of them."}]}
CITIES = ("Paris", "Rome")


def called(*ids: str) -> JsonObject:
    """Two calls of one function, with ids where a program gave them any."""
    calls = [{"name": "look", "args": {"city": city}} for city in CITIES]
    first, second = ({"functionCall": one} for one in named(calls, ids))
    return {"role": "model", "parts": [{**first, "thoughtSignature": "c2ln"}, second]}


def gave(*ids: str) -> JsonObject:
    results = [{"name": "look", "response": {"result": f"sun in {city}"}} for city in CITIES]
    return {"role": "user", "parts": [{"functionResponse": one} for one in named(results, ids)]}


def named(several: list[dict[str, Any]], ids: tuple[str, ...]) -> list[JsonObject]:
    if not ids:
        return several
    return [{"id": own, **one} for own, one in zip(ids, several, strict=True)]


def turn(contents: list[JsonObject], answer: JsonObject) -> Call:
    body: JsonObject = {"candidates": [{"content": answer, "finishReason": "STOP", "index": 0}]}
    body["modelVersion"] = "gemini-2.5-pro"
    request = written({"contents": contents})
    return Call("POST", PATH, PATH, request, 200, "application/json", written(body))


def two_turns(folder: Path, *ids: str) -> Played:
    """A round of calls; in the second request the program spells them with these ids."""
    sent = [ASKED, called(*ids), gave(*ids)]
    return play([turn([ASKED], called()), turn(sent, DONE)], folder)


def of(played: Played, kind: type[Event]) -> list[Any]:
    return [event for event in played.events() if isinstance(event, kind)]


@pytest.mark.parametrize("ids", [(), ("pyd_ai_1", "pyd_ai_2")], ids=["none", "the program's own"])
def test_a_program_goes_on_with_calls_that_have_no_ids(
    ids: tuple[str, ...], tmp_path: Path
) -> None:
    played = two_turns(tmp_path, *ids)
    assert [step.relation for step in played.steps] == ["extends", "extends"]
    made = [call.call_id for call in of(played, ToolCallRecorded)]
    assert made == [result.call_id for result in of(played, ToolResultRecorded)]
    assert len(set(made)) == 2
    assert played.chat.open_calls() == []
    contents = played.chat.request("gemini").body["contents"]
    assert contents[1:3] == [called(), gave()]


def test_results_that_were_recorded_by_hand_are_known_when_the_program_sends_them(
    tmp_path: Path,
) -> None:
    recorded = Recorded(tmp_path)
    turns = ExchangeRecorder(recorded.binding)
    answer(turns, turn([ASKED], called()))
    for call, city in zip(recorded.chat.open_calls(), CITIES, strict=True):
        recorded.chat.tool_result(call.id, f"sun in {city}")
    answer(turns, turn([ASKED, called(), gave()], DONE))
    assert [sent.relation for sent in recorded.requests()] == ["extends", "extends"]
    results = [event for event in recorded.events() if isinstance(event, ToolResultRecorded)]
    assert len(results) == 2


def test_the_seal_of_a_streams_end_may_come_back_on_the_text_before_it(tmp_path: Path) -> None:
    text, seal = {"text": "It is warm."}, {"thoughtSignature": "c2ln"}
    said: JsonObject = {"role": "model", "parts": [text, {"text": "", **seal}]}
    echo: JsonObject = {"role": "model", "parts": [{**text, **seal}]}
    thanks: JsonObject = {"role": "user", "parts": [{"text": "Thanks."}]}
    played = play([turn([ASKED], said), turn([ASKED, echo, thanks], DONE)], tmp_path)
    assert [step.relation for step in played.steps] == ["extends", "extends"]


def answer(turns: ExchangeRecorder, call: Call) -> None:
    sending = Sending(call.method, call.target, {})
    attempt = turns.attempt(turns.binding.of({}), sending, call.request)
    assert attempt is not None
    attempt.answered(call.status, {"content-type": call.content_type})
    attempt.feed(call.answer)
    attempt.finish()
