"""What of a conversation goes into a file to share, and what is hidden and why; pure.

When in doubt, a piece is hidden: what a reader sees of it is that it was there, and why it is not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from onrecord.adapters.page.conversation.events import Look, ShownDocument, ShownEvent, ShownRow
from onrecord.adapters.page.share.hidable import Hidable
from onrecord.adapters.page.share.hidden_words import HiddenWords, marked, without
from onrecord.adapters.page.share.spelling import readings_of
from onrecord.adapters.presentation.control_characters import visible
from onrecord.domain.blobs import referenced
from onrecord.domain.content import (
    Document,
    Native,
    ServerToolCall,
    ServerToolResult,
    ToolCall,
    ToolResult,
)
from onrecord.domain.encoding import Erased, Unrecognised
from onrecord.domain.errors import InvalidInput
from onrecord.domain.events import (
    DocumentExtracted,
    Event,
    MessageRecorded,
    ServerToolCallRecorded,
    ServerToolResultRecorded,
    SignalReceived,
    ToolResultRecorded,
    ToolResultRejected,
)
from onrecord.domain.tools import ApprovalDecided
from onrecord.projections.api import neutral_of, outcome_of, parts_of
from onrecord.projections.history.timeline import Row

Reason: TypeAlias = Literal[
    "reasoning",
    "results",
    "documents",
    "people",
    "words",
    "redacted",
    "repeats",
    "erased",
    "unclear",
    "pictures",
]
"""Why a piece is hidden."""

REASONS: Final[Mapping[Reason, str]] = {
    "reasoning": "reasoning, hidden by whoever made this file",
    "results": "results of tools, hidden by whoever made this file",
    "documents": "documents, hidden by whoever made this file",
    "people": "names of people, hidden by whoever made this file",
    "words": "words, hidden by whoever made this file",
    "redacted": "redacted in the record",
    "repeats": "may repeat what was redacted in the record",
    "erased": "erased from the record",
    "unclear": "not understood, so it may hold what is hidden",
    "pictures": "pictures that this file does not hold",
}
"""Each reason in words."""

_CALLS: Final = frozenset({"tool call", "server call"})
_SAID: Final = frozenset({"text", "thinking", *_CALLS})
_PLAIN_PARTIALS: Final = frozenset(
    {"unfinished text", "unfinished message", "unfinished tool_use", "unfinished function_call"}
)
_WITHOUT_DOCUMENTS: Final = frozenset({"instructions", "tools", "compaction", *_PLAIN_PARTIALS})
_THOUGHTS: Final = ("thinking", "reasoning", "thought")


@dataclass(frozen=True, slots=True)
class Hiding:
    """What whoever makes a file hides in it."""

    kinds: frozenset[Hidable] = frozenset()
    words: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a word of which nothing can be seen: InvalidInput, where otherwise it would hide nothing."""
        if any(not HiddenWords((word,)) for word in self.words):
            raise InvalidInput("a word to hide has nothing that can be seen")

    @property
    def is_asked(self) -> bool:
        """Return whether anything is hidden."""
        return bool(self.kinds or self.words)

    @property
    def hides_words(self) -> bool:
        """Return whether words are looked for, which nobody finds in a picture."""
        return Hidable.PEOPLE in self.kinds or bool(self.words)


@dataclass(frozen=True, slots=True)
class Nature:
    """What an event is, as far as it counts for hiding.

    `call_id` is that of the call whose result it is, or holds a document of, or whose denial it is: the
    result repeats that one's reason. `holds_documents` counts what may be one. `is_plain`: its texts are
    blocks of their own. `is_readable`: a call says what its arguments are.
    """

    call_id: str | None = None
    holds_documents: bool = False
    is_plain: bool = False
    is_readable: bool = True


@dataclass(frozen=True, slots=True)
class Redactions:
    """Which versions were redacted, on whatever branch, and the calls whose results were."""

    versions: frozenset[int] = frozenset()
    calls: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class SharedRow:
    """A row of the file; `hidden` says why it has no text."""

    speaker: str
    kind: str
    look: Look
    text: str = ""
    name: str | None = None
    actor: str | None = None
    marks: tuple[str, ...] = ()
    answers: int | None = None
    hidden: Reason | None = None


@dataclass(frozen=True, slots=True)
class SharedDocument:
    """A document of the file, or why it is not named."""

    name: str = ""
    media_type: str = ""
    size: int = 0
    picture: str | None = None
    hidden: Reason | None = None


@dataclass(frozen=True, slots=True)
class SharedEvent:
    """An event of the file."""

    version: int
    recorded_at: int
    rows: tuple[SharedRow, ...]
    documents: tuple[SharedDocument, ...]
    exchange: int | None
    branch: str | None


@dataclass(frozen=True, slots=True)
class Shared:
    """What goes into a file: its title, its events, and how many pieces were hidden for each reason.

    `word_counts` say how many times each word to hide stood, in the order of the words.
    """

    title: str
    events: tuple[SharedEvent, ...]
    hidden: Mapping[Reason, int]
    word_counts: tuple[int, ...]


def nature_of(event: Event | Unrecognised | Erased) -> Nature:
    """Return what an event is, as far as it counts for hiding."""
    match event:
        case MessageRecorded(content=content):
            is_plain = not any(isinstance(block, Native) for block in content)
            return Nature(holds_documents=any(map(_may_hold, content)), is_plain=is_plain)
        case SignalReceived(content=content):
            return Nature(holds_documents=any(map(_may_hold, content)))
        case DocumentExtracted(call_id=call_id):
            return Nature(call_id=call_id, holds_documents=True)
        case ApprovalDecided(call_id=call_id, decision="denied"):
            return Nature(call_id=call_id)
        case (
            ToolResultRecorded(call_id=call_id, content=content)
            | ToolResultRejected(call_id=call_id, content=content)
            | ServerToolResultRecorded(call_id=call_id, content=content)
        ):
            return Nature(call_id=call_id, holds_documents=_may_hold(content))
        case ServerToolCallRecorded(content=content):
            read = neutral_of(content.api, content.value)
            is_readable = isinstance(read, ToolCall | ServerToolCall)
            return Nature(holds_documents=_may_hold(content), is_readable=is_readable)
        case _:
            return Nature()


def _may_hold(block: object) -> bool:
    match block:
        case Document():
            return True
        case Native(api=api, value=value):
            read = (neutral_of(api, value), *parts_of(api, value), outcome_of(api, value))
            return any(referenced(value)) or any(map(_may_hold, read))
        case ToolResult(content=content) | ServerToolResult(content=content):
            return any(isinstance(part, Document) for part in content)
        case _:
            return False


def shared(
    title: str,
    events: Iterable[ShownEvent],
    natures: Mapping[int, Nature],
    redactions: Redactions,
    hiding: Hiding,
    names: Iterable[str],
    pictures: Mapping[str, str] | None = None,
) -> Shared:
    """Return what of a conversation goes into a file.

    `names` are those of people who act in it. `pictures` are addresses that hold a picture, by the
    SHA-256 of its document.
    """
    fold = _Fold(natures, redactions, hiding, names, pictures or {})
    shown = tuple(map(fold.event, events))
    title = fold.text(title)
    hidden: dict[Reason, int] = {name: count for name, count in fold.hidden.items() if count}
    return Shared(title, shown, hidden, tuple(fold.word_counts))


@dataclass
class _Fold:
    natures: Mapping[int, Nature]
    redactions: Redactions
    hiding: Hiding
    names: Iterable[str]
    pictures: Mapping[str, str]
    hidden: Counter[Reason] = field(default_factory=Counter[Reason])

    def __post_init__(self) -> None:
        self._words = HiddenWords(self.hiding.words)
        self.word_counts = [0] * len(self.hiding.words)
        self._names = HiddenWords(self.names if Hidable.PEOPLE in self.hiding.kinds else ())

    def event(self, event: ShownEvent) -> SharedEvent:
        nature = self.natures.get(event.version, Nature())
        rows = tuple(self._row(row, nature) for row in event.rows)
        return SharedEvent(
            version=event.version,
            recorded_at=event.recorded_at,
            rows=rows,
            documents=tuple(self._documents(event, nature, {row.hidden for row in rows})),
            exchange=event.exchange,
            branch=event.branch,
        )

    def text(self, text: str) -> str:
        """Return a text with what would steer as its escape, and without what is hidden."""
        shown = visible(text)
        if not (self._words or self._names):
            return shown
        readings, words = readings_of(shown), bytearray(len(shown))
        counts = self._words.mark(readings, words)
        self.word_counts = [sum(each) for each in zip(self.word_counts, counts, strict=True)]
        both = bytearray(words)
        self._names.mark(readings, both)
        spans = tuple(marked(both))
        for start, end in spans:
            self.hidden["words" if any(words[start:end]) else "people"] += 1
        return without(shown, spans)

    def _row(self, shown: ShownRow, nature: Nature) -> SharedRow:
        row = shown.row
        reason = self._reason(shown, nature)
        if reason is not None:
            self.hidden[reason] += 1
        if reason is not None and reason != "erased":
            return SharedRow(row.speaker, kind_of_hidden(row), shown.look, hidden=reason)
        return SharedRow(
            speaker=row.speaker,
            kind=self.text(row.kind),
            look=shown.look,
            text=self.text(shown.text),
            name=None if shown.name is None else self.text(shown.name),
            actor=self._actor(shown),
            marks=shown.marks,
            answers=row.answers,
        )

    def _actor(self, shown: ShownRow) -> str | None:
        row = shown.row
        if row.actor is None or row.speaker in ("record", "assistant"):
            return None
        if Hidable.PEOPLE in self.hiding.kinds:
            self.hidden["people"] += 1
            return None
        return self.text(row.actor)

    def _reason(self, shown: ShownRow, nature: Nature) -> Reason | None:
        return reason_of_record(shown.row, nature, self.redactions) or self._of_hiding(
            shown, nature
        )

    def _of_hiding(self, shown: ShownRow, nature: Nature) -> Reason | None:
        row, kinds = shown.row, self.hiding.kinds
        if Hidable.REASONING in kinds and _is_thought(row.kind):
            return "reasoning"
        if Hidable.RESULTS in kinds and (_is_result(row) or nature.call_id is not None):
            return "results"
        if Hidable.DOCUMENTS in kinds and _may_name_document(shown, nature):
            return "documents"
        return "unclear" if self.hiding.is_asked and _is_unclear(row, nature) else None

    def _documents(
        self, event: ShownEvent, nature: Nature, hidden: Collection[Reason | None]
    ) -> Iterator[SharedDocument]:
        """Yield the documents of an event; one that a hidden row stands for has none of its own."""
        reason = self._of_document(event, nature)
        if reason is None:
            yield from map(self._document, event.documents)
        elif reason not in hidden:
            self.hidden[reason] += len(event.documents)
            yield from (SharedDocument(hidden=reason) for _ in event.documents)

    def _of_document(self, event: ShownEvent, nature: Nature) -> Reason | None:
        for row in event.rows:
            reason = reason_of_record(row.row, nature, self.redactions)
            if reason is not None:
                return reason
        if Hidable.RESULTS in self.hiding.kinds and any(_is_result(row.row) for row in event.rows):
            return "results"
        return "documents" if Hidable.DOCUMENTS in self.hiding.kinds else None

    def _document(self, document: ShownDocument) -> SharedDocument:
        picture = self.pictures.get(document.sha256)
        if document.is_picture and picture is None:
            self.hidden["pictures"] += 1
        name, media_type = self.text(document.name), self.text(document.media_type)
        return SharedDocument(name, media_type, document.size, picture)


def reason_of_record(row: Row, nature: Nature, redactions: Redactions) -> Reason | None:
    """Return why the record itself lets a row go nowhere; None where it may go."""
    if "erased" in row.marks:
        return "erased"
    if "redacted" in row.marks or row.version in redactions.versions:
        return "redacted"
    if nature.call_id in redactions.calls or (row.is_item and redactions.versions):
        return "repeats"
    return "unclear" if "unread" in row.marks else None


def kind_of_hidden(row: Row) -> str:
    """Return the kind of a row that is hidden: a kind may have words of somebody in it."""
    return row.kind if row.kind in _SAID or row.kind == "result" else "event"


def _is_thought(kind: str) -> bool:
    is_partial = kind.startswith("unfinished") and kind not in _PLAIN_PARTIALS
    return is_partial or any(word in kind for word in _THOUGHTS)


def _is_unclear(row: Row, nature: Nature) -> bool:
    """Return whether nobody can tell what a row says: it may be the JSON of anything."""
    is_call = row.kind == "server call" and not nature.is_readable
    return "opaque" in row.marks or is_call or (row.is_item and row.speaker == "record")


def _is_result(row: Row) -> bool:
    return row.speaker == "tool" or row.kind == "extracted" or "result" in row.kind


def _may_name_document(shown: ShownRow, nature: Nature) -> bool:
    row = shown.row
    if row.kind == "extracted":
        return True
    if row.speaker == "record":
        return False
    if row.kind == "text":
        return nature.holds_documents and not nature.is_plain
    if row.kind in _SAID or row.kind in _WITHOUT_DOCUMENTS:
        return nature.holds_documents
    is_event = row.kind == "result" or row.kind.startswith("signal")
    return not is_event or nature.holds_documents or row.is_item
