"""Bedrock's Converse API as the demo server speaks it: one JSON body, or binary frames.

Shapes and errors: docs.aws.amazon.com, "Converse" and "ConverseStream". What the service refuses is
told by the rules that `onrecord check-request` knows; a signature is looked for, not checked.
"""

import re
from collections.abc import Iterator
from urllib.parse import unquote

from onrecord.adapters.demo.services.connection import (
    Received,
    Reply,
    at_once,
    pieces,
    streamed,
    tokens,
)
from onrecord.adapters.demo.services.scenes import JsonObject, OtherScript, PlainAnswer, encoded
from onrecord.adapters.wire.eventstream import FRAMES, Frame, text_header, written
from onrecord.projections.apis.bedrock import rules
from onrecord.projections.apis.rules import violations

_PATH = re.compile(r"/model/([^/]+)/(converse|converse-stream)")
_ALLOWED = ("AWS4-HMAC-SHA256 ", "Bearer ")
_LATENCY: JsonObject = {"latencyMs": 512}


class BedrockService:
    """Answers what its script says, and refuses what the real service refuses."""

    def __init__(self, script: OtherScript) -> None:
        """Hold the script."""
        self._script = script

    def reply(self, received: Received, request: JsonObject | None, own_id: str) -> Reply | None:
        """Answer a request (None: it is no JSON), if it is for these paths; ids are made of `own_id`."""
        match = _PATH.fullmatch(received.path)
        if match is None:
            return None
        headers = {"x-amzn-requestid": own_id}
        if not received.headers.get("authorization", "").startswith(_ALLOWED):
            kind, why = "MissingAuthenticationTokenException", "Missing Authentication Token"
            return _refused(403, kind, why, headers)
        if request is None:
            return _refused(400, "SerializationException", "Unexpected token", headers)
        named: JsonObject = {**request, "modelId": unquote(match[1])}
        for broken in violations(rules.RULES, named):
            return _refused(400, "ValidationException", broken.said, headers)
        content = _content(self._script("bedrock-converse", request), own_id)
        stop = "tool_use" if any("toolUse" in block for block in content) else "end_turn"
        counted = _usage(content, request)
        if match[2] == "converse-stream":
            return streamed(_frames(content, stop, counted), FRAMES, headers)
        return at_once(200, _body(content, stop, counted), headers)


def _content(answer: PlainAnswer, own_id: str) -> list[JsonObject]:
    text: list[JsonObject] = [{"text": answer.text}] if answer.text else []
    calls: list[JsonObject] = [
        {
            "toolUse": {
                "toolUseId": f"tooluse_{own_id}{place}",
                "name": call.name,
                "input": call.arguments,
            }
        }
        for place, call in enumerate(answer.calls)
    ]
    return [*text, *calls]


def _usage(content: list[JsonObject], request: JsonObject) -> JsonObject:
    prompt, answer = tokens(request), tokens({"content": [*content]})
    return {"inputTokens": prompt, "outputTokens": answer, "totalTokens": prompt + answer}


def _body(content: list[JsonObject], stop: str, usage: JsonObject) -> JsonObject:
    return {
        "output": {"message": {"role": "assistant", "content": [*content]}},
        "stopReason": stop,
        "usage": usage,
        "metrics": _LATENCY,
    }


def _frames(content: list[JsonObject], stop: str, usage: JsonObject) -> Iterator[bytes]:
    yield _frame("messageStart", {"role": "assistant"})
    for index, block in enumerate(content):
        start, deltas = _in_pieces(block)
        if start is not None:
            yield _frame("contentBlockStart", {"start": start, "contentBlockIndex": index})
        for delta in deltas:
            yield _frame("contentBlockDelta", {"delta": delta, "contentBlockIndex": index})
        yield _frame("contentBlockStop", {"contentBlockIndex": index})
    yield _frame("messageStop", {"stopReason": stop})
    yield _frame("metadata", {"usage": usage, "metrics": _LATENCY})


def _in_pieces(block: JsonObject) -> tuple[JsonObject | None, list[JsonObject]]:
    """Return how a block starts, if that is told, and what is added to it."""
    match block:
        case {"toolUse": dict(use)}:
            start: JsonObject = {name: value for name, value in use.items() if name != "input"}
            arguments = encoded(use["input"]).decode()
            return {"toolUse": start}, [{"toolUse": {"input": each}} for each in pieces(arguments)]
        case {"text": str(text)}:
            return None, [{"text": piece} for piece in pieces(text)]
        case _:
            raise AssertionError(f"no block of the demo's: {block}")


def _frame(kind: str, data: JsonObject) -> bytes:
    headers = (
        text_header(":event-type", kind),
        text_header(":content-type", "application/json"),
        text_header(":message-type", "event"),
    )
    return written(Frame(headers, encoded(data)))


def _refused(status: int, kind: str, message: str, headers: dict[str, str]) -> Reply:
    return at_once(status, {"message": message}, {**headers, "x-amzn-errortype": kind})
