"""A request: what an API accepts as history, and what was done to the record to make it."""

from __future__ import annotations

import hashlib
import marshal
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, cast

from pydantic import Field, ValidationError

from onrecord.domain import jsontext, request_template
from onrecord.domain.content import Value
from onrecord.domain.documents import Modality
from onrecord.domain.errors import NothingToSend, RoundOpen, SchemaNewer, counted
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.request_template import Recipe
from onrecord.projections.api import FOLDERS, invalid, known_api, release_of
from onrecord.projections.apis.capabilities import CapabilityOverride
from onrecord.projections.history.history import Block, History, Note, Turn
from onrecord.projections.history.responses import Item
from onrecord.projections.history.turns import history
from onrecord.projections.history.windows import MessageWindow, Window, in_window


class Options(Value):
    """What a request depends on beside the events.

    `thinking` "drop" leaves out all that is signed. `cache` places cache marks. `model` and
    `account` (a keyed digest) name whom the request is for; None: whoever answered before.
    `missing` is what becomes of a call that has no result yet: it is cancelled, it refuses the
    request, or it is dropped. `tags` names the form of what stands before a document that travels on
    its own. `capabilities` and `matrix` say what models take, for this request and where it differs
    from what comes with Onrecord; the former wins. `rules` is the number of the rules for what was
    not sent before; what was goes by those that it went by.
    """

    api: str = "anthropic-messages"
    window: Window | MessageWindow | None = None
    thinking: Literal["keep", "drop"] = "keep"
    cache: bool = False
    model: str | None = None
    account: str | None = None
    missing: Literal["cancel", "refuse", "drop"] = "cancel"
    tags: Literal["short-id", "doc-reference"] = "short-id"
    capabilities: CapabilityOverride | None = None
    matrix: JsonObject | None = None
    rules: int = Field(default_factory=lambda: request_template.RULES)

    def plain(self) -> JsonObject:
        """Return the options as a recipe holds them: JSON, those at their default left out.

        The number of the rules has its own place there.
        """
        return self.model_dump(mode="json", exclude_defaults=True, exclude={"rules"})


def recipe_of(options: Options, version: int) -> Recipe:
    """Return the recipe of the request that a conversation makes at a version."""
    return Recipe(
        api=options.api,
        version=version,
        options=options.plain(),
        renderer=renderer_digest(options.api),
        rules=options.rules,
    )


def options_of(recipe: Recipe) -> Options:
    """Return the options by which a request was rendered; SchemaNewer where one is not known yet."""
    try:
        return Options.model_validate({**recipe.options, "rules": recipe.rules})
    except ValidationError as exc:
        option = exc.errors(include_url=False, include_input=False)[0]["loc"][0]
    raise SchemaNewer(
        f"a newer Onrecord wrote the request: this one does not know what its option {option!r} "
        "says, upgrade it"
    )


def outside(history: History, options: Options) -> tuple[Note, ...]:
    """Return the note on what a window leaves out; without a window nothing stands outside of one.

    Other events may be missing too: those that a promotion gave up.
    """
    if options.window is None or not history.left_out:
        return ()
    why = f"the {history.left_out} events before stand outside of the window"
    return (Note("left out", "window", None, why),)


def nothing_to_send(options: Options) -> NothingToSend:
    """Return the error of a history without a turn that could be sent, and what to do about it."""
    if options.window is None:
        return NothingToSend("the conversation has no turn that can be sent: say something first")
    return NothingToSend("the window keeps no turn that can be sent: let it keep more")


# What was done to the record to make a request, and where its documents go.

Where = Literal["inline", "behind", "words"]
"""Where a document goes: where it stands, in the message behind its result, or as words only."""


class Route(NamedTuple):
    """Where one document of the event at a version goes, and why.

    `holder` is what it stands in: a message of the user's, or a tool's result. `row` names the entry
    of the capabilities that decided.
    """

    version: int
    media_type: str
    modality: Modality
    holder: Literal["message", "result"]
    where: Where
    why: str
    row: str

    def __str__(self) -> str:
        """Return the decision as one line."""
        line = (
            f"version {self.version}: {self.media_type} of a {self.holder} goes {_WAYS[self.where]}"
        )
        return f"{line}: it {self.why} [{self.row}]"


_WAYS: Final = {"inline": "where it stands", "behind": "behind it", "words": "in words"}


@dataclass(frozen=True, slots=True)
class Report:
    """The notes on one request, in the order of the versions they are about.

    `routes` says of each document where it goes; that alone is no deed.
    """

    notes: tuple[Note, ...] = ()
    routes: tuple[Route, ...] = ()

    def __iter__(self) -> Iterator[Note]:
        """Yield the notes."""
        return iter(self.notes)

    def __len__(self) -> int:
        """Return how many notes there are; none means that all went as it was recorded."""
        return len(self.notes)

    def __str__(self) -> str:
        """Return a line for each note."""
        return "\n".join(map(str, self.notes)) or "everything goes as it was recorded"

    def of(self, rule: str) -> tuple[Note, ...]:
        """Return the notes of one rule."""
        return tuple(note for note in self.notes if note.rule == rule)


def report_of(notes: Iterable[Note], routes: Iterable[Route] = ()) -> Report:
    """Return the report of some notes, each once: by version, what concerns the whole first."""
    ordered = sorted(dict.fromkeys(notes), key=lambda note: note.version or 0)
    return Report(tuple(ordered), tuple(routes))


class Request(Mapping[str, Any]):
    """The keyword arguments of a call: `create(model=..., **request)`; plain dicts and lists.

    They may share parts with decoded events: change a copy. `body` is the same as the API's wire
    has it, plain JSON. `report` says what was repaired, left out, moved or translated.
    """

    __slots__ = ("_arguments", "_is_own", "body", "options", "report")

    def __init__(
        self,
        arguments: Mapping[str, Any],
        options: Options,
        report: Report,
        body: Mapping[str, Any] | None = None,
        *,
        is_own: bool = False,
    ) -> None:
        """Hold the arguments, of which none is absent, the options they follow, and the report.

        `body` is given where the SDK does not take what it sends: bytes for base64, or other names.
        `is_own` says that nothing else has a part in what is held.
        """
        self._is_own = is_own
        self._arguments = arguments
        self.body = arguments if body is None else body
        self.options = options
        self.report = report

    @property
    def api(self) -> str:
        """The wire format of the arguments."""
        return self.options.api

    @property
    def is_body(self) -> bool:
        """Whether the SDK takes what it sends."""
        arguments, body = self._arguments, self.body
        return list(arguments) == list(body) and all(
            value is body[name] for name, value in arguments.items()
        )

    def __getitem__(self, name: str) -> Any:
        """Return an argument; KeyError where the request has none of that name."""
        return self._arguments[name]

    def __iter__(self) -> Iterator[str]:
        """Yield the names of the arguments."""
        return iter(self._arguments)

    def __len__(self) -> int:
        """Return how many arguments there are."""
        return len(self._arguments)

    def __repr__(self) -> str:
        """Return what the request is, without what it says."""
        return f"<Request {self.api}: {', '.join(self)}; {counted(len(self.report), 'note')}>"

    def own(self) -> Request:
        """Return a request that shares nothing with events: this one if it does not, else a copy."""
        return self if self._is_own else self.copy()

    def copy(self) -> Request:
        """Return the same request; what it holds is shared with nothing."""
        if self.is_body:
            return Request(copied(dict(self._arguments)), self.options, self.report)
        arguments, body = copied((dict(self._arguments), dict(self.body)))
        return Request(arguments, self.options, self.report, body)

    def body_parts(self) -> dict[str, bytes]:
        """Return each member of the body as its JSON text: compact UTF-8."""
        return {name: jsontext.write(value) for name, value in self.body.items()}


def copied(value: Any) -> Any:
    """Return plain JSON, which may hold bytes, as new objects."""
    try:
        # `deepcopy` takes fifteen times as long, and this is done for each request.
        return marshal.loads(marshal.dumps(value))
    except ValueError:  # An API of a package may put anything into its requests.
        return deepcopy(value)


# Documents that the tools of an API made do not go back to it: its own JSON holds them.


def without_own(history: History, api: str) -> History:
    """Return a history without the documents that tools of an API made."""
    if not history.has_made:
        return history
    if not any(_is_own(block, api) for turn in history.turns for block in turn.blocks):
        return history
    return replace(history, turns=tuple(_joined(_without(history.turns, api))))


def _without(turns: Iterable[Turn], api: str) -> Iterator[Turn]:
    for turn in turns:
        blocks = [block for block in turn.blocks if not _is_own(block, api)]
        if blocks:
            yield Turn(turn.role, blocks)


def _joined(turns: Iterable[Turn]) -> Iterator[Turn]:
    """Yield turns, those that nothing stands between any more as one."""
    for _, group in groupby(turns, lambda turn: turn.role):
        first, *others = group
        yield replace(first, blocks=[*first.blocks, *(it for turn in others for it in turn.blocks)])


def _is_own(block: Block, api: str) -> bool:
    return block.made_by == api


# Requests for any API, from events; pure: same events, options and blobs give the same bytes.

APIS: Final = tuple(FOLDERS)
"""The names of the APIs that requests can be made for."""

_NO_BLOBS: Final[Mapping[str, bytes]] = MappingProxyType({})
_SOURCES: Final = (
    *("domain/blobs.py", "domain/conversation.py", "domain/documents.py", "domain/jsontext.py"),
    *("domain/request_template.py", "projections/api.py", "projections/members.py"),
    *("projections/apis/**/*.py", "projections/apis/*.toml"),
    *("projections/history/*.py", "projections/frameworks/*.py"),
)
"""What decides what a request says: files, and patterns of the names of files."""


def render(
    events: Iterable[Item] | History, options: Options, blobs: Mapping[str, bytes] = _NO_BLOBS
) -> Request:
    """Return the request that these events make.

    `events` are those of the window, in order of version, with the ones that set the instructions
    and tools in force before them; or the history folded from them. `blobs` holds the bytes of
    `needed_blobs(history, options)` by SHA-256 in hex. Raises UnknownApi, NothingToSend where no
    turn can be sent, RoundOpen where calls have no result and the options refuse that,
    UnsupportedDocument where the user asks about a document that does not go, CorruptRecord where a
    blob is missing.
    """
    renderer = known_api(options.api).render
    folded = events if isinstance(events, History) else history(events, options.missing)
    if options.missing == "refuse" and folded.awaited:
        raise RoundOpen(folded.awaited)
    viewed = in_window(folded, options.window)
    # A package's may return anything.
    request: object = cast("Any", renderer)(without_own(viewed, options.api), options, blobs)
    if not isinstance(request, Request):
        kind = type(request).__name__
        raise invalid(options.api, f"its `render` returns a {kind}, but must return a Request")
    return request


def renderer_digest(api: str) -> str:
    """Return the SHA-256, in hex, of what decides what a request says.

    That is source text of ours; for an API that a package adds, the package's release as well.
    UnknownApi for an API that there is not.
    """
    release = release_of(known_api(api).name)
    own = _source_digest()
    return hashlib.sha256(f"{own}:{release}".encode()).hexdigest() if release else own


@cache
def _source_digest() -> str:
    root = Path(__file__).parents[2]
    digest = hashlib.sha256()
    for path in (path for source in _SOURCES for path in sorted(root.glob(source))):
        text = path.read_bytes()
        digest.update(f"{path.relative_to(root).as_posix()}:{len(text)}:".encode())
        digest.update(text)
    return digest.hexdigest()
