"""The demo: a conversation is recorded as it happens, then looked at from every side."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from hansard.adapters.cli import output, replaying
from hansard.adapters.cli.naming import Named
from hansard.adapters.demo import handover, support_agent
from hansard.adapters.demo.asking import DemoFailed, answered, say
from hansard.adapters.demo.scenes import JsonObject
from hansard.adapters.demo.screen import Screen
from hansard.adapters.demo.server import DemoServer
from hansard.adapters.demo.telling import Telling, opened
from hansard.adapters.demo.voices import Voice, need_sdks, on_chat, on_messages, on_responses
from hansard.adapters.replaying import replays
from hansard.adapters.store import Store
from hansard.adapters.talk import Talk
from hansard.domain.content import Native
from hansard.projections.replay import Outcome
from hansard.projections.timeline import timeline
from hansard.projections.window import Window

API: Final = "anthropic-messages"
KEY: Final = "support/4711"
DOCUMENT: Final = "delivery-report-week-37.pdf"


@dataclass(frozen=True, slots=True)
class Cast:
    """Who speaks in the story: the models that the conversation moves between."""

    messages: Voice
    chat: Voice
    responses: Voice


def tell(telling: Telling) -> None:
    """Record the demo's conversation, show it, and fail where something is not as it must be."""
    with opened(telling) as (store, folder):
        screen = Screen(quiet=telling.as_json)
        outcomes = _told(telling, store, folder, screen)
        if telling.as_json:
            output.json_line(_document(store, outcomes, kept=telling.keep))
        screen.goodbye(store.url, kept=telling.keep)


def _told(telling: Telling, store: Store, folder: Path, screen: Screen) -> list[Outcome]:
    report = folder / DOCUMENT
    report.write_bytes(support_agent.REPORT)
    talk = store.conversation(KEY)
    screen.hello(store.url, live=False)
    with _service(telling, talk) as (cast, server):
        _converse(talk, cast.messages, report, screen)
        _cross(talk, cast, screen)
        _look_back(talk, screen)
        outcomes = list(replays(talk))
        screen.replayed(outcomes)
        _must_be_right(talk, outcomes, server)
    return outcomes


@contextmanager
def _service(telling: Telling, talk: Talk) -> Generator[tuple[Cast, DemoServer]]:
    """Yield recorded clients of a server on this machine, and that server."""
    need_sdks()
    import anthropic
    import openai

    with (
        DemoServer(support_agent.SupportAgent(), openai=handover.answer) as server,
        anthropic.Anthropic(api_key="demo", base_url=server.url, max_retries=0) as first,
        openai.OpenAI(api_key="demo", base_url=server.openai_url, max_retries=0) as second,
    ):
        recorded = talk.record(second)
        yield (
            Cast(
                on_messages(talk.record(first), telling.model),
                on_chat(recorded, telling.openai_model),
                on_responses(recorded, telling.openai_model),
            ),
            server,
        )


def _converse(talk: Talk, voice: Voice, report: Path, screen: Screen) -> None:
    """Tell the first part, on one API: tools, a search that pauses, a stream that breaks."""
    talk.instruct(support_agent.SYSTEM)
    talk.tools(_tools(support_agent.TOOLS))
    say(talk, screen, support_agent.QUESTION, [report])
    answered(talk, voice, screen, support_agent.RESULTS)
    say(talk, screen, support_agent.FOLLOW_UP)
    _broken_answer(talk, voice, screen)
    answered(talk, voice, screen, support_agent.RESULTS)


def _cross(talk: Talk, cast: Cast, screen: Screen) -> None:
    """Tell the second part: to OpenAI's two APIs and back, each with all that was said before."""
    chapters = (
        ("On to OpenAI, Chat Completions", cast.chat, handover.ON_CHAT),
        ("On to OpenAI, Responses", cast.responses, handover.ON_RESPONSES),
        ("Back to Anthropic", cast.messages, handover.BACK),
    )
    for heading, voice, prompt in chapters:
        screen.heading(heading, f'talk.request("{voice.api}", model="{voice.model}")')
        say(talk, screen, prompt)
        screen.report(talk.request(voice.api, model=voice.model))
        answered(talk, voice, screen, handover.RESULTS)
    screen.heading("And what comes next")
    say(talk, screen, "Thank you. What should I do if she writes again?")


def _broken_answer(talk: Talk, voice: Voice, screen: Screen) -> None:
    """Ask once, and lose the connection amid the answer."""
    import httpx2

    try:
        voice.ask(talk.request(voice.api, model=voice.model), screen)
    except httpx2.TransportError as exc:
        screen.broke(exc)
    else:
        raise DemoFailed("the stream that was to break did not")
    say(talk, screen, "The connection broke. Please write it once more.")


def _tools(tools: Iterable[JsonObject]) -> list[Mapping[str, Any] | Native]:
    """Return the caller's tools as any model takes them, and those of the service as it does."""
    own = [tool for tool in tools if "input_schema" in tool]
    theirs = [tool for tool in tools if "input_schema" not in tool]
    return [*own, *(Native(api=API, value={**tool}) for tool in theirs)]


def _look_back(talk: Talk, screen: Screen) -> None:
    head = talk.head()
    screen.timeline(Named(KEY, talk.conversation_id, head), timeline(talk.read()))
    screen.request("The next request", 'talk.request("anthropic-messages")', talk.request(API))
    window = talk.request(API, window=Window(exchanges=1, step=1), cache=True)
    screen.request(
        "A window of it, with cache marks",
        'talk.request("anthropic-messages", window=Window(exchanges=1, step=1), cache=True)',
        window,
    )
    at = _last_result(talk)
    screen.request(
        "The same, as it stood before",
        f'talk.request("anthropic-messages", at={at})',
        talk.request(API, at=at),
    )


def _last_result(talk: Talk) -> int:
    return max(
        (event.version for event in talk.read() if event.type == "tool_result.recorded"),
        default=talk.head().version,
    )


def _must_be_right(talk: Talk, outcomes: list[Outcome], server: DemoServer) -> None:
    refused = [event.version for event in talk.read() if event.type == "attempt.failed"]
    if refused:
        raise DemoFailed(f"the service refused what was sent: see version {refused[0]}")
    if not all(outcome.is_proven for outcome in outcomes):
        raise DemoFailed("a request does not come to what was sent")
    if len(server.requests) != len(outcomes):
        raise DemoFailed("not every request that was sent is recorded")


def _document(store: Store, outcomes: list[Outcome], *, kept: bool) -> dict[str, object]:
    talk = store.conversation(KEY)
    return {
        "url": store.url if kept else None,
        "key": KEY,
        "events": talk.head().version,
        "replay": replaying.document(outcomes),
    }
