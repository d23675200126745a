"""What Gemini's requests are to google-genai: it takes them, and sends what the body says."""

from __future__ import annotations

import json
from typing import Any, cast

import httpx2
import pytest
from google import genai
from google.genai import types
from pydantic import BaseModel

from onrecord.domain.content import ToolResult
from onrecord.domain.events import ToolResultRecorded, ToolsDeclared
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.tools import ToolDefinition
from onrecord.projections.apis.gemini.render import KNOWN, TOOLS
from onrecord.projections.apis.gemini.server_tools import camel
from onrecord.projections.apis.request import Request
from tests.projections.apis.gemini import gemini_happenings as gemini
from tests.projections.apis.gemini.gemini_happenings import (
    GEMINI,
    call,
    of_model,
    signed,
    text,
    thought,
)
from tests.projections.happenings import Story, document, rules, thinking, tool_use

DIGEST = "ab" * 32
SCHEMA: JsonObject = {"type": "object", "properties": {"a_b": {"type": "string"}}}
HELD: dict[str, type[BaseModel]] = {
    "": types.Part,
    "functionCall": types.FunctionCall,
    "functionResponse": types.FunctionResponse,
    "executableCode": types.ExecutableCode,
    "codeExecutionResult": types.CodeExecutionResult,
    "toolCall": types.ToolCall,
    "toolResponse": types.ToolResponse,
    "inlineData": types.Blob,
    "fileData": types.FileData,
}


def sent(request: Request) -> JsonObject:
    """What google-genai puts on the wire."""
    bodies: list[bytes] = []

    def answer(asked: httpx2.Request) -> httpx2.Response:
        bodies.append(asked.content)
        said = {"candidates": [{"content": of_model("ok"), "finishReason": "STOP"}]}
        return httpx2.Response(200, json=said)

    transport = httpx2.MockTransport(answer)
    with httpx2.Client(transport=transport) as http:
        options = types.HttpOptions(httpx_client=http)
        client = genai.Client(api_key="x", http_options=options)
        models: Any = client.models
        models.generate_content(model=GEMINI, **request)
    (body,) = bodies
    told: JsonObject = json.loads(body)
    del told["generationConfig"]
    return told


def as_meant(value: Any, name: str = "") -> Any:
    """A body in one spelling of names and bytes; what functions are given and give stays."""
    match value:
        case dict() if name not in ("args", "response", "parametersJsonSchema"):
            members = cast("JsonObject", value).items()
            return {camel(key): as_meant(held, camel(key)) for key, held in members}
        case list():
            return [as_meant(held, name) for held in cast("list[Any]", value)]
        case str() if name in ("data", "thoughtSignature", "continuationToken"):
            return value.replace("+", "-").replace("/", "_")
        case _:
            return value


def told() -> Story:
    story = Story()
    story.instruct("be kind")
    tools = (
        ToolDefinition(name="look_up", input_schema=SCHEMA),
        gemini.native({"googleSearch": {}}),
    )
    story.happen(ToolsDeclared(tools=tools))
    story.user("hi", document("a.jpg", "image/jpeg", DIGEST))
    story.answer(thinking(), "I look.", tool_use("toolu_1"), tool_use("toolu_2"), stop="tool_use")
    held = ToolResult(call_id="toolu_1", content=(document("a.jpg", "image/jpeg", DIGEST),))
    story.happen(ToolResultRecorded(call_id="toolu_1", content=held))
    story.result("toolu_2", "no", is_error=True)
    gemini.asks(story)
    gemini.answers(
        story,
        thought(),
        signed(text(""), "+/8="),
        signed({"executableCode": {"id": "c", "code": "1", "language": "PYTHON"}}),
        {"codeExecutionResult": {"id": "c", "outcome": "OUTCOME_OK", "output": "1"}},
        {"toolCall": {"id": "t", "toolType": "FILE_SEARCH", "args": {"aB": 1.0}}},
        signed(call(args={"a_b": {"cD": 12345678901234567890}}, id="x")),
    )
    story.result("x")
    return story


BLOBS = {DIGEST: b"\xff\xd8\xff"}


@pytest.mark.parametrize("model", [None, GEMINI])
def test_the_sdk_sends_what_the_body_says(model: str | None) -> None:
    request = gemini.gemini(told(), gemini.asked_of(model), blobs=BLOBS)
    said = sent(request)
    said["tools"].reverse()  # The SDK puts functions last.
    assert as_meant(said) == as_meant(dict(request.body))


def test_the_sdk_goes_on_by_the_token() -> None:
    story = Story()
    story.user("hi")
    gemini.answers(story, text("half"), stop="CONTINUATION", continuationToken="YQ==")
    assert sent(gemini.gemini(story))["continuationToken"] == "YQ=="


def test_what_the_sdk_does_not_know_stands_in_the_body_only() -> None:
    story = Story()
    tools = (gemini.native({"holograms": {}}), gemini.native({"urlContext": {}}))
    story.happen(ToolsDeclared(tools=tools))
    story.user("hi")
    parts = [
        signed({"hologram": {"data": 1}}),
        {"text": "a", "color": "red"},
        signed({"executableCode": {"code": "1", "language": "PYTHON", "sandbox": 1}}),
    ]
    gemini.answers(story, *parts)
    story.user("go on")
    request = gemini.gemini(story)
    assert request.body["contents"][1] == of_model(*parts)
    assert request.body["tools"] == [{"holograms": {}}, {"urlContext": {}}]
    code = {"code": "1", "language": "PYTHON"}
    assert request["contents"][1] == of_model("a", signed({"executableCode": code}))
    assert request["config"]["tools"] == [{"urlContext": {}}]
    (note,) = request.report.of("G17")
    assert "hologram, color, sandbox" in note.why
    assert "holograms" in note.why
    assert sent(request)["contents"][1]["parts"][0] == {"text": "a"}


def test_most_requests_are_no_copy_of_their_body() -> None:
    story = Story()
    story.user("hi")
    request = gemini.gemini(story)
    assert request["contents"][0] is request.body["contents"][0]
    assert rules(request) == set()


@pytest.mark.parametrize("name", KNOWN)
def test_the_members_that_the_sdk_knows_are_those_of_its_types(name: str) -> None:
    assert KNOWN[name] == {camel(field) for field in HELD[name].model_fields}


def test_the_tools_that_the_sdk_knows_are_those_of_its_type() -> None:
    assert {camel(field) for field in types.Tool.model_fields} == TOOLS
