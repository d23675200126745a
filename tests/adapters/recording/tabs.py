"""A conversation that is open in several places, with no network between them and the record."""

from __future__ import annotations

from pathlib import Path

from uuid_utils.compat import uuid7

from onrecord.adapters.conversation.conversation import Conversation, stream_of
from onrecord.adapters.conversation.rendering import ask
from onrecord.adapters.recording.plan import Outgoing
from onrecord.adapters.recording.recorder import Recorder
from onrecord.adapters.recording.spool import Spool
from onrecord.adapters.recording.state import OpenRequest
from onrecord.adapters.recording.tenancy import Tenancy
from onrecord.domain import events, jsontext
from onrecord.domain.content import Native, Text
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.log import Backend
from onrecord.projections.apis.request import Options, Request
from tests.factories import TENANT
from tests.projections.happenings import event_of_block

API = "anthropic-messages"


class Tab:
    """One holder of a conversation: it renders, sends and is answered."""

    def __init__(self, backend: Backend, folder: Path) -> None:
        spool = Spool(folder / "spool")
        self.chat = Conversation(Tenancy(backend, TENANT, spool), "support/4711")
        self.recorder = Recorder(stream_of(self.chat), spool)

    def render(self, at: int | None = None) -> Request:
        """What `chat.request` does: render, and remember the recipe."""
        version = self.chat.head().version if at is None else at
        self.asked = ask(
            stream_of(self.chat).backend, stream_of(self.chat).lineage(version), Options()
        )
        self.recorder.remember(self.asked)
        return self.asked.request

    def send(self, request: Request) -> OpenRequest:
        return self.send_own(request["messages"])

    def send_own(self, messages: list[JsonObject]) -> OpenRequest:
        """Send a history that the program keeps."""
        body = jsontext.write({"model": "m", "max_tokens": 9, "messages": messages})
        return self.recorder.begin(Outgoing(API, "/v1/messages", body, compacts=False))

    def answer(self, begun: OpenRequest, *blocks: str | JsonObject) -> None:
        """Be answered, as the recorder reads it from the wire."""
        calls = any(isinstance(block, dict) for block in blocks)
        stop = "tool_use" if calls else "end_turn"
        closing = events.ResponseCompleted(
            response=uuid7(), api=API, stop_reason=stop, envelope={}, request=begun.request
        )
        self._conclude(begun, blocks, closing)

    def abandon(self, begun: OpenRequest, *blocks: str) -> None:
        """Stop reading amid the answer."""
        closing = events.ResponseInterrupted(
            response=uuid7(), api=API, reason="abandoned", request=begun.request
        )
        self._conclude(begun, blocks, closing)

    def fail(self, begun: OpenRequest) -> None:
        """Be answered with an error."""
        failed = events.AttemptFailed(request=begun.request, status=500, line=begun.line)
        self.recorder.conclude(begun, ((failed,), {}))

    def _conclude(
        self,
        begun: OpenRequest,
        blocks: tuple[str | JsonObject, ...],
        closing: events.ResponseCompleted | events.ResponseInterrupted,
    ) -> None:
        awaited = isinstance(closing, events.ResponseCompleted)
        values = [{"type": "text", "text": b} if isinstance(b, str) else b for b in blocks]
        said = [
            event_of_block(closing.response, index, value, awaited=awaited)
            for index, value in enumerate(values)
        ]
        recorded = tuple(
            event.model_copy(update={"line": begun.line}) for event in (*said, closing)
        )
        self.recorder.conclude(begun, (recorded, {}))


def flat(request: Request) -> list[tuple[str, JsonObject]]:
    """The blocks of a request, each with its speaker; a string is one text."""
    return [
        (message["role"], block)
        for message in request["messages"]
        for block in (
            [{"type": "text", "text": message["content"]}]
            if isinstance(message["content"], str)
            else message["content"]
        )
    ]


def words(request: Request) -> list[str]:
    return [str(block.get("text") or block["type"]) for _, block in flat(request)]


def told(tab: Tab) -> dict[str, bool]:
    """Each text that an answer said, and whether it is on the main branch."""
    found: dict[str, bool] = {}
    for recorded in tab.chat.events(after=0):
        event = recorded.event()
        if isinstance(event, events.MessageRecorded) and event.role == "assistant":
            for block in event.content:
                said = block.value.get("text") if isinstance(block, Native) else None
                said = block.text if isinstance(block, Text) else said
                found[str(said)] = event.line is None
    return found
