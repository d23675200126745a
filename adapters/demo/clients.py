"""Recorded clients of the official SDKs, for the demo's server or for the real services."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from onrecord.adapters.conversation.conversation import Conversation
from onrecord.adapters.demo.screen import Screen
from onrecord.adapters.demo.services.server import DemoServer
from onrecord.domain import jsontext
from onrecord.domain.errors import InvalidInput, OnrecordError
from onrecord.projections.apis.request import Request

if TYPE_CHECKING:
    import anthropic
    import openai
    from openai.types.chat import ChatCompletion


# The official SDKs as the demo uses them: ask for one answer, show it, say how it ended.

_MOST_TOKENS: Final = 2048


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """What an answer said; if it `pauses`, the same request is to be made again with it."""

    text: str
    pauses: bool = False


@dataclass(frozen=True, slots=True)
class ModelClient:
    """A model behind an API; `ask` sends a request and shows the answer as it comes."""

    api: str
    model: str
    ask: Callable[[Request, Screen], ModelAnswer]


def on_messages(client: anthropic.Anthropic, model: str) -> ModelClient:
    """Return a model behind Anthropic's Messages API, which streams."""

    def ask(request: Request, screen: Screen) -> ModelAnswer:
        arguments: dict[str, Any] = dict(request)
        with client.messages.stream(model=model, max_tokens=_MOST_TOKENS, **arguments) as stream:
            for event in stream:
                screen.streamed(event)
            last = stream.get_final_message()
        text = "".join(block.text for block in last.content if block.type == "text")
        return ModelAnswer(text, pauses=last.stop_reason == "pause_turn")

    return ModelClient("anthropic-messages", model, ask)


def on_chat(client: openai.OpenAI, model: str) -> ModelClient:
    """Return a model behind OpenAI's Chat Completions, which answers all at once."""

    def ask(request: Request, screen: Screen) -> ModelAnswer:
        arguments: dict[str, Any] = dict(request)
        create = cast("Callable[..., ChatCompletion]", client.chat.completions.create)
        completion = create(model=model, **arguments)
        message = completion.choices[0].message
        screen.said(message.content or "")
        for call in message.tool_calls or ():
            if call.type == "function":
                screen.called(call.function.name, call.function.arguments)
        return ModelAnswer(message.content or "")

    return ModelClient("openai-chat", model, ask)


def on_responses(client: openai.OpenAI, model: str) -> ModelClient:
    """Return a model behind OpenAI's Responses, which streams; the service stores nothing."""

    def ask(request: Request, screen: Screen) -> ModelAnswer:
        arguments: dict[str, Any] = dict(request)
        text = ""
        stream = client.responses.create(
            model=model,
            store=False,
            include=["reasoning.encrypted_content"],
            stream=True,
            **arguments,
        )
        with stream:
            for event in stream:
                match event.type:
                    case "response.output_text.delta":
                        text += event.delta
                        screen.said(event.delta)
                    case "response.output_item.done":
                        _show(event.item, screen)
                    case _:
                        pass
        return ModelAnswer(text)

    return ModelClient("openai-responses", model, ask)


def on_gemini(client: Any, model: str) -> ModelClient:
    """Return a model behind Gemini's API, which streams."""

    def ask(request: Request, screen: Screen) -> ModelAnswer:
        text = ""
        for answer in client.models.generate_content_stream(model=model, **request):
            for candidate in answer.candidates or ():
                for part in (candidate.content and candidate.content.parts) or ():
                    text += "" if part.thought else part.text or ""
                    _show_part(part, screen)
        return ModelAnswer(text)

    return ModelClient("gemini", model, ask)


def on_ollama(client: Any, model: str) -> ModelClient:
    """Return a model behind Ollama's chat API, which streams."""

    def ask(request: Request, screen: Screen) -> ModelAnswer:
        text = ""
        for answer in client.chat(model=model, stream=True, **request):
            message = answer.message
            screen.thought(message.thinking or "")
            screen.said(message.content or "")
            text += message.content or ""
            for call in message.tool_calls or ():
                screen.called(call.function.name, _spelled(dict(call.function.arguments)))
        return ModelAnswer(text)

    return ModelClient("ollama", model, ask)


def on_bedrock(client: Any, model: str) -> ModelClient:
    """Return a model behind Bedrock's Converse, which answers in binary frames."""

    def ask(request: Request, screen: Screen) -> ModelAnswer:
        text, name, arguments = "", "", ""
        for event in client.converse_stream(modelId=model, **request)["stream"]:
            match event:
                case {"contentBlockStart": {"start": {"toolUse": {"name": str(called)}}}}:
                    name, arguments = called, ""
                case {"contentBlockDelta": {"delta": {"text": str(piece)}}}:
                    text += piece
                    screen.said(piece)
                case {"contentBlockDelta": {"delta": {"toolUse": {"input": str(piece)}}}}:
                    arguments += piece
                case {"contentBlockStop": _} if name:
                    screen.called(name, arguments)
                    name = ""
                case _:
                    pass
        return ModelAnswer(text)

    return ModelClient("bedrock-converse", model, ask)


def _show(item: Any, screen: Screen) -> None:
    """Show an item that is whole; its text was shown already."""
    match item.type:
        case "reasoning":
            screen.sealed_thought()
        case "function_call":
            screen.called(item.name, item.arguments)
        case _:
            pass


def _show_part(part: Any, screen: Screen) -> None:
    if part.function_call:
        screen.called(part.function_call.name, _spelled(part.function_call.args))
    elif part.thought:
        screen.thought(part.text or "")
    else:
        screen.said(part.text or "")


def _spelled(arguments: dict[str, Any] | None) -> str:
    return jsontext.write(arguments or {}).decode()


_KEY: Final = "demo"
SDKS: Final[Mapping[str, tuple[str, str]]] = {
    "anthropic-messages": ("anthropic", "anthropic"),
    "openai-chat": ("openai", "openai"),
    "openai-responses": ("openai", "openai"),
    "gemini": ("google.genai", "gemini"),
    "ollama": ("ollama", "ollama"),
    "bedrock-converse": ("boto3", "bedrock"),
}
"""The module of each API's SDK, and the extra that brings it."""


_FAILURES: Final[Mapping[str, tuple[str, ...]]] = {
    "anthropic": ("AnthropicError",),
    "openai": ("OpenAIError",),
    "google.genai.errors": ("APIError",),
    "ollama": ("ResponseError",),
    "botocore.exceptions": ("BotoCoreError", "ClientError"),
    "httpx": ("HTTPError",),
    "httpx2": ("HTTPError",),
}


def is_installed(api: str) -> bool:
    """Whether the SDK of an API is there."""
    module, _ = SDKS[api]
    try:
        return find_spec(module) is not None
    except (ModuleNotFoundError, ValueError):
        # `google` is not there, or the module was put aside: nothing can be imported either way.
        return False


def advice(api: str) -> str:
    """Return how to install the SDK of an API."""
    return f"pip install 'onrecord[{SDKS[api][1]}]'"


@contextmanager
def voice(
    api: str, model: str, conversation: Conversation, server: DemoServer | None
) -> Generator[ModelClient]:
    """Yield a model behind an API, recorded; without a server, as its SDK finds the service."""
    match api:
        case "anthropic-messages":
            with _anthropic(server) as client:
                yield on_messages(conversation.record(client), model)
        case "openai-chat" | "openai-responses":
            with _openai(server) as client:
                speak = on_chat if api == "openai-chat" else on_responses
                yield speak(conversation.record(client), model)
        # What these three would spell otherwise goes as it was rendered.
        case "gemini":
            with _google(server) as client:
                yield on_gemini(conversation.record(client, splice=True), model)
        case "ollama":
            with _ollama(server) as client:
                yield on_ollama(conversation.record(client, splice=True), model)
        case "bedrock-converse":
            with closing(_amazon(server)) as client:
                yield on_bedrock(conversation.record(client, splice=True), model)
        case _:
            raise InvalidInput(f"the demo has no client for {api!r}")


def failures() -> tuple[type[Exception], ...]:
    """Return what is raised where a service cannot be asked, by the SDKs in use and by the recorder."""
    raised = (
        getattr(sys.modules[module], name)
        for module, names in _FAILURES.items()
        if module in sys.modules
        for name in names
    )
    return (OnrecordError, ConnectionError, *raised)


def _anthropic(server: DemoServer | None) -> Any:
    import anthropic

    if server is None:
        return anthropic.Anthropic()
    return anthropic.Anthropic(api_key=_KEY, base_url=server.url, max_retries=0)


def _openai(server: DemoServer | None) -> Any:
    import openai

    if server is None:
        return openai.OpenAI()
    return openai.OpenAI(api_key=_KEY, base_url=server.openai_url, max_retries=0)


def _google(server: DemoServer | None) -> Any:
    from google import genai

    if server is None:
        return genai.Client()
    return genai.Client(
        api_key=_KEY, vertexai=False, http_options=genai.types.HttpOptions(base_url=server.url)
    )


def _ollama(server: DemoServer | None) -> Any:
    import ollama

    return ollama.Client() if server is None else ollama.Client(host=server.url)


def _amazon(server: DemoServer | None) -> Any:
    import boto3  # type: ignore[import-untyped]  # it has no stubs

    arguments: dict[str, str] = {}
    if server is not None:
        arguments = {
            "endpoint_url": server.url,
            "region_name": "us-east-1",
            "aws_access_key_id": _KEY,
            "aws_secret_access_key": _KEY,
        }
    return cast("Any", boto3).client("bedrock-runtime", **arguments)


# The loop of an agent, whoever the model is: say something, ask until all is said, give results.

_MOST_ANSWERS: Final = 12


class DemoFailed(OnrecordError):
    """The demo did not come out as it must; that is a bug."""


def say(
    conversation: Conversation, screen: Screen, text: str, documents: Iterable[Path] = ()
) -> None:
    """Record a prompt, and show it."""
    attached = list(documents)
    conversation.user(text, documents=attached)
    screen.prompt(text, [path.name for path in attached])


def answered(
    conversation: Conversation, voice: ModelClient, screen: Screen, results: Mapping[str, str]
) -> str:
    """Ask until the model has said all, and return its last words.

    Its calls get `results`, by the tool's name; where it pauses it is asked again. Raises DemoFailed
    for a model that comes to no end.
    """
    for _ in range(_MOST_ANSWERS):
        heard = voice.ask(conversation.request(voice.api, model=voice.model), screen)
        calls = conversation.open_calls()
        for call in calls:
            result = results.get(call.name, f"There is no tool {call.name}.")
            conversation.tool_result(call.id, result)
            screen.result(call.name, result)
        if not calls and not heard.pauses:
            return heard.text
    raise DemoFailed(f"the model did not come to an end in {_MOST_ANSWERS} answers")
