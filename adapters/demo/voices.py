"""The official SDKs as the demo uses them: ask for one answer, show it, say how it ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from onrecord.adapters.demo.screen import Screen
from onrecord.domain import jsontext
from onrecord.projections.apis.request import Request

if TYPE_CHECKING:
    import anthropic
    import openai
    from openai.types.chat import ChatCompletion

_MOST_TOKENS: Final = 2048


@dataclass(frozen=True, slots=True)
class Heard:
    """What an answer said; if it `pauses`, the same request is to be made again with it."""

    text: str
    pauses: bool = False


@dataclass(frozen=True, slots=True)
class Voice:
    """A model behind an API; `ask` sends a request and shows the answer as it comes."""

    api: str
    model: str
    ask: Callable[[Request, Screen], Heard]


def on_messages(client: anthropic.Anthropic, model: str) -> Voice:
    """Return a model behind Anthropic's Messages API, which streams."""

    def ask(request: Request, screen: Screen) -> Heard:
        arguments: dict[str, Any] = dict(request)
        with client.messages.stream(model=model, max_tokens=_MOST_TOKENS, **arguments) as stream:
            for event in stream:
                screen.streamed(event)
            last = stream.get_final_message()
        said = "".join(block.text for block in last.content if block.type == "text")
        return Heard(said, pauses=last.stop_reason == "pause_turn")

    return Voice("anthropic-messages", model, ask)


def on_chat(client: openai.OpenAI, model: str) -> Voice:
    """Return a model behind OpenAI's Chat Completions, which answers all at once."""

    def ask(request: Request, screen: Screen) -> Heard:
        arguments: dict[str, Any] = dict(request)
        create = cast("Callable[..., ChatCompletion]", client.chat.completions.create)
        completion = create(model=model, **arguments)
        message = completion.choices[0].message
        screen.said(message.content or "")
        for call in message.tool_calls or ():
            if call.type == "function":
                screen.called(call.function.name, call.function.arguments)
        return Heard(message.content or "")

    return Voice("openai-chat", model, ask)


def on_responses(client: openai.OpenAI, model: str) -> Voice:
    """Return a model behind OpenAI's Responses, which streams; the service stores nothing."""

    def ask(request: Request, screen: Screen) -> Heard:
        arguments: dict[str, Any] = dict(request)
        said = ""
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
                        said += event.delta
                        screen.said(event.delta)
                    case "response.output_item.done":
                        _show(event.item, screen)
                    case _:
                        pass
        return Heard(said)

    return Voice("openai-responses", model, ask)


def on_gemini(client: Any, model: str) -> Voice:
    """Return a model behind Gemini's API, which streams."""

    def ask(request: Request, screen: Screen) -> Heard:
        said = ""
        for answer in client.models.generate_content_stream(model=model, **request):
            for candidate in answer.candidates or ():
                for part in (candidate.content and candidate.content.parts) or ():
                    said += "" if part.thought else part.text or ""
                    _show_part(part, screen)
        return Heard(said)

    return Voice("gemini", model, ask)


def on_ollama(client: Any, model: str) -> Voice:
    """Return a model behind Ollama's chat API, which streams."""

    def ask(request: Request, screen: Screen) -> Heard:
        said = ""
        for answer in client.chat(model=model, stream=True, **request):
            message = answer.message
            screen.thought(message.thinking or "")
            screen.said(message.content or "")
            said += message.content or ""
            for call in message.tool_calls or ():
                screen.called(call.function.name, _spelled(dict(call.function.arguments)))
        return Heard(said)

    return Voice("ollama", model, ask)


def on_bedrock(client: Any, model: str) -> Voice:
    """Return a model behind Bedrock's Converse, which answers in binary frames."""

    def ask(request: Request, screen: Screen) -> Heard:
        said, name, arguments = "", "", ""
        for event in client.converse_stream(modelId=model, **request)["stream"]:
            match event:
                case {"contentBlockStart": {"start": {"toolUse": {"name": str(called)}}}}:
                    name, arguments = called, ""
                case {"contentBlockDelta": {"delta": {"text": str(piece)}}}:
                    said += piece
                    screen.said(piece)
                case {"contentBlockDelta": {"delta": {"toolUse": {"input": str(piece)}}}}:
                    arguments += piece
                case {"contentBlockStop": _} if name:
                    screen.called(name, arguments)
                    name = ""
                case _:
                    pass
        return Heard(said)

    return Voice("bedrock-converse", model, ask)


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
