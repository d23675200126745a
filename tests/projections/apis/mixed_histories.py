"""Whatever happened to a conversation of all six APIs, each of them takes its request.

Blocks of all six, interruptions, results that are late, missing or said twice, calls at once,
documents, the providers' own tools, redactions, compactions, any window.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

import onrecord
from onrecord.domain.content import Document, ToolResult
from onrecord.domain.events import (
    Event,
    MessageRecorded,
    RequestSent,
    ResponseCompleted,
    SignalReceived,
    ToolResultRecorded,
)
from onrecord.projections.api import known_api, known_rules
from onrecord.projections.apis.capabilities import CapabilityOverride
from onrecord.projections.apis.documents import Form
from onrecord.projections.apis.request import Options, Request
from onrecord.projections.history.windows import Window
from tests.contract.histories import Histories
from tests.projections.happenings import Story
from tests.projections.marked import BLOBS
from tests.projections.mixed_happenings import (
    everything,
    without_changes,
)

MODELS = {
    "anthropic-messages": ["claude-sonnet-4-5"],
    "openai-chat": ["gpt-4.1", "gpt-4o-audio-preview", "deepseek-chat", "mistral-large-latest"],
    "openai-responses": ["gpt-5"],
    "gemini": ["gemini-2.5-pro", "gemini-3-pro-preview"],
    "ollama": ["qwen3"],
    "bedrock-converse": ["us.anthropic.claude-sonnet-4-5-20250929-v1:0", "us.amazon.nova-pro-v1:0"],
}
# What a call names the model with.
NAMED = {"bedrock-converse": "modelId"}
# APIs that have neighbours of one role as one message, and the member that holds its blocks.
JOINED = {"anthropic-messages": "content", "bedrock-converse": "content", "gemini": "parts"}
# The rules that change what had been sent, and why they have to.
CHANGING = {
    "anthropic-messages": {
        "R3": "a call of the service's own stays in flight until others spoke without its result",
        "R21": "a note of the operator's stands nowhere but after what the user says",
    }
}

FORMS: tuple[Form, ...] = ("short-id", "doc-reference")
# What is said of a model: nothing, that its results hold texts alone, that it reads nothing else.
GIVEN = [
    None,
    CapabilityOverride(tool_result=("text",)),
    CapabilityOverride(user=("text",), tool_result=("text",)),
]

windows = st.none() | st.builds(
    Window, exchanges=st.integers(1, 3), step=st.integers(1, 3), pinned=st.just(0)
)


@st.composite
def options(draw: st.DrawFn, api: str) -> Options:
    return Options(
        api=api,
        window=draw(windows),
        thinking=draw(st.sampled_from(["keep", "keep", "drop"])),
        cache=draw(st.booleans()),
        model=draw(st.sampled_from([None, *MODELS[api]])),
        account=draw(st.sampled_from([None, "someone"])),
        missing=draw(st.sampled_from(["cancel", "cancel", "drop"])),
        tags=draw(st.sampled_from(FORMS)),
        capabilities=draw(st.sampled_from(GIVEN)),
    )


def answered_by(story: Story, api: str) -> str | None:
    """The model that answered last: who names none goes on with it."""
    # An answer of Bedrock's does not say whose it is: the request did.
    kind = RequestSent if api == "bedrock-converse" else ResponseCompleted
    told = [event for _, event in story.events if isinstance(event, kind)]
    return next((each.model for each in reversed(told) if each.api == api and each.model), None)


def contents(event: Event) -> tuple[object, ...]:
    match event:
        case MessageRecorded(content=content) | SignalReceived(content=content):
            return content
        case ToolResultRecorded(content=ToolResult(content=content)):
            return content
        case _:
            return ()


def found_all(text: str) -> list[str]:
    return re.findall(r"<\d+\.\d>", text)


def as_sent(document: Document) -> str:
    assert document.blob is not None
    data = BLOBS[document.blob.sha256]
    if document.media_type.startswith("text/"):
        return data.decode()
    return base64.b64encode(data).decode()


def complaints(story: Story, request: Request) -> Sequence[object]:
    api, options = request.api, request.options
    if api not in known_rules():
        return ()
    model = options.model or answered_by(story, api)
    named: dict[str, object] = {NAMED.get(api, "model"): model} if model else {}
    if model and api == "anthropic-messages":
        named["max_tokens"] = 1024
    return onrecord.check_request(api, {**request.body, **named}).violations


def spellings(event: Event) -> list[tuple[str, ...]]:
    """The marks of what an event says; for a document, the bytes that may go in its stead."""
    documents = [held for held in contents(event) if isinstance(held, Document)]
    files = {found_all(held.name)[0]: held for held in documents if held.name}
    marks = found_all(event.model_dump_json())
    return [(mark, as_sent(files[mark])) if mark in files else (mark,) for mark in marks]


def spoken(request: Request) -> list[Any]:
    """The messages of a request; the blocks where the service joins neighbours of one role."""
    messages: list[Any] = request[known_api(request.api).messages]
    content = JOINED.get(request.api)
    if content is None:
        return messages
    return [(each["role"], block) for each in messages for block in each[content]]


def last(story: Story) -> None:
    """Whoever answered it, a document that the model does not read goes in words; what was said
    while a request was out is answered by the next one."""
    story.answer("Well.")
    story.ask()
    story.answer("Well.")


def any_options(_: Options) -> bool:
    return True


def excused(_: Story, now: Request, before: Request, version: int) -> bool:
    """Whether a rule that changes what had been sent says that it did.

    One note was not there, or is on a note of the operator's: until that is answered it moves on.
    """
    moving = now.report.of("R21")
    new = set(now.report) ^ set(before.report)
    rules = CHANGING.get(now.api, {})
    return any(note.rule in rules and (note.version or 0) < version for note in (*new, *moving))


def histories(api: str) -> Histories:
    """Histories in which all six APIs answer, for requests of one."""
    return Histories(
        api,
        everything,
        without_changes,
        options=options(api),
        steady=st.builds(
            Options,
            api=st.just(api),
            model=st.sampled_from(MODELS.get(api, [None])),
            capabilities=st.sampled_from(GIVEN),
        ),
        refused=complaints,
        spoken=spoken,
        excused=excused,
        last=last,
        spellings=spellings,
        blobs=BLOBS,
        takes_no_document=any_options,
    )
