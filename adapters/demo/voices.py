"""The official SDKs as the demo uses them: ask for one answer, show it, say how it ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from hansard.adapters.demo.screen import Screen
from hansard.domain.errors import InvalidInput
from hansard.projections.requests.request import Request

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


def need_sdks() -> None:
    """Raise InvalidInput where an SDK is missing."""
    try:
        import anthropic  # noqa: F401  # pyright: ignore[reportUnusedImport] - whether it is there
        import openai  # noqa: F401  # pyright: ignore[reportUnusedImport] - whether it is there
    except ModuleNotFoundError as exc:
        raise InvalidInput(
            "the demo talks through the official SDKs: pip install 'hansard[anthropic,openai]'"
        ) from exc


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


def _show(item: Any, screen: Screen) -> None:
    """Show an item that is whole; its text was shown already."""
    match item.type:
        case "reasoning":
            screen.sealed_thought()
        case "function_call":
            screen.called(item.name, item.arguments)
        case _:
            pass
