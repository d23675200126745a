"""OpenAI's clients, sync and async, on a server that plays a script: what their tests share."""

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Any, Literal, Self

import openai

from onrecord.adapters.conversation.conversation import Conversation
from tests.adapters.openai_server import OpenAIServer

MODEL = "gpt-5"
KEY = "sk-canary-0123456789abcdef"
VERSION = "2025-04-01-preview"
HELLO: Any = [{"role": "user", "content": "Hello"}]

Api = Literal["openai-chat", "openai-responses"]
APIS: tuple[Api, ...] = ("openai-chat", "openai-responses")

KINDS: tuple[type[Any], ...] = (
    openai.OpenAI,
    openai.AsyncOpenAI,
    openai.AzureOpenAI,
    openai.AsyncAzureOpenAI,
)


class Clients:
    """Clients of any kind for servers, closed at the end; async ones share one event loop."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner()
        self._made: list[Any] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for client in self._made:
            self._done(client.close())
        self._runner.close()

    def of(self, kind: type[Any], server: OpenAIServer, **options: Any) -> Any:
        """A client of a kind for the server; it tries once, unless the options say otherwise."""
        given: dict[str, Any] = {"api_key": KEY, "max_retries": 0, **options}
        if issubclass(kind, openai.AzureOpenAI | openai.AsyncAzureOpenAI):
            client = kind(azure_endpoint=server.origin, api_version=VERSION, **given)
        else:
            client = kind(base_url=server.url, **given)
        self._made.append(client)
        return client

    def ask(self, client: Any, api: Api = "openai-chat", said: Any = HELLO, **more: Any) -> Any:
        """What one call is answered."""
        create: Callable[..., Any]
        if api == "openai-chat":
            create, asked = client.chat.completions.create, {"messages": said}
        else:
            create, asked = client.responses.create, {"input": said}
        return self._done(create(model=MODEL, **asked, **more))

    def _done(self, answer: Any) -> Any:
        return self._runner.run(answer) if asyncio.iscoroutine(answer) else answer


def types(chat: Conversation) -> list[str]:
    """The names of the events after the first, in order."""
    return [recorded.type for recorded in chat.events(after=0)][1:]


ANSWERED = ["message.recorded", "request.sent", "message.recorded", "response.completed"]
"""What one question and its answer come to."""
