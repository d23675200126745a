"""OpenAI's two APIs as the demo server speaks them: Chat Completions and Responses.

What the service refuses is told by the rules that `onrecord check-request` knows, in its words; what
a request alone cannot tell, `Reasoning` does.
"""

import re
from collections.abc import Iterator
from typing import assert_never, cast

from pydantic import JsonValue

from onrecord.adapters.demo.services import openai_responses as openai_responses_wire
from onrecord.adapters.demo.services.connection import (
    SSE,
    Received,
    Reply,
    at_once,
    pieces,
    streamed,
    tokens,
)
from onrecord.adapters.demo.services.openai_responses import Complaint, Reasoning
from onrecord.adapters.demo.services.scenes import (
    JsonObject,
    OpenAIApi,
    OpenAIScript,
    PlainAnswer,
    encoded,
)
from onrecord.projections.apis.openai_chat import rules as openai_chat
from onrecord.projections.apis.openai_responses import rules as openai_responses
from onrecord.projections.apis.rules import violations
from onrecord.projections.members import objects, text

# An answer as OpenAI's Chat Completions API writes it: one JSON body, or server-sent events.
#
# Shapes: platform.openai.com, "Chat", and recorded answers.

_CREATED = 1_790_000_000
_DONE = b"data: [DONE]\n\n"


def completion(answer: PlainAnswer, request: JsonObject, own_id: str) -> JsonObject:
    """Return the body that a request without `stream` gets; ids are made of `own_id`."""
    calls = _calls(answer, own_id)
    message: JsonObject = {
        "role": "assistant",
        "content": answer.text or None,
        **({"tool_calls": calls} if calls else {}),
        "refusal": None,
        "annotations": [],
    }
    choice: JsonObject = {
        "index": 0,
        "message": message,
        "logprobs": None,
        "finish_reason": "tool_calls" if calls else "stop",
    }
    return {
        "id": f"chatcmpl-{own_id}",
        "object": "chat.completion",
        "created": _CREATED,
        "model": request["model"],
        "choices": [choice],
        "usage": _usage(request, message),
        "service_tier": "default",
        "system_fingerprint": None,
    }


def chunks(whole: JsonObject, request: JsonObject) -> Iterator[bytes]:
    """Yield the events that say the same as the body `whole`; usage only if it is asked for."""
    (choice,) = objects(whole["choices"])
    message, finish = cast("JsonObject", choice["message"]), choice["finish_reason"]
    for delta in _deltas(message):
        yield _chunk(whole, [_choice(delta, None)])
    yield _chunk(whole, [_choice({}, finish)])
    match request.get("stream_options"):
        case {"include_usage": True}:
            yield _chunk(whole, [], usage=whole["usage"])
        case _:
            pass
    yield _DONE


def _calls(answer: PlainAnswer, own_id: str) -> list[JsonValue]:
    return [
        {
            "id": f"call_{own_id}{place}",
            "type": "function",
            "function": {"name": call.name, "arguments": encoded(call.arguments).decode()},
        }
        for place, call in enumerate(answer.calls)
    ]


def _usage(request: JsonObject, message: JsonObject) -> JsonObject:
    prompt, answer = tokens(request), tokens(message)
    return {"prompt_tokens": prompt, "completion_tokens": answer, "total_tokens": prompt + answer}


def _deltas(message: JsonObject) -> Iterator[JsonObject]:
    answer = text(message["content"])
    yield {"role": "assistant", "content": "" if answer else None, "refusal": None}
    for piece in pieces(answer):
        yield {"content": piece}
    for index, call in enumerate(objects(message.get("tool_calls"))):
        function = call["function"]
        assert isinstance(function, dict)
        begun: JsonObject = {**call, "index": index, "function": {**function, "arguments": ""}}
        yield {"tool_calls": [begun]}
        for piece in pieces(text(function["arguments"])):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _choice(delta: JsonObject, finish: JsonValue) -> JsonObject:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}


def _chunk(whole: JsonObject, choices: list[JsonValue], usage: JsonValue = None) -> bytes:
    of_the_answer = ("id", "created", "model", "service_tier", "system_fingerprint")
    chunk: JsonObject = {
        **{name: whole[name] for name in of_the_answer},
        "object": "chat.completion.chunk",
        "choices": choices,
        "usage": usage,
    }
    return b"data: %s\n\n" % encoded(chunk)


PATHS: dict[str, OpenAIApi] = {
    "/v1/chat/completions": "openai-chat",
    "/v1/responses": "openai-responses",
}
"""Where each API is spoken."""

_REQUIRED: dict[OpenAIApi, tuple[str, ...]] = {
    "openai-chat": ("model", "messages"),
    "openai-responses": ("model", "input"),
}
_RULES = {"openai-chat": openai_chat.RULES, "openai-responses": openai_responses.RULES}
_NO_KEY = "You didn't provide an API key."
_SSE = f"{SSE}; charset=utf-8"


class OpenAIService:
    """Answers what its script says, and refuses what the real service refuses."""

    def __init__(self, script: OpenAIScript, key: bytes) -> None:
        """Hold the script; `key` stands for the account that reasoning is sealed for."""
        self._script = script
        self._reasoning = Reasoning(key)

    def reply(self, received: Received, request: JsonObject | None, own_id: str) -> Reply | None:
        """Answer a request (None: it is no JSON), if it is for these paths; ids are made of `own_id`."""
        if received.path not in PATHS:
            return None
        api, headers = PATHS[received.path], {"x-request-id": f"req_{own_id}"}
        if not received.headers.get("authorization", "").startswith("Bearer "):
            return _refused(Complaint(_NO_KEY, status=401), headers)
        if request is None:
            return _refused(Complaint("We could not parse the JSON body of your request."), headers)
        refusal = next(self._complaints(api, request), None)
        if refusal is not None:
            return _refused(refusal, headers)
        answer = self._script(api, request)
        match api:
            case "openai-chat":
                return _completed(answer, request, own_id, headers)
            case "openai-responses":
                return self._responded(answer, request, own_id, headers)
            case _:
                assert_never(api)

    def _complaints(self, api: OpenAIApi, request: JsonObject) -> Iterator[Complaint]:
        for name in _REQUIRED[api]:
            if name not in request:
                code = "missing_required_parameter"
                yield Complaint(f"Missing required parameter: '{name}'.", name, code)
        for violation in violations(_RULES[api], request):
            yield Complaint(violation.said, _param(violation.where))
        if api == "openai-responses":
            yield from self._reasoning.problems(request)

    def _responded(
        self, answer: PlainAnswer, request: JsonObject, own_id: str, headers: dict[str, str]
    ) -> Reply:
        output = openai_responses_wire.items(answer, own_id)
        self._reasoning.remember(output)
        included = request.get("include")
        wanted = isinstance(included, list) and "reasoning.encrypted_content" in included
        model = text(request["model"])

        def sealed(item: JsonObject, stage: str) -> JsonObject:
            return self._reasoning.sealed(item, model, stage) if wanted else item

        whole = openai_responses_wire.response(output, request, own_id)
        if request.get("stream"):
            events = openai_responses_wire.events(whole, sealed)
            return streamed(events, _SSE, headers)
        whole["output"] = [sealed(item, "completed") for item in output]
        return at_once(200, whole, headers)


def _completed(
    answer: PlainAnswer, request: JsonObject, own_id: str, headers: dict[str, str]
) -> Reply:
    whole = completion(answer, request, own_id)
    if request.get("stream"):
        return streamed(chunks(whole, request), _SSE, headers)
    return at_once(200, whole, headers)


def _param(pointer: str) -> str | None:
    """Return a JSON pointer as the service spells it: `messages[1].role`."""
    spelled = re.sub(r"/(\d+)", r"[\1]", pointer).replace("/", ".")
    return spelled.removeprefix(".") or None


def _refused(complaint: Complaint, headers: dict[str, str]) -> Reply:
    error: JsonObject = {
        "message": complaint.message,
        "type": "invalid_request_error",
        "param": complaint.param,
        "code": complaint.code,
    }
    return at_once(complaint.status, {"error": error}, headers)
