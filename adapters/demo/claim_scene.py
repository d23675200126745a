"""The scene of the claim: a tool that is told of a context, a signal amid its round, and its papers.

What the tool gave is then sent to the model of every API, each in a fork of the conversation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from onrecord.adapters.conversation.conversation import Talk
from onrecord.adapters.conversation.requests import replays
from onrecord.adapters.demo import claim
from onrecord.adapters.demo.asking import DemoFailed, answered, say
from onrecord.adapters.demo.clients import voice
from onrecord.adapters.demo.screen import Screen
from onrecord.adapters.demo.server import DemoServer
from onrecord.adapters.demo.shown_documents import ShownDocument, Told, shown_in
from onrecord.adapters.demo.voices import Voice
from onrecord.adapters.tools.runner import ToolRunner
from onrecord.adapters.tools.tool import Tool
from onrecord.domain.content import Document, Text, ToolResult
from onrecord.domain.events import ToolResultRecorded
from onrecord.projections.apis.request import Request

_QUIET: Final = Screen(quiet=True)
_REFERENCE: Final = '"document"'


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool gave, as it was recorded at a version: its text, and the documents in it."""

    version: int
    text: str
    documents: tuple[Document, ...]


def tell_claim(talk: Talk, voice: Voice, desk: Tool, screen: Screen) -> Result:
    """Have a claim opened, up to the result that awaits the model."""
    say(talk, screen, claim.PROMPT)
    voice.ask(talk.request(voice.api, model=voice.model), screen)
    talk.signal(claim.SIGNAL, name="delivery")
    screen.remark(f"a signal comes, and waits for the result: {claim.SIGNAL}")
    before = talk.head().version
    ToolRunner(talk, [desk], context=claim.CONTEXT, persist=claim.KEPT).run()
    result = _result(talk, before)
    screen.result(desk.name, result.text.replace(",", ", "))
    names = " and ".join(claim.CONTEXT)
    screen.remark(f"the tool was told of {names}; the record keeps {' and '.join(claim.KEPT)}")
    return result


def told_everywhere(
    talk: Talk, result: Result, models: Mapping[str, str], server: DemoServer
) -> Iterator[Told]:
    """Send what comes next to the model of each API, each in a fork of its own.

    Raises DemoFailed where an API is not shown what it is to be shown, or does not answer.
    """
    data = [talk.blob(each.blob) for each in result.documents if each.blob is not None]
    for api, model in models.items():
        fork = talk.fork(f"{talk.key}/{api}", reason="the same result at every API")
        with voice(api, model, fork, server) as speaker:
            request = fork.request(api, model=speaker.model)
            shown = tuple(
                _must_show(request, result.version, document, held)
                for document, held in zip(result.documents, data, strict=True)
            )
            if not speaker.ask(request, _QUIET).text:
                raise DemoFailed(f"nothing was answered on {api}")
        yield Told(api, shown, tuple(replays(fork)))


def end_claim(talk: Talk, voice: Voice, screen: Screen) -> None:
    """Let the model answer where the conversation itself goes on."""
    answered(talk, voice, screen, {})


def _must_show(request: Request, version: int, document: Document, data: bytes) -> ShownDocument:
    shown = shown_in(request, version, document, data)
    if shown is None:
        raise DemoFailed(f"a request for {request.api} does not show a document of the result")
    return shown


def _result(talk: Talk, after: int) -> Result:
    """Return the result that was recorded after a version, with the documents found in it."""
    for recorded in talk.since(after):
        event = recorded.event()
        if isinstance(event, ToolResultRecorded) and isinstance(event.content, ToolResult):
            parts = event.content.content
            text = "".join(part.text for part in parts if isinstance(part, Text))
            found = tuple(part for part in parts if isinstance(part, Document))
            if _REFERENCE in text and found:
                return Result(recorded.version, text, found)
    raise DemoFailed("the documents of a result were not found in it")
