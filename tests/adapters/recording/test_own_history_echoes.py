"""What SDKs make of Gemini's and Ollama's answers on the way back: it goes on with what is recorded."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from onrecord.domain.content import ToolCall
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.log import Recorded as Appended
from tests.adapters.every_spelling import EVERY, Bedrock, Gemini, Ollama, candidate
from tests.adapters.recorded_calls import Recorded
from tests.adapters.recording.own_history import Chat, List, Program, Spelling, completion
from tests.projections.refused import refused

SEAL = base64.b64encode(bytes(range(200, 255)) * 2).decode()
SAFE = SEAL.replace("+", "-").replace("/", "_")


def called(**more: str) -> JsonObject:
    return {"functionCall": {"name": "look", "args": {"a": 1}, **more}}


def gave(text: str, **more: str) -> JsonObject:
    return {"functionResponse": {"name": "look", "response": {"result": text}, **more}}


def program_of(folder: Path, spelling: Spelling) -> Program:
    return Program(Recorded(folder), spelling)


def went_on(program: Program, answer: JsonObject, echo: List, then: List) -> None:
    """Be answered, send the answer back as an SDK echoes it, and go on twice."""
    first = program.user("u1")
    program.answered(program.send(first), answer)
    second = program.ask([*first, *echo, *then], "a2")
    program.ask([*second, *program.user("u3")], "a3")
    assert program.relations() == ["extends"] * 3


@pytest.mark.parametrize(
    ("parts", "echo"),
    [
        ([{"text": "hi"}, {"text": "", "thoughtSignature": SEAL}],) * 2,
        (
            [{"text": "hi"}, {"text": "", "thoughtSignature": SEAL}],
            [{"text": "hi"}, {"text": "", "thought_signature": SAFE}],
        ),
        ([{"text": "hi"}, {"odd": {"a": 1}}], [{"text": "hi"}, {}]),
        ([{"odd": {"a": 1}}, {"text": "hi"}], [{}, {"text": "hi"}]),
        (
            [
                {"executableCode": {"language": "PYTHON", "code": "1"}},
                {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
                {"text": "hi"},
            ],
            [
                {"executable_code": {"language": "PYTHON", "code": "1"}},
                {"code_execution_result": {"outcome": "OUTCOME_OK", "output": "1"}},
                {"text": "hi"},
            ],
        ),
        (
            [{"inlineData": {"mimeType": "image/png", "data": SEAL}}],
            [{"inline_data": {"mime_type": "image/png", "data": SAFE}}],
        ),
    ],
    ids=["as it came", "sealed", "unknown", "unknown first", "code", "picture"],
)
def test_what_the_sdk_of_gemini_spells_otherwise_is_not_said_again(
    parts: List, echo: List, tmp_path: Path
) -> None:
    program = program_of(tmp_path, Gemini())
    went_on(program, candidate(parts), [{"role": "model", "parts": echo}], program.user("u2"))
    answers = [it for it in program.recorded.types() if it == "response.completed"]
    assert len(answers) == 3
    assert program.said() == ["u1", "u2", "u3"]


@pytest.mark.parametrize(
    ("made", "echo", "results"),
    [
        ([called()], [called()], [gave("r1")]),
        (
            [called(), called()],
            [called(id="p1"), called(id="p2")],
            [gave("r2", id="p2"), gave("r1", id="p1")],
        ),
        ([called(id="c1")], [called()], [gave("r1")]),
    ],
    ids=["without ids", "ids that were put on", "ids that were lost"],
)
def test_results_are_of_the_recorded_calls(
    made: List, echo: List, results: List, tmp_path: Path
) -> None:
    program = program_of(tmp_path, Gemini())
    then: List = [{"role": "user", "parts": results}]
    went_on(program, candidate(made), [{"role": "model", "parts": echo}], then)
    assert program.recorded.chat.open_calls() == []
    found = program.recorded.chat.request("gemini").body["contents"]
    texts = [
        part["functionResponse"]["response"]["result"]
        for content in found
        for part in content["parts"]
        if "functionResponse" in part
    ]
    assert texts == ["r1", "r2"][: len(results)]


def test_calls_of_ollama_are_known_without_the_ids_that_its_sdk_drops(tmp_path: Path) -> None:
    program = program_of(tmp_path, Ollama())
    answer = program.spelling.answer(None, ["c1"])
    function = {"name": "look", "arguments": {"of": "c1"}}
    echo: List = [{"role": "assistant", "tool_calls": [{"function": function}]}]
    went_on(program, answer, echo, [{"role": "tool", "tool_name": "look", "content": "r1"}])
    assert program.recorded.chat.open_calls() == []
    assert program.recorded.types().count("tool_call.recorded") == 1


@pytest.mark.parametrize("came", [{"id": ""}, {"id": None}, {}], ids=["empty", "null", "absent"])
@pytest.mark.parametrize(
    "echoed",
    [{"id": ""}, {"id": None}, {}, {"id": "pyd_ai_7"}],
    ids=["empty", "null", "absent", "put on"],
)
def test_calls_of_chat_completions_are_known_without_ids(
    came: JsonObject, echoed: JsonObject, tmp_path: Path
) -> None:
    """Servers give none, and SDKs put on some, or leave them out."""
    program = program_of(tmp_path, Chat())

    def calls(own: JsonObject) -> List:
        asks = [{"name": "look", "arguments": json.dumps({"of": of})} for of in "ab"]
        ids = [{name: it and f"{it}{n}" for name, it in own.items()} for n in (1, 2)]
        return [
            {**one, "type": "function", "function": asked}
            for one, asked in zip(ids, asks, strict=True)
        ]

    def gave(text: str, call: JsonObject) -> JsonObject:
        return {"role": "tool", "content": text, "tool_call_id": call.get("id")}

    answer: JsonObject = {"role": "assistant", "content": None}
    echo = calls(echoed)
    went_on(
        program,
        completion({**answer, "tool_calls": calls(came)}),
        [{**answer, "tool_calls": echo}],
        [gave("r1", echo[0]), gave("r2", echo[1])],
    )
    assert program.recorded.chat.open_calls() == []
    assert program.recorded.types().count("tool_call.recorded") == 2
    request = program.recorded.chat.request("openai-chat")
    called, *results = request.body["messages"][1:4]
    made = [call["id"] for call in called["tool_calls"]]
    assert [(it["tool_call_id"], it["content"]) for it in results] == list(
        zip(made, ["r1", "r2"], strict=True)
    )
    assert all(made)
    assert {note.rule for note in request.report} >= {"C5"}
    assert refused("openai-chat", request) == ()


@pytest.mark.parametrize("spelling", [Gemini(), Ollama()], ids=["gemini", "ollama"])
def test_the_same_call_in_a_later_turn_has_its_own_result(
    spelling: Spelling, tmp_path: Path
) -> None:
    program = program_of(tmp_path, spelling)
    chat = program.recorded.chat
    for turn in ("1", "2"):
        chat.user(f"u{turn}")
        body = spelling.body([], **chat.request(spelling.api))
        del body["contents" if spelling.api == "gemini" else "messages"]
        begun = program.send(list(chat.request(spelling.api).body[_member(spelling)]))
        answer = (
            candidate([called()])
            if spelling.api == "gemini"
            else {
                **spelling.answer("", ()),
                "message": {
                    "role": "assistant",
                    "content": "",
                    "tool_calls": [{"function": {"name": "look", "arguments": {"a": 1}}}],
                },
            }
        )
        program.answered(begun, answer)
        (call,) = chat.open_calls()
        assert isinstance(call, ToolCall)
        chat.tool_result(call.id, f"r{turn}")
        assert chat.open_calls() == []
    said = str(chat.request(spelling.api).body)
    assert said.index("u1") < said.index("r1") < said.index("u2") < said.index("r2")


def _member(spelling: Spelling) -> str:
    return "contents" if spelling.api == "gemini" else "messages"


def test_another_picture_is_another_prompt_of_ollama(tmp_path: Path) -> None:
    program = program_of(tmp_path, Ollama())
    for picture in ("iVBORw0KGgo=", "R0lGODlh"):
        program.ask([{"role": "user", "content": "What is it?", "images": [picture]}], "It is")
    assert program.relations() == ["extends", "branches aside"]


def test_a_seal_of_bedrock_tells_reasoning_without_its_text(tmp_path: Path) -> None:
    program = program_of(tmp_path, Bedrock())
    answer = program.spelling.answer("hi", ())
    thought = {"reasoningText": {"text": "Hm", "signature": SEAL}}
    answer["output"]["message"]["content"].insert(0, {"reasoningContent": thought})
    bare = {"reasoningText": {"text": "", "signature": SEAL}}
    echo: List = [
        {"role": "assistant", "content": [{"reasoningContent": bare}, {"text": "hi"}]},
    ]
    went_on(program, answer, echo, program.user("u2"))


@pytest.mark.parametrize("spelling", EVERY, ids=lambda spelling: spelling.api)
def test_a_call_whose_id_holds_half_a_character_takes_its_result(
    spelling: Spelling, tmp_path: Path
) -> None:
    """Its server made the id: what is open can be answered, and given up."""
    program = program_of(tmp_path, spelling)
    chat = program.recorded.chat
    program.answer(program.send(program.user("u1")), None, ["call_\ud83d", "call_\ude00"])
    one, other = chat.open_calls()
    assert isinstance(chat.tool_result(one.id, "r1"), Appended)
    assert isinstance(chat.cancel(other.id), Appended)
    assert chat.open_calls() == []
    assert "r1" in str(chat.request(spelling.api).body)
