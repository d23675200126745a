"""An answer as OpenAI's Chat Completions API writes it: one JSON body, or server-sent events.

Shapes: platform.openai.com, "Chat", and recorded answers.
"""

from collections.abc import Iterator

from pydantic import JsonValue

from onrecord.adapters.demo.services.anthropic import encoded
from onrecord.adapters.demo.services.scenes import JsonObject, Said
from onrecord.adapters.demo.services.signatures import objects, text

_CREATED = 1_790_000_000
_PIECE = 17
_DONE = b"data: [DONE]\n\n"


def completion(said: Said, request: JsonObject, own_id: str) -> JsonObject:
    """Return the body that a request without `stream` gets; ids are made of `own_id`."""
    calls = _calls(said, own_id)
    message: JsonObject = {
        "role": "assistant",
        "content": said.text or None,
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
    message, finish = choice["message"], choice["finish_reason"]
    assert isinstance(message, dict)
    for delta in _deltas(message):
        yield _chunk(whole, [_choice(delta, None)])
    yield _chunk(whole, [_choice({}, finish)])
    match request.get("stream_options"):
        case {"include_usage": True}:
            yield _chunk(whole, [], usage=whole["usage"])
        case _:
            pass
    yield _DONE


def _calls(said: Said, own_id: str) -> list[JsonValue]:
    return [
        {
            "id": f"call_{own_id}{place}",
            "type": "function",
            "function": {"name": call.name, "arguments": encoded(call.arguments).decode()},
        }
        for place, call in enumerate(said.calls)
    ]


def _usage(request: JsonObject, message: JsonObject) -> JsonObject:
    """Return token counts made from sizes, four bytes a token."""
    prompt, answer = len(encoded(request)) // 4 + 1, len(encoded(message)) // 4 + 1
    return {"prompt_tokens": prompt, "completion_tokens": answer, "total_tokens": prompt + answer}


def _deltas(message: JsonObject) -> Iterator[JsonObject]:
    said = text(message["content"])
    yield {"role": "assistant", "content": "" if said else None, "refusal": None}
    for start in range(0, len(said), _PIECE):
        yield {"content": said[start : start + _PIECE]}
    for index, call in enumerate(objects(message.get("tool_calls"))):
        function = call["function"]
        assert isinstance(function, dict)
        begun: JsonObject = {**call, "index": index, "function": {**function, "arguments": ""}}
        yield {"tool_calls": [begun]}
        arguments = text(function["arguments"])
        for start in range(0, len(arguments), _PIECE):
            piece: JsonObject = {"arguments": arguments[start : start + _PIECE]}
            yield {"tool_calls": [{"index": index, "function": piece}]}


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
