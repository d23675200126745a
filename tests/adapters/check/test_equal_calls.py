"""The very same call in two turns, where calls have no ids: each has its own result."""

from __future__ import annotations

from pathlib import Path

import pytest

import onrecord
from onrecord.adapters.check.check import check_request
from onrecord.domain.events import ToolResultRecorded
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.api import FOLDERS, known_api
from tests.adapters.every_spelling import Gemini, Ollama, candidate
from tests.adapters.recorded_calls import known
from tests.adapters.recording.own_history import Chat, List, Spelling, completion
from tests.adapters.recording.retold import Retold

NAMELESS: list[Spelling] = [Gemini(), Ollama(), Chat()]
WORDS = ("hail", "rain", "snow", "wind")
WINDOW = onrecord.Window(exchanges=1, step=1)
each_api = pytest.mark.parametrize("spelling", NAMELESS, ids=lambda spelling: spelling.api)


def calling(spelling: Spelling) -> JsonObject:
    """An answer that calls a tool twice with the same arguments, without ids."""
    if spelling.api == "gemini":
        part: JsonObject = {"functionCall": {"name": "look", "args": {"of": "a"}}}
        return candidate([{**part, "thoughtSignature": "c2ln"}, part])
    if spelling.api == "openai-chat":
        function = {"name": "look", "arguments": '{"of":"a"}'}
        calls: List = [{"id": it, "type": "function", "function": function} for it in ("", None)]
        return completion({"role": "assistant", "content": None, "tool_calls": calls})
    call: JsonObject = {"function": {"name": "look", "arguments": {"of": "a"}}}
    message = {"role": "assistant", "content": "", "tool_calls": [call, call]}
    return {"model": "m", "message": message, "done": True}


def called(told: Retold) -> list[str]:
    """Send what is rendered, be answered with the calls; return their ids."""
    told.program.answered(told.send(), calling(told.program.spelling))
    return [call.id for call in told.chat.open_calls()]


def messages(told: Retold, window: onrecord.Window | None = None) -> List:
    body = told.chat.request(told.api, window=window).body
    return list(body[known_api(told.api).messages])


def given(told: Retold, window: onrecord.Window | None = None) -> list[str]:
    """What the results of a request say, in order."""
    words = told.words(window=window)
    found = ((words.index(word), word) for word in WORDS if word in words)
    return [word for _, word in sorted(found)]


def two_turns(folder: Path, spelling: Spelling) -> Retold:
    told = Retold(folder, spelling)
    for prompt, words in (("u1", ("hail", "rain")), ("u2", ("snow", "wind"))):
        told.chat.user(prompt)
        for call, word in zip(called(told), words, strict=True):
            told.chat.tool_result(call, word)
        told.answered("a1")
    return told


@each_api
def test_each_of_equal_calls_has_its_own_result(spelling: Spelling, tmp_path: Path) -> None:
    told = two_turns(tmp_path, spelling)
    assert given(told) == ["hail", "rain", "snow", "wind"]
    assert told.chat.open_calls() == []
    assert told.program.relations() == ["extends"] * 4
    told.chat.user("u3")
    # Chat Completions wants an id at both ends; and its answers hold members that say nothing.
    made = {"C5", "C7"} if spelling.api == "openai-chat" else set[str]()
    assert {note.rule for note in told.chat.request(told.api).report} == made


@each_api
def test_a_window_that_keeps_the_second_turn_keeps_its_results(
    spelling: Spelling, tmp_path: Path
) -> None:
    told = two_turns(tmp_path, spelling)
    told.chat.user("u3")
    assert given(told, WINDOW) == ["snow", "wind"]
    whole = messages(told)
    kept = messages(told, WINDOW)
    assert kept == whole[-len(kept) :]
    assert check_request(told.api, told.chat.request(told.api, window=WINDOW).body).violations == ()


@each_api
@pytest.mark.parametrize("api", FOLDERS)
def test_equal_calls_go_to_any_api_in_pairs(spelling: Spelling, api: str, tmp_path: Path) -> None:
    told = two_turns(tmp_path, spelling)
    told.chat.user("u3")
    for window in (None, WINDOW):
        body = told.chat.request(api, window=window).body
        assert check_request(api, body).violations == ()
        words = str(body)
        assert [word in words for word in ("hail", "rain")] == [window is None] * 2
        assert "snow" in words and "wind" in words


@each_api
def test_a_late_result_is_of_the_turn_that_made_its_call(
    spelling: Spelling, tmp_path: Path
) -> None:
    told = Retold(tmp_path, spelling)
    told.chat.user("u1")
    first, second = called(told)
    told.chat.tool_result(first, "hail")
    told.chat.user("u2")
    told.chat.tool_result(second, "rain")
    told.answered("a1")
    told.chat.user("u3")
    again = called(told)
    assert again == [first, second]
    told.chat.tool_result(first, "snow")
    told.chat.tool_result(second, "wind")
    told.answered("a1")
    assert given(told) == ["hail", "rain", "snow", "wind"]
    told.chat.user("u4")
    assert given(told, WINDOW) == ["snow", "wind"]
    assert check_request(told.api, told.chat.request(told.api).body).violations == ()


@each_api
def test_a_program_that_keeps_its_list_gives_each_of_equal_calls_its_result(
    spelling: Spelling, tmp_path: Path
) -> None:
    """Then with a window of its own, that begins with the second turn."""
    told = Retold(tmp_path, spelling)
    program, turns = told.program, list[List]()
    history: List = []
    for prompt, words in (("u1", ("hail", "rain")), ("u2", ("snow", "wind"))):
        asked = program.user(prompt)
        made = program.answered(program.send([*history, *asked]), calling(spelling))
        turn = [*asked, *made, *results(spelling, *words)]
        turns.append([*turn, *program.answer(program.send([*history, *turn]), "a1")])
        history = [*history, *turns[-1]]
    program.ask([*turns[1], *program.user("u3")], "a3")
    assert program.relations() == [*["extends"] * 4, "view"]
    recorded = [known(event) for event in told.chat.events(after=0)]
    kept = [event for event in recorded if isinstance(event, ToolResultRecorded)]
    told_by = [event.model_dump_json() for event in kept]
    assert [f'"{word}"' in text for word, text in zip(WORDS, told_by, strict=True)] == [True] * 4
    assert given(told) == ["hail", "rain", "snow", "wind"]


@each_api
@pytest.mark.parametrize("words", [WORDS, ("hail",) * 4], ids=["different", "equal"])
def test_a_conversation_that_begins_in_the_middle_has_each_of_equal_calls(
    spelling: Spelling, words: tuple[str, ...], tmp_path: Path
) -> None:
    """Its first request tells two rounds, the second of which asks what the first did."""
    told = Retold(tmp_path, spelling)
    program = told.program
    made = spelling.echo(calling(spelling))
    rounds = [*made, *results(spelling, *words[:2]), *made, *results(spelling, *words[2:])]
    history = program.ask([*program.user("u1"), *rounds], "a1")
    program.ask([*history, *program.user("u2")], "a2")
    assert program.relations() == ["extends"] * 2
    assert told.chat.open_calls() == []
    said = str(told.chat.request(told.api).body)
    assert [said.count(f"'{word}'") for word in dict.fromkeys(words)] == [
        words.count(word) for word in dict.fromkeys(words)
    ]
    assert check_request(told.api, told.chat.request(told.api).body).violations == ()


def results(spelling: Spelling, *words: str) -> List:
    if spelling.api == "gemini":
        parts = [{"functionResponse": {"name": "look", "response": {"result": it}}} for it in words]
        return [{"role": "user", "parts": parts}]
    if spelling.api == "openai-chat":
        return [{"role": "tool", "tool_call_id": "", "content": it} for it in words]
    return [{"role": "tool", "tool_name": "look", "content": it} for it in words]
