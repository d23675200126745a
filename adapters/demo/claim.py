"""The scene of the claim: a tool that is told of a context, a signal amid its round, and its papers.

What the tool gave is then sent to the model of every API, each in a fork of the conversation.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from onrecord.adapters.conversation.conversation import Conversation
from onrecord.adapters.conversation.rendering import replays
from onrecord.adapters.demo.clients import DemoFailed, ModelClient, say, voice
from onrecord.adapters.demo.report_pdf import one_page_pdf, torn_box
from onrecord.adapters.demo.screen import Screen
from onrecord.adapters.demo.services.scenes import Answer, JsonObject, PlainAnswer, encoded
from onrecord.adapters.demo.services.server import DemoServer
from onrecord.adapters.tools.python import tool
from onrecord.adapters.tools.runner.runner import ToolRunner
from onrecord.adapters.tools.tool import Tool
from onrecord.domain import jsontext
from onrecord.domain.content import Document, Text, ToolResult
from onrecord.domain.events import ToolResultRecorded
from onrecord.domain.tool_context import ToolCallContext
from onrecord.projections.apis.anthropic.tool_rules import Turn
from onrecord.projections.apis.documents import words_for
from onrecord.projections.apis.request import Request, Where
from onrecord.projections.matching.template import Outcome

# Where in a request each document of a tool's result stands, read from the request itself.

_MESSAGE: Final = 2
"""At which step of a place the number of its message stands."""


@dataclass(frozen=True, slots=True)
class ShownDocument:
    """A document in a request for an API: which way it goes, and the JSON pointer of its place."""

    api: str
    name: str
    where: Where
    place: str

    @property
    def block(self) -> str:
        """The place of the block that shows it, where it is one of several."""
        steps = self.place.split("/")
        last = max(at for at, step in enumerate(steps) if step.isdecimal())
        return "/".join(steps[: last + 1]) if last > _MESSAGE else self.place


@dataclass(frozen=True, slots=True)
class ForkProof:
    """What the model of one API was sent in a fork, and the proof of it."""

    api: str
    documents: tuple[ShownDocument, ...]
    outcomes: tuple[Outcome, ...]


def _shown_in(request: Request, version: int, document: Document, data: bytes) -> ShownDocument:
    """Return where a request shows a document of the result at a version; `data` is its bytes.

    Raises DemoFailed where it does not show it.
    """
    for route in request.report.routes:
        if (route.version, route.media_type) != (version, document.media_type):
            continue
        sought = words_for(document) if route.where == "words" else b64encode(data).decode()
        for place, text in _texts(dict(request.body), ()):
            if sought in text:
                return ShownDocument(
                    request.api, document.name or "", route.where, jsontext.pointer(place)
                )
    raise DemoFailed(f"a request for {request.api} does not show a document of the result")


def _texts(value: Any, place: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield each text in a JSON value, with the way to it."""
    match value:
        case str():
            yield place, value
        case dict():
            for name, inner in cast("dict[str, Any]", value).items():
                yield from _texts(inner, (*place, name))
        case list():
            for number, inner in enumerate(cast("list[Any]", value)):
                yield from _texts(inner, (*place, number))
        case _:
            pass


# A claim: a tool gives its papers deep in a result, and every model is shown them in its own way.
#
# All names and figures are made up.

PROMPT: Final = "It came, and the box is torn. Open a claim, and tell me what we have on it."
SIGNAL: Final = "NW-20931 was delivered on Fri 17:40."
CONTEXT: Final[Mapping[str, str]] = {"tenant_id": "northwind", "token": "a secret of the desk's"}
KEPT: Final = ("tenant_id",)
"""What the record may keep of the context."""

_NUMBER: Final = "C-118"
_CALL: Final = "toolu_01Wv5RkNzT8yHqXb2JmGdPsF"
_NEWEST: Final = 3
"""How many of the last messages may hold a result, what was found in it, and what came meanwhile."""

_CALLED: Final = Answer(
    content=(
        {"type": "text", "text": "Let me open one and see its papers."},
        {"type": "tool_use", "id": _CALL, "name": "open_claim", "input": {"parcel": "NW-20931"}},
    ),
    stop_reason="tool_use",
)

_SAID: Final = (
    "Claim C-118 is open. Its report says that the box was torn at the depot's belt, and the "
    "photo shows it: one corner is gone."
)

SEEN: Final = PlainAnswer(_SAID)
"""What the models of other APIs say once they are shown the papers."""

_SEEN: Final = Answer(content=({"type": "text", "text": _SAID},))


def claims_desk(folder: Path) -> Tool:
    """Return the tool that opens a claim; its papers are files in a folder."""
    report, photo = folder / "claim-C-118.pdf", folder / "torn-box.png"
    report.write_bytes(
        one_page_pdf(("Claim C-118, parcel NW-20931", "", "The box was torn at the depot's belt."))
    )
    photo.write_bytes(torn_box())

    def open_claim(parcel: str, context: ToolCallContext) -> dict[str, object]:
        """Open a claim for a parcel, and give its papers."""
        if context.get("token") != CONTEXT["token"]:
            raise PermissionError("the desk opens claims for those it knows")
        papers = [{"kind": "report", "file": report}, {"kind": "photo", "file": photo}]
        return {"claim": {"number": _NUMBER, "parcel": parcel, "papers": papers}}

    return tool(open_claim)


def answer(last: Turn) -> Answer | None:
    """Return what is answered on Anthropic's API to the last that was said, if it is of a claim."""
    for placed in last.blocks:
        if placed.block.get("tool_use_id") == _CALL:
            return _SEEN
        if placed.block.get("text") == PROMPT:
            return _CALLED
    return None


def is_shown(messages: list[JsonObject]) -> bool:
    """Whether the newest of some messages give a claim's papers."""
    return any(_NUMBER.encode() in encoded(message) for message in messages[-_NEWEST:])


_QUIET: Final = Screen(quiet=True)
_REFERENCE: Final = '"document"'


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool gave, as it was recorded at a version: its text, and the documents in it."""

    version: int
    text: str
    documents: tuple[Document, ...]


def tell_claim(
    conversation: Conversation, voice: ModelClient, desk: Tool, screen: Screen
) -> Result:
    """Have a claim opened, up to the result that awaits the model."""
    say(conversation, screen, PROMPT)
    voice.ask(conversation.request(voice.api, model=voice.model), screen)
    conversation.signal(SIGNAL, name="delivery")
    screen.remark(f"a signal comes, and waits for the result: {SIGNAL}")
    before = conversation.head().version
    ToolRunner(conversation, [desk], context=CONTEXT, persist=KEPT).run()
    result = _result(conversation, before)
    screen.result(desk.name, result.text.replace(",", ", "))
    names = " and ".join(CONTEXT)
    screen.remark(f"the tool was told of {names}; the record keeps {' and '.join(KEPT)}")
    return result


def fork_proofs(
    conversation: Conversation, result: Result, models: Mapping[str, str], server: DemoServer
) -> Iterator[ForkProof]:
    """Send what comes next to the model of each API, each in a fork of its own.

    Raises DemoFailed where an API is not shown what it is to be shown, or does not answer.
    """
    data = [conversation.blob(each.blob) for each in result.documents if each.blob is not None]
    for api, model in models.items():
        fork = conversation.fork(f"{conversation.key}/{api}", reason="the same result at every API")
        with voice(api, model, fork, server) as speaker:
            request = fork.request(api, model=speaker.model)
            shown = tuple(
                _shown_in(request, result.version, document, value)
                for document, value in zip(result.documents, data, strict=True)
            )
            if not speaker.ask(request, _QUIET).text:
                raise DemoFailed(f"nothing was answered on {api}")
        yield ForkProof(api, shown, tuple(replays(fork)))


def _result(conversation: Conversation, after: int) -> Result:
    """Return the result that was recorded after a version, with the documents found in it."""
    for recorded in conversation.events(after=after):
        event = recorded.event()
        if isinstance(event, ToolResultRecorded) and isinstance(event.content, ToolResult):
            parts = event.content.content
            text = "".join(part.text for part in parts if isinstance(part, Text))
            attachments = tuple(part for part in parts if isinstance(part, Document))
            if _REFERENCE in text and attachments:
                return Result(recorded.version, text, attachments)
    raise DemoFailed("the documents of a result were not found in it")
