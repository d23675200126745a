"""The demo: a conversation is recorded as it happens, then looked at from every side."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, TypedDict, cast

from onrecord.adapters.app import connect
from onrecord.adapters.conversation.conversation import Conversation
from onrecord.adapters.conversation.rendering import replays
from onrecord.adapters.demo import support_agent
from onrecord.adapters.demo.claim import ForkProof, claims_desk, fork_proofs, tell_claim
from onrecord.adapters.demo.clients import (
    SDKS,
    DemoFailed,
    ModelClient,
    advice,
    answered,
    is_installed,
    say,
    voice,
)
from onrecord.adapters.demo.desk import PRICES, tell_desk
from onrecord.adapters.demo.report_pdf import parcels_in_a_van
from onrecord.adapters.demo.screen import Screen
from onrecord.adapters.demo.services.scenes import JsonObject
from onrecord.adapters.demo.services.server import DemoServer
from onrecord.adapters.presentation.conversations import NamedConversation
from onrecord.adapters.presentation.request_documents import replay_document
from onrecord.adapters.store import Store, backend_of
from onrecord.adapters.terminal import output
from onrecord.domain import jsontext
from onrecord.domain.content import Native
from onrecord.domain.errors import InvalidInput
from onrecord.projections.apis.request import Request
from onrecord.projections.history.timeline import timeline
from onrecord.projections.history.windows import Window
from onrecord.projections.matching.template import Outcome


@dataclass(frozen=True, slots=True)
class DemoOptions:
    """How the demo runs, and the models to name in its requests, by API.

    `folder` is where its store goes, which then stays; without it, a folder of its own.
    """

    models: Mapping[str, str]
    keep: bool = False
    as_json: bool = False
    folder: Path | None = None

    @property
    def stays(self) -> bool:
        """Whether the store is there when the demo has ended."""
        return self.keep or self.folder is not None


@contextmanager
def opened(telling: DemoOptions) -> Generator[tuple[Store, Path]]:
    """Yield a store in a folder of its own, and that folder, which stays if it is to be kept.

    A folder that was named stays only if nothing is raised.
    """
    folder = telling.folder or Path(tempfile.mkdtemp(prefix="onrecord-demo-"))
    if telling.folder is not None:
        _make(folder)
    stays = telling.keep
    try:
        url = f"sqlite:///{folder.absolute() / STORE}"
        with connect(url, **_sealing(url, folder.absolute())) as store:
            yield store, folder
        stays = telling.stays
    finally:
        if not stays:
            shutil.rmtree(folder)


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        raise InvalidInput(
            f"{folder} is there already, and holds no finished demo: remove it, or name another folder"
        ) from None
    except OSError as exc:
        raise InvalidInput(f"{folder} cannot be made: {exc.strerror}") from exc


def _sealing(url: str, folder: Path) -> _Sealing:
    """Make a key that seals the demo's log, and return what seals it; nothing without the extra."""
    if find_spec("cryptography") is None:
        return {}
    from onrecord.adapters.seals.key_files import make_key_file
    from onrecord.domain.seals.checkpoint import key_name_of, log_id_of

    with connect(url) as store:
        name = key_name_of(log_id_of(backend_of(store).digest))
    (keys := folder / "keys").mkdir()
    public = str(make_key_file(keys / "seal.key", name).public)
    (keys / "seal.vkey").write_text(f"{public}\n", "ascii")
    return {"seals": str(folder / "seals"), "seal_key": keys / "seal.key", "seal_vkey": public}


class _Sealing(TypedDict, total=False):
    seals: str
    seal_key: Path
    seal_vkey: str


STORE: Final = "demo.db"
_FINISHED: Final = "demo.json"
"""The file that says of a folder that its demo came to its end: the document of it."""

API: Final = "anthropic-messages"
KEY: Final = "support/4711"
DOCUMENT: Final = "delivery-report-week-37.pdf"
PICTURE: Final = "van.png"


def run_demo(telling: DemoOptions) -> None:
    """Record the demo's conversations, show them, and fail where something is not as it must be.

    Where the named folder holds a finished demo, only say where it is.
    """
    screen = Screen(quiet=telling.as_json)
    if (before := _finished(telling.folder)) is not None:
        if telling.as_json:
            output.json_line(before)
        screen.goodbye(str(before["url"]), kept=True)
        return
    with opened(telling) as (store, folder):
        outcomes, everywhere = _told(telling, store, folder, screen)
        document = _document(store, outcomes, everywhere, kept=telling.stays)
        if telling.folder is not None:
            (folder / "prices.toml").write_text(PRICES, "utf-8")
            (folder / _FINISHED).write_bytes(jsontext.write(document))
        if telling.as_json:
            output.json_line(document)
        screen.goodbye(store.url, kept=telling.stays)


def _finished(folder: Path | None) -> dict[str, Any] | None:
    """Return the document of the demo that a folder holds, if it came to its end."""
    if folder is None or not (folder / STORE).is_file():
        return None
    try:
        return cast("dict[str, Any]", jsontext.read((folder / _FINISHED).read_bytes()))
    except FileNotFoundError:
        return None


def _told(
    telling: DemoOptions, store: Store, folder: Path, screen: Screen
) -> tuple[list[Outcome], list[ForkProof]]:
    conversation = store.conversation(KEY)
    screen.hello(store.url, live=False)
    if not is_installed(API):
        raise InvalidInput(f"the demo talks through the official SDKs: {advice(API)}")
    agent, desk = support_agent.SupportAgent(), claims_desk(folder)
    others = support_agent.other_answer
    with DemoServer(agent, openai=others, others=others) as server:
        with voice(API, telling.models[API], conversation, server) as first:
            screen.heading("1  Anthropic", _call(first.api, first.model))
            conversation.instruct(support_agent.SYSTEM)
            conversation.tools.declare([*_tools(support_agent.TOOLS), desk])
            _converse(conversation, first, _file(folder, DOCUMENT, support_agent.REPORT), screen)
        for place, crossing in enumerate(support_agent.CROSSINGS, start=2):
            model = telling.models[crossing.api]
            screen.heading(f"{place}  {crossing.service}", _call(crossing.api, model))
            if not is_installed(crossing.api):
                screen.remark(f"left out: {advice(crossing.api)}")
                continue
            with voice(crossing.api, model, conversation, server) as speaker:
                _cross(conversation, speaker, crossing, folder, screen)
        with voice(API, telling.models[API], conversation, server) as first:
            screen.heading("8  A claim", "ToolRunner(chat, [open_claim], context={...}).run()")
            result = tell_claim(conversation, first, desk, screen)
            models = {api: telling.models[api] for api in SDKS if is_installed(api)}
            everywhere = list(fork_proofs(conversation, result, models, server))
            screen.shown(everywhere)
            answered(conversation, first, screen, {})
        screen.heading(
            "9  Other conversations", "chat.request(api, window=...), chat.redact(version)"
        )
        tell_desk(store, telling.models[API], folder, screen, seals=(folder / "keys").is_dir())
        screen.heading("And what comes next")
        say(conversation, screen, "Thank you. What should I do if she writes again?")
        _look_back(conversation, screen, kept=telling.stays)
        outcomes = list(replays(conversation))
        screen.replayed(outcomes)
        _must_be_right(conversation, outcomes, everywhere, server)
    return outcomes, everywhere


def _converse(conversation: Conversation, voice: ModelClient, report: Path, screen: Screen) -> None:
    """Tell the first part, on one API: tools, a search that pauses, a stream that breaks."""
    say(conversation, screen, support_agent.QUESTION, [report])
    answered(conversation, voice, screen, support_agent.RESULTS)
    say(conversation, screen, support_agent.FOLLOW_UP)
    _broken_answer(conversation, voice, screen)
    answered(conversation, voice, screen, support_agent.RESULTS)


def _cross(
    conversation: Conversation,
    voice: ModelClient,
    crossing: support_agent.Crossing,
    folder: Path,
    screen: Screen,
) -> None:
    """Go on at another API, with all that was said before."""
    files = [_file(folder, PICTURE, parcels_in_a_van())] if crossing.pictured else []
    say(conversation, screen, crossing.prompt, files)
    screen.report(conversation.request(voice.api, model=voice.model))
    answered(conversation, voice, screen, support_agent.LATER_RESULTS)


def _call(api: str, model: str) -> str:
    return f'chat.request("{api}", model="{model}")'


def _broken_answer(conversation: Conversation, voice: ModelClient, screen: Screen) -> None:
    """Ask once, and lose the connection amid the answer."""
    import httpx2

    try:
        voice.ask(conversation.request(voice.api, model=voice.model), screen)
    except httpx2.TransportError as exc:
        screen.broke(exc)
    else:
        raise DemoFailed("the stream that was to break did not")
    say(conversation, screen, "The connection broke. Please write it once more.")


def _tools(tools: Iterable[JsonObject]) -> list[Mapping[str, Any] | Native]:
    """Return the caller's tools as any model takes them, and those of the service as it does."""
    own = [tool for tool in tools if "input_schema" in tool]
    theirs = [tool for tool in tools if "input_schema" not in tool]
    return [*own, *(Native(api=API, value={**tool}) for tool in theirs)]


def _look_back(conversation: Conversation, screen: Screen, *, kept: bool) -> None:
    events = list(conversation.log.read())
    shown = [event for event in events if event.exchange <= 1]
    screen.timeline(
        NamedConversation(KEY, conversation.conversation_id, conversation.head()),
        timeline(shown),
        len(events) - len(shown),
        kept=kept,
    )
    screen.requests(_next_requests(conversation, shown[-1].version))


def _next_requests(conversation: Conversation, at: int) -> Iterator[tuple[str, Request]]:
    for api in SDKS:
        yield api, conversation.request(api)
    window = Window(exchanges=1, step=1)
    yield "  one exchange of it", conversation.request(API, window=window)
    yield f"  as of version {at}", conversation.request(API, at=at)


def _file(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def _must_be_right(
    conversation: Conversation,
    outcomes: list[Outcome],
    everywhere: list[ForkProof],
    server: DemoServer,
) -> None:
    refused = [event.version for event in conversation.log.read() if event.type == "attempt.failed"]
    if refused:
        raise DemoFailed(f"the service refused what was sent: see version {refused[0]}")
    of_forks = [outcome for proof in everywhere for outcome in proof.outcomes]
    if not all(outcome.is_proven for outcome in (*outcomes, *of_forks)):
        raise DemoFailed("a request does not come to what was sent")
    if len(server.requests) != len(outcomes) + len(of_forks):
        raise DemoFailed("not every request that was sent is recorded")


def _document(
    store: Store, outcomes: list[Outcome], everywhere: list[ForkProof], *, kept: bool
) -> dict[str, object]:
    conversation = store.conversation(KEY)
    shown = [document for proof in everywhere for document in proof.documents]
    return {
        "url": store.url if kept else None,
        "key": KEY,
        "events": conversation.head().version,
        "replay": replay_document(outcomes),
        "documents": [asdict(document) for document in shown],
    }
