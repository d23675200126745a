"""The measured conversations as models that reason would have answered them: 1 KB each time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from onrecord.adapters.wire.wires import WIRES
from onrecord.domain import events, jsontext
from onrecord.domain.content import Native
from onrecord.domain.events import Event
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.log import Told
from onrecord.domain.request_template import Prefix, encoded
from onrecord.projections.apis.request import Options, render
from tests.bench.history import as_told, happened
from tests.bench.payload import API as ANTHROPIC
from tests.bench.payload import text
from tests.bench.spellings import BEDROCK, CHAT, GEMINI, OLLAMA, RESPONSES


def reasoned_history(api: str, messages: int) -> list[Told]:
    """Return a conversation that an API answered, with reasoning that all goes back to it."""
    said = [_of_model(event) if api == CHAT else event for event in happened(api, messages)]
    answers = sum(isinstance(event, events.RequestSent) for event in said)
    thoughts = [_SPELLED[api](number) for number in range(answers)]
    return as_told(_reasoned(api, said, thoughts))


def _of_model(event: Event) -> Event:
    """Return an event as of a model that takes its reasoning back; in completions few do."""
    if isinstance(event, events.RequestSent | events.ResponseCompleted):
        return event.model_copy(update={"model": "deepseek-reasoner"})
    return event


def _reasoned(api: str, said: Sequence[Event], thoughts: Sequence[JsonObject]) -> Iterator[Event]:
    prefixes, thinking = _prefixes(api, said, thoughts), iter(thoughts)
    for event in said:
        match event:
            case events.RequestSent():
                yield event.model_copy(update={"prefix": next(prefixes)})
            case events.MessageRecorded(response=None):
                yield event
            case events.MessageRecorded() | events.ToolCallRecorded():
                if event.response is not None and not event.index:
                    thought = Native(api=api, value=next(thinking))
                    yield events.ReasoningRecorded(
                        response=event.response, index=0, content=thought
                    )
                yield event.model_copy(update={"index": (event.index or 0) + 1})
            case _:
                yield event


def _prefixes(api: str, said: Sequence[Event], thoughts: Sequence[JsonObject]) -> Iterator[str]:
    """Yield what each answer was made under: all that was said, and thought, before it."""
    options = Options(api=api)
    sent = WIRES[api].read_request(jsontext.write(dict(render(as_told(said), options).body)))
    digest, speaker, thinking = Prefix(sent.system, sent.tools), "", iter(thoughts)
    for piece in sent.pieces:
        if piece.role == "assistant" != speaker:
            yield digest.digest()
            digest.add_encoded(encoded("assistant", next(thinking)))
        speaker = piece.role
        digest.add_encoded(piece.encoded)


def _thinking(number: int) -> JsonObject:
    return {"type": "thinking", "thinking": text()[:200], "signature": text()[:824]}


def _reasoning_content(number: int) -> JsonObject:
    return {"reasoning_content": text()}


def _reasoning(number: int) -> JsonObject:
    kept: JsonObject = {"id": f"rs_{number:032x}", "type": "reasoning", "summary": []}
    return {**kept, "encrypted_content": text()}


def _reasoning_text(number: int) -> JsonObject:
    signed = {"text": text()[:200], "signature": text()[:824]}
    return {"reasoningContent": {"reasoningText": signed}}


def _thought(number: int) -> JsonObject:
    return {"text": text()[:200], "thought": True, "thoughtSignature": text()[:824]}


def _thinking_of_message(number: int) -> JsonObject:
    return {"thinking": text()}


_SPELLED: Final = {
    ANTHROPIC: _thinking,
    CHAT: _reasoning_content,
    RESPONSES: _reasoning,
    BEDROCK: _reasoning_text,
    GEMINI: _thought,
    OLLAMA: _thinking_of_message,
}
