"""Services in memory, and how a program calls them with the official clients."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import anthropic
import httpx2
import openai

from tests.bench.answers import answered
from tests.bench.payload import API as ANTHROPIC
from tests.bench.spellings import CHAT, RESPONSES
from tests.bench.streams import streamed

List = list[Any]

_JSON: Final = {"content-type": "application/json"}


@dataclass(frozen=True, slots=True)
class Service:
    """A service that answers with 1 KB, or with a stream of so many deltas, an event a chunk.

    `client` is a new client of it, with an HTTP client of its own; `calls` what of that makes a
    call, with messages as its argument `listed`; `says` what a program appends of an answer.
    """

    api: str
    client: Callable[[], Any]
    calls: Callable[[Any], Any]
    says: Callable[[Any], List]
    listed: str = "messages"

    def call(self, client: Any, messages: List) -> Any:
        """Have a list answered."""
        return self.calls(client).create(model="m", **self._asking(messages))

    def stream(self, client: Any, messages: List) -> Any:
        """Return a context manager of a response whose stream is yet to be read."""
        streaming = self.calls(client).with_streaming_response
        return streaming.create(model="m", **self._asking(messages), stream=True)

    def _asking(self, messages: List) -> dict[str, Any]:
        more = {"max_tokens": 9} if self.api == ANTHROPIC else {}
        return {self.listed: messages, **more}


def services(deltas: int) -> Iterator[Service]:
    """Yield a service for each API, whose streams have so many deltas."""

    def with_anthropic() -> Any:
        http = httpx2.Client(transport=_Canned(ANTHROPIC, deltas))
        return anthropic.Anthropic(api_key="bench", http_client=http)

    def with_openai(api: str) -> Callable[[], Any]:
        def made() -> Any:
            http = httpx2.Client(transport=_Canned(api, deltas))
            return openai.OpenAI(api_key="bench", http_client=http)

        return made

    yield Service(
        ANTHROPIC,
        with_anthropic,
        calls=lambda client: client.messages,
        says=lambda answer: [{"role": "assistant", "content": answer.to_dict()["content"]}],
    )
    yield Service(
        CHAT,
        with_openai(CHAT),
        calls=lambda client: client.chat.completions,
        says=lambda answer: [answer.choices[0].message.to_dict()],
    )
    yield Service(
        RESPONSES,
        with_openai(RESPONSES),
        calls=lambda client: client.responses,
        says=lambda answer: [item.to_dict() for item in answer.output],
        listed="input",
    )


class _Canned(httpx2.BaseTransport):
    """Answers requests without a network."""

    def __init__(self, api: str, deltas: int) -> None:
        self._api = api
        self._stream = streamed(api, deltas)
        self._numbers = itertools.count()

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer."""
        if b'"stream":true' in request.read():
            headers = {"content-type": "text/event-stream"}
            return httpx2.Response(200, headers=headers, stream=_Pieces(self._stream))
        body, _ = answered(self._api, next(self._numbers))
        return httpx2.Response(200, headers=_JSON, stream=_Pieces([body]))


class _Pieces(httpx2.SyncByteStream):
    """A body in pieces."""

    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = pieces

    def __iter__(self) -> Iterator[bytes]:
        """Yield the pieces."""
        yield from self._pieces
