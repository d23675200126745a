"""Exchanges as a log would hold them, and what goes back of them."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from uuid import UUID

from onrecord.adapters.wire.anthropic.stream import API, MessageStream, read_body
from onrecord.adapters.wire.blocks import Recording
from onrecord.domain.blobs import restore
from onrecord.domain.events import Event, MessageRecorded, RequestSent, ToolResultRecorded
from onrecord.domain.request_template import Template
from onrecord.projections.apis.request import Request
from tests.corpus.kept import as_text, blocks_of, stored
from tests.corpus.wire import Exchange, JsonObject
from tests.prefixes import prefix_of
from tests.sent import events_of

SPOKEN = (MessageRecorded, ToolResultRecorded)


@dataclass(slots=True)
class Record:
    """What a log would hold of an exchange."""

    items: list[tuple[int, Event]] = field(default_factory=list[tuple[int, Event]])
    blobs: dict[str, bytes] = field(default_factory=dict[str, bytes])

    def add(self, *recordings: Recording) -> None:
        for events, blobs in recordings:
            self.blobs.update(blobs)
            self.items.extend(zip(count(len(self.items) + 1), map(stored, events), strict=False))

    def said(self) -> Iterator[tuple[int, Event, str]]:
        """Each block of the messages: its version, its event, and its text as JSON."""
        for version, event in self.items:
            if isinstance(event, SPOKEN) or getattr(event, "response", None) is not None:
                for block in blocks_of(event):
                    yield version, event, as_text(restore(block, self.blobs))


def sent(request: JsonObject) -> RequestSent:
    prefix = prefix_of(request.get("system"), request.get("tools"), request["messages"])
    template = Template(spans=(), sha256="", size=0)
    return RequestSent(
        api=API,
        endpoint="/v1/messages",
        model=request.get("model"),
        template=template,
        prefix=prefix,
    )


def answered(exchange: Exchange, number: int = 1) -> Recording:
    """The events of the answer, under a response of this number."""
    if not exchange.is_stream:
        return events_of(read_body(exchange.body), response=UUID(int=number))
    stream = MessageStream()
    stream.feed(exchange.body)
    return events_of(stream.finish(), response=UUID(int=number))


def sent_back(request: Request) -> list[str]:
    return [as_text(block) for message in request["messages"] for block in message["content"]]
