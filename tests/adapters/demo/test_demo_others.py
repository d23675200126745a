"""The demo server on Gemini's, Ollama's and Bedrock's APIs, driven by their own SDKs."""

import json
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, cast

import boto3  # type: ignore[import-untyped]  # it has no stubs
import httpx
import ollama
import pytest
from botocore.exceptions import ClientError  # type: ignore[import-untyped]  # it has no stubs
from google import genai
from google.genai.errors import ClientError as RefusedByGoogle

from onrecord.adapters.demo.services.scenes import (
    FunctionCall,
    JsonObject,
    OtherApi,
    OtherScript,
    PlainAnswer,
)
from onrecord.adapters.demo.services.server import DemoServer

CALL = FunctionCall("track_parcel", {"parcel": "NW-20931"})
SAYINGS = (
    PlainAnswer(
        "Let me look where it is by now.", calls=(CALL,), reasons=True, thought="Where is it?"
    ),
    PlainAnswer(
        "It moves: it was loaded on Thursday at 06:40.", reasons=True, thought="Loaded; so yes."
    ),
)
HELLO = "Where is parcel NW-20931?"
MODELS = {
    "gemini": "gemini-3-pro-preview",
    "ollama": "qwen3",
    "bedrock-converse": "amazon.nova-pro-v1:0",
}


def says(said: PlainAnswer) -> OtherScript:
    def script(api: OtherApi, request: JsonObject) -> PlainAnswer:
        return said

    return script


@contextmanager
def google(server: DemoServer) -> Generator[Any]:
    client = genai.Client(api_key="demo", http_options={"base_url": server.url})
    with client:
        yield client


@contextmanager
def local(server: DemoServer) -> Generator[Any]:
    client: Any = ollama.Client(host=server.url)
    with client:
        yield client


@contextmanager
def amazon(server: DemoServer) -> Generator[Any]:
    client = cast("Any", boto3).client(
        "bedrock-runtime",
        region_name="us-east-1",
        endpoint_url=server.url,
        aws_access_key_id="demo",
        aws_secret_access_key="demo",
    )
    try:
        yield client
    finally:
        client.close()


Told = tuple[str, str, list[tuple[str, JsonObject]]]
"""What an answer comes to: its thought, its text, its calls."""


def by_gemini(server: DemoServer, *, stream: bool) -> Told:
    with google(server) as client:
        asked: Any = {"model": MODELS["gemini"], "contents": HELLO}
        answers = (
            list(client.models.generate_content_stream(**asked))
            if stream
            else [client.models.generate_content(**asked)]
        )
    parts: list[Any] = [
        part
        for answer in answers
        for candidate in answer.candidates or ()
        for part in (candidate.content and candidate.content.parts) or ()
    ]
    return (
        "".join(part.text for part in parts if part.text and part.thought),
        "".join(part.text for part in parts if part.text and not part.thought),
        [
            (part.function_call.name, part.function_call.args)
            for part in parts
            if part.function_call
        ],
    )


def by_ollama(server: DemoServer, *, stream: bool) -> Told:
    messages = [{"role": "user", "content": HELLO}]
    with local(server) as client:
        made = client.chat(model=MODELS["ollama"], messages=messages, stream=stream)
        said = [answer.message for answer in (made if stream else [made])]
    return (
        "".join(message.thinking or "" for message in said),
        "".join(message.content or "" for message in said),
        [
            (call.function.name, dict(call.function.arguments))
            for message in said
            for call in message.tool_calls or ()
        ],
    )


def by_bedrock(server: DemoServer, *, stream: bool) -> Told:
    asked: Any = {
        "modelId": MODELS["bedrock-converse"],
        "messages": [{"role": "user", "content": [{"text": HELLO}]}],
    }
    with amazon(server) as client:
        if not stream:
            content = client.converse(**asked)["output"]["message"]["content"]
            uses = [block["toolUse"] for block in content if "toolUse" in block]
            text = "".join(block.get("text", "") for block in content)
            return "", text, [(use["name"], use["input"]) for use in uses]
        text, names, arguments = "", list[str](), ""
        for event in client.converse_stream(**asked)["stream"]:
            names += [
                block["start"]["toolUse"]["name"]
                for block in [event.get("contentBlockStart")]
                if block
            ]
            for block in [event.get("contentBlockDelta")] if "contentBlockDelta" in event else []:
                text += block["delta"].get("text", "")
                arguments += block["delta"].get("toolUse", {}).get("input", "")
    return "", text, [(name, json.loads(arguments)) for name in names]


ASKED: dict[OtherApi, Callable[..., Told]] = {
    "gemini": by_gemini,
    "ollama": by_ollama,
    "bedrock-converse": by_bedrock,
}


@pytest.mark.parametrize("said", SAYINGS)
@pytest.mark.parametrize("api", ASKED)
def test_an_answer_says_the_same_whole_and_as_a_stream(api: OtherApi, said: PlainAnswer) -> None:
    with DemoServer([], others=says(said)) as server:
        whole = ASKED[api](server, stream=False)
        assert whole == ASKED[api](server, stream=True)
    thought = "" if api == "bedrock-converse" else said.thought
    calls = [(call.name, call.arguments) for call in said.calls]
    assert whole == (thought, said.text, calls)


BROKEN: dict[OtherApi, tuple[str, JsonObject, str]] = {
    "gemini": (
        f"/v1beta/models/{MODELS['gemini']}:generateContent",
        {"contents": [{"role": "user", "parts": []}]},
        "error",
    ),
    "ollama": ("/api/chat", {"model": "qwen3", "messages": []}, "error"),
    "bedrock-converse": (
        f"/model/{MODELS['bedrock-converse']}/converse",
        {"messages": [{"role": "assistant", "content": [{"text": "Hello"}]}]},
        "message",
    ),
}
ALLOWED = {"x-goog-api-key": "demo", "authorization": "AWS4-HMAC-SHA256 Credential=demo"}


@pytest.mark.parametrize("api", BROKEN)
def test_what_a_rule_forbids_is_refused_in_the_shape_of_the_service(api: OtherApi) -> None:
    path, request, member = BROKEN[api]
    with DemoServer([], others=says(SAYINGS[1])) as server:
        refused = httpx.post(f"{server.url}{path}", json=request, headers=ALLOWED)
    assert refused.status_code == 400
    assert refused.json()[member]


@pytest.mark.parametrize("api", ["gemini", "bedrock-converse"])
def test_who_shows_no_key_is_refused(api: OtherApi) -> None:
    path, request, _ = BROKEN[api]
    with DemoServer([], others=says(SAYINGS[1])) as server:
        assert httpx.post(f"{server.url}{path}", json=request).status_code == 403


@pytest.mark.parametrize("api", BROKEN)
def test_what_is_no_json_is_refused(api: OtherApi) -> None:
    path, _, _ = BROKEN[api]
    with DemoServer([], others=says(SAYINGS[1])) as server:
        assert httpx.post(f"{server.url}{path}", content=b"{", headers=ALLOWED).status_code == 400


def test_the_sdks_see_refusals_as_those_of_their_services() -> None:
    with DemoServer([], others=says(SAYINGS[1])) as server:
        with google(server) as client, pytest.raises(RefusedByGoogle) as google_says:
            client.models.generate_content(
                model=MODELS["gemini"], contents=[{"role": "user", "parts": []}]
            )
        with amazon(server) as client, pytest.raises(ClientError) as amazon_says:
            client.converse(modelId=MODELS["bedrock-converse"], messages=[])
        with (
            local(server) as client,
            pytest.raises(ollama.ResponseError) as ollama_says,
        ):
            client.chat(model="qwen3", messages=[])
    assert google_says.value.status == "INVALID_ARGUMENT"
    refused: Any = amazon_says.value
    assert refused.response["Error"]["Code"] == "ValidationException"
    assert ollama_says.value.status_code == 400


def exchange_of_gemini(server: DemoServer) -> list[JsonObject]:
    """A prompt, a signed call, and its result, as Gemini's wire has them."""
    path, _, _ = BROKEN["gemini"]
    prompt: JsonObject = {"role": "user", "parts": [{"text": HELLO}]}
    answer = httpx.post(f"{server.url}{path}", json={"contents": [prompt]}, headers=ALLOWED)
    result: JsonObject = {"functionResponse": {"name": CALL.name, "response": {"result": "ok"}}}
    said = answer.json()["candidates"][0]["content"]
    return [prompt, said, {"role": "user", "parts": [result]}]


def status_of(server: DemoServer, contents: list[JsonObject]) -> int:
    path, _, _ = BROKEN["gemini"]
    return httpx.post(
        f"{server.url}{path}", json={"contents": contents}, headers=ALLOWED
    ).status_code


def test_a_signature_of_gemini_is_good_in_its_place_in_either_alphabet_and_nowhere_else() -> None:
    with DemoServer([], others=says(SAYINGS[0])) as server:
        contents = exchange_of_gemini(server)
        call = cast("list[JsonObject]", contents[1]["parts"])[-1]
        signature = str(call["thoughtSignature"])
        assert status_of(server, contents) == 200
        call["thoughtSignature"] = signature.replace("+", "-").replace("/", "_")
        assert status_of(server, contents) == 200
        call["thoughtSignature"] = "skip_thought_signature_validator"
        assert status_of(server, contents) == 200
        call["thoughtSignature"] = "bm90IHNpZ25lZA=="
        assert status_of(server, contents) == 400
        call["thoughtSignature"] = signature
        cast("JsonObject", call["functionCall"])["args"] = {"parcel": "another"}
        assert status_of(server, contents) == 400


def test_a_signature_of_another_account_is_refused() -> None:
    with DemoServer([], others=says(SAYINGS[0])) as server:
        contents = exchange_of_gemini(server)
    with DemoServer([], others=says(SAYINGS[0]), key=b"another account") as server:
        assert status_of(server, contents) == 400
