"""What a request shows of documents, told alike for every API: who holds what, in order."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, cast

from onrecord.domain.documents import modality_of
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.request import Request

Shown = tuple[str, str]
"""Who holds something (`result`, or who speaks), and it: a line of text, or `<image>` and so on."""

_KINDS = {
    "image": "image",
    "input_image": "image",
    "image_url": "image",
    "document": "document",
    "input_file": "document",
    "file": "document",
    "input_audio": "audio",
    "video": "video",
    "audio": "audio",
}


def shown(request: Request) -> list[Shown]:
    """All that a request says, but for calls, and for lines that only Bedrock wants."""
    body = request.body
    name = next(name for name in ("messages", "input", "contents") if name in body)
    messages: list[JsonObject] = body[name]
    return [told for message in messages for told in _message(message)]


def behind(request: Request) -> list[str]:
    """What the user says after the first result, up to the assistant's next word."""
    told = [each for each in shown(request) if each != ("assistant", "I have the results.")]
    after = told[next(place for place, (who, _) in enumerate(told) if who == "result") :]
    said = [each for each in after if each[0] != "result"]
    end = next((place for place, (who, _) in enumerate(said) if who != "user"), len(said))
    return [what for _, what in said[:end]]


def in_results(request: Request) -> list[str]:
    """What results hold."""
    return [what for who, what in shown(request) if who == "result"]


def _message(message: JsonObject) -> Iterator[Shown]:
    who: str = message.get("role", "assistant")
    if message.get("type", "").endswith("_output"):
        yield from _held("result", message["output"])
        return
    who = {"tool": "result", "model": "assistant"}.get(who, who)
    yield from _held(who, message.get("content", message.get("parts")))
    for _ in message.get("images", ()):
        yield who, "<image>"


def _held(who: str, content: Any) -> Iterator[Shown]:
    if isinstance(content, str):
        yield from ((who, line) for line in content.split("\n") if line)
        return
    for block in cast("list[JsonObject]", content or []):
        yield from _block(who, block)


def _block(who: str, block: JsonObject) -> Iterator[Shown]:
    match block:
        case {"type": "tool_result"}:
            yield from _held("result", block["content"])
        case {"toolResult": {"content": content}}:
            yield from _held("result", content)
        case {"functionResponse": {"response": response, **rest}}:
            yield from _held("result", "\n".join(_texts(response)))
            yield from _held("result", rest.get("parts"))
        case {"inlineData": {"mimeType": kind}}:
            yield who, f"<{modality_of(kind)}>"
        case {"text": str(text)}:
            yield from _held(who, text)
        case _:
            names = [block.get("type"), *block]
            kind = next((_KINDS[name] for name in names if name in _KINDS), None)
            if kind is not None:
                yield who, f"<{kind}>"


def _texts(response: JsonObject) -> list[str]:
    values: list[Any] = list(response.values())
    return [value if isinstance(value, str) else json.dumps(value) for value in values]
