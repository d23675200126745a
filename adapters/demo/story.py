"""The demo: a conversation is recorded as it happens, then looked at from every side."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from hansard.adapters.app import connect
from hansard.adapters.cli import output, replaying
from hansard.adapters.cli.naming import Named
from hansard.adapters.demo import support_agent
from hansard.adapters.demo.scenes import JsonObject
from hansard.adapters.demo.screen import Screen
from hansard.adapters.demo.server import DemoServer
from hansard.adapters.replaying import replays
from hansard.adapters.store import Store
from hansard.adapters.talk import Talk
from hansard.domain.content import Native
from hansard.domain.errors import HansardError, InvalidInput
from hansard.projections.replay import Outcome
from hansard.projections.timeline import timeline
from hansard.projections.window import Window

if TYPE_CHECKING:
    import anthropic

API: Final = "anthropic-messages"
KEY: Final = "support/4711"
DOCUMENT: Final = "delivery-report-week-37.pdf"
_MOST_ANSWERS: Final = 12
_LIVE_QUESTION: Final = "In two sentences: what went wrong, and is parcel NW-20931 affected?"


class DemoFailed(HansardError):
    """The demo did not come out as it must; that is a bug."""


@dataclass(frozen=True, slots=True)
class Telling:
    """How the demo is to be told; `live` is with the real service."""

    live: bool = False
    model: str = "claude-sonnet-5"
    keep: bool = False
    as_json: bool = False


def tell(telling: Telling) -> None:
    """Record the demo's conversation, show it, and fail where something is not as it must be."""
    folder = Path(tempfile.mkdtemp(prefix="hansard-demo-"))
    url = f"sqlite:///{folder / 'demo.db'}"
    screen = Screen(quiet=telling.as_json)
    try:
        with connect(url) as store:
            outcomes = _told(telling, store, folder, screen)
            if telling.as_json:
                output.json_line(_document(store, outcomes, kept=telling.keep))
        screen.goodbye(url, kept=telling.keep)
    finally:
        if not telling.keep:
            shutil.rmtree(folder)


def _told(telling: Telling, store: Store, folder: Path, screen: Screen) -> list[Outcome]:
    report = folder / DOCUMENT
    report.write_bytes(support_agent.REPORT)
    talk = store.conversation(KEY)
    screen.hello(store.url, live=telling.live)
    with _service(telling) as (client, server):
        _converse(telling, talk, talk.record(client), report, screen)
        _look_back(talk, screen)
        outcomes = list(replays(talk))
        screen.replayed(outcomes)
        _must_be_right(talk, outcomes, server)
    return outcomes


@contextmanager
def _service(telling: Telling) -> Generator[tuple[anthropic.Anthropic, DemoServer | None]]:
    """Yield a client of the real service, or of a server on this machine."""
    try:
        import anthropic
    except ModuleNotFoundError as exc:
        raise InvalidInput(
            "the demo talks through the official SDK: pip install 'hansard[anthropic]'"
        ) from exc
    if telling.live:
        if not os.environ.get("ANTHROPIC_API_KEY"):
            raise InvalidInput("--live needs a key of the service in ANTHROPIC_API_KEY")
        with anthropic.Anthropic() as client:
            yield client, None
        return
    with (
        DemoServer(support_agent.SupportAgent()) as server,
        anthropic.Anthropic(api_key="demo", base_url=server.url, max_retries=0) as client,
    ):
        yield client, server


def _converse(
    telling: Telling, talk: Talk, client: anthropic.Anthropic, report: Path, screen: Screen
) -> None:
    talk.instruct(support_agent.SYSTEM)
    talk.tools(_tools(support_agent.TOOLS, server_tools=not telling.live))
    question = _LIVE_QUESTION if telling.live else support_agent.QUESTION
    _say(talk, screen, question, [report])
    _answers(telling, talk, client, screen)
    _say(talk, screen, support_agent.FOLLOW_UP)
    if not telling.live:
        _broken_answer(telling, talk, client, screen)
    _answers(telling, talk, client, screen)
    _say(talk, screen, "Thank you. What should I do if she writes again?")


def _say(talk: Talk, screen: Screen, text: str, documents: Iterable[Path] = ()) -> None:
    attached = list(documents)
    talk.user(text, documents=attached)
    screen.prompt(text, [path.name for path in attached])


def _answers(telling: Telling, talk: Talk, client: anthropic.Anthropic, screen: Screen) -> None:
    """Ask until the model has said all: give results, and go on where it pauses."""
    for _ in range(_MOST_ANSWERS):
        stop_reason = _ask(telling, talk, client, screen)
        calls = talk.open_calls()
        for call in calls:
            result = support_agent.RESULTS[call.name]
            talk.tool_result(call.id, result)
            screen.result(call.name, result)
        if not calls and stop_reason != "pause_turn":
            return
    raise DemoFailed(f"the model did not come to an end in {_MOST_ANSWERS} answers")


def _broken_answer(
    telling: Telling, talk: Talk, client: anthropic.Anthropic, screen: Screen
) -> None:
    """Ask once, and lose the connection amid the answer."""
    import httpx2

    try:
        _ask(telling, talk, client, screen)
    except httpx2.TransportError as exc:
        screen.broke(exc)
    else:
        raise DemoFailed("the stream that was to break did not")
    _say(talk, screen, "The connection broke. Please write it once more.")


def _ask(telling: Telling, talk: Talk, client: anthropic.Anthropic, screen: Screen) -> str | None:
    """Ask for one answer, show it as it streams, and return why it stopped."""
    arguments: dict[str, Any] = dict(talk.request(API, model=telling.model))
    with client.messages.stream(model=telling.model, max_tokens=2048, **arguments) as stream:
        for event in stream:
            screen.streamed(event)
        return stream.get_final_message().stop_reason


def _tools(tools: Iterable[JsonObject], *, server_tools: bool) -> list[Mapping[str, Any] | Native]:
    """Return the caller's tools as any model takes them, and those of the service as it does."""
    own = [tool for tool in tools if "input_schema" in tool]
    theirs = [tool for tool in tools if "input_schema" not in tool]
    return [*own, *(Native(api=API, value={**tool}) for tool in theirs if server_tools)]


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


def _must_be_right(talk: Talk, outcomes: list[Outcome], server: DemoServer | None) -> None:
    refused = [event.version for event in talk.read() if event.type == "attempt.failed"]
    if refused:
        raise DemoFailed(f"the service refused what was sent: see version {refused[0]}")
    if not all(outcome.is_proven for outcome in outcomes):
        raise DemoFailed("a request does not come to what was sent")
    if server is not None and len(server.requests) != len(outcomes):
        raise DemoFailed("not every request that was sent is recorded")


def _document(store: Store, outcomes: list[Outcome], *, kept: bool) -> dict[str, object]:
    talk = store.conversation(KEY)
    return {
        "url": store.url if kept else None,
        "key": KEY,
        "events": talk.head().version,
        "replay": replaying.document(outcomes),
    }
