"""The nastiest sequences of Gemini and Bedrock, by their numbers (test_edge_cases.py): 17 and 19.

Their SDKs lose parts that they do not know, merge what is signed and respell bytes: what came over
the wire is the record, and goes back as it was.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from onrecord.adapters.wire.wires import WIRES
from onrecord.domain.jsontext import JsonObject
from tests import bedrock_wire
from tests.contract.samples import stream_of
from tests.corpus.interactions import Call, calls, written
from tests.corpus.played import Played, play
from tests.projections.known_answers import recorded, sample

GEMINI: Final = "gemini"
CONVERSE: Final = "bedrock-converse"
_AT_GOOGLE: Final = "/v1beta/models/gemini-3-flash-preview"
_AT_AMAZON: Final = "/model/us.anthropic.claude-sonnet-4-5-v1:0"
_HELLO: Final[JsonObject] = {"role": "user", "parts": [{"text": "Hello"}]}
_SIGNED: Final = (
    *("text-signed", "tool-calls-parallel", "tool-call-with-id", "code-execution"),
    *("server-tools", "thinking", "unknown-part", "image"),
)
_RECORDED: Final = (
    *(
        "test_google__test_google_streaming_tool_call_thought_signature",
        "test_google__test_google_model_stream",
    ),
    *(
        "test_code_execution__test_code_execution",
        "test_code_execution__test_code_execution_stream",
    ),
    "test_structured_output__test_auto_mode_with_function_and_builtin_tools",
)


def at_google(name: str) -> Call:
    """A sample as the answer to a greeting."""
    is_stream = name.endswith(".sse")
    path = f"{_AT_GOOGLE}:{'streamGenerateContent' if is_stream else 'generateContent'}"
    kind = "text/event-stream" if is_stream else "application/json"
    asked = written({"contents": [_HELLO]})
    return Call("POST", path, path, asked, 200, kind, sample(GEMINI, name))


def parts_told(answer: bytes) -> list[JsonObject]:
    """The parts of an answer as the wire had them, in order, but for those that hold nothing.

    What stands beside the parts of an answer is none.
    """
    if answer.lstrip().startswith(b"{"):
        read = WIRES[GEMINI].read_body(answer, "malformed", None)
    else:
        stream = stream_of(GEMINI)
        stream.feed(answer)
        read = stream.finish()
    found = [block.value for block in read.blocks]
    beside = ("groundingMetadata", "urlContextMetadata")
    told = [part for part in found if not any(name in part for name in beside)]
    return [part for part in told if part != {"text": ""}]


def parts_sent(played: Played) -> list[JsonObject]:
    played.chat.user("Go on.")
    contents: list[JsonObject] = played.chat.request(GEMINI).body["contents"]
    return [part for said in contents if said["role"] == "model" for part in said["parts"]]


@pytest.mark.parametrize("name", [f"{name}.{how}" for name in _SIGNED for how in ("json", "sse")])
def test_case_17_parts_go_back_as_they_came(name: str, tmp_path: Path) -> None:
    call = at_google(name)
    played = play([call], tmp_path)
    told = parts_told(call.answer)
    assert told
    assert json.dumps(parts_sent(played)) == json.dumps(told)


@pytest.mark.parametrize(
    "source", recorded(*(f"gemini/pydantic-ai/{name}.json" for name in _RECORDED))
)
def test_case_17_recorded_parts_go_back_as_they_came(source: str, tmp_path: Path) -> None:
    """Of each file the last answer: programs spelled the earlier ones anew."""
    *_, last = (call for call in calls(source) if call.api and call.is_accepted)
    played = play([last], tmp_path)
    told = parts_told(last.answer)
    assert told
    assert json.dumps(parts_sent(played)[-len(told) :]) == json.dumps(told)


def converse(*content: JsonObject, stop: str = "end_turn", is_stream: bool = False) -> Call:
    """An answer of Bedrock's, whole or in frames, to a greeting that defines a tool."""
    body = bedrock_wire.body(*content, stop=stop)
    tool = {"toolSpec": {"name": "look", "inputSchema": {"json": {"type": "object"}}}}
    asked: JsonObject = {
        "messages": [{"role": "user", "content": [{"text": "Hello"}]}],
        "toolConfig": {"tools": [tool]},
    }
    path = f"{_AT_AMAZON}/{'converse-stream' if is_stream else 'converse'}"
    kind = "application/vnd.amazon.eventstream" if is_stream else "application/json"
    answer = bedrock_wire.spelled(body) if is_stream else json.dumps(body).encode()
    return Call("POST", path, path, written(asked), 200, kind, answer)


def sent_to_amazon(played: Played) -> Any:
    played.chat.user("Go on.")
    return played.chat.request(CONVERSE).body


def test_case_19_a_member_that_no_sdk_knows_goes_back(tmp_path: Path) -> None:
    """botocore makes SDK_UNKNOWN_MEMBER of it: what it held is lost, and sent back it is refused."""
    hologram: JsonObject = {"hologram": {"frames": [1, None, 12345678901234567890], "at": 1.0}}
    picture: JsonObject = {"image": {"format": "png", "source": {"bytes": "iVBORw0KGgo="}}}
    played = play([converse({"text": "See:"}, hologram, picture)], tmp_path)
    body = sent_to_amazon(played)
    assert json.dumps(body["messages"][1]["content"]) == json.dumps(
        [{"text": "See:"}, hologram, picture]
    )


@pytest.mark.parametrize("is_stream", [False, True])
def test_case_19_tools_go_along_wherever_the_history_has_calls(
    is_stream: bool, tmp_path: Path
) -> None:
    """ "toolConfig field must be defined when using toolUse and toolResult content blocks"."""
    call: JsonObject = {"toolUse": {"toolUseId": "tooluse_1", "name": "look", "input": {"q": 1}}}
    played = play([converse(call, stop="tool_use", is_stream=is_stream)], tmp_path)
    played.chat.tool_result("tooluse_1", "found")
    played.chat.tools.declare([])
    body = sent_to_amazon(played)
    assert body["messages"][1]["content"] == [call]
    assert [tool["toolSpec"]["name"] for tool in body["toolConfig"]["tools"]] == ["look"]
