"""A conversation as the model sees it: turns of blocks, and notes on what is not as it was recorded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import (
    TYPE_CHECKING,
    Annotated,
    Literal,
    NamedTuple,
    TypeAlias,
    TypeVar,
    dataclass_transform,
)
from uuid import UUID

from pydantic import ConfigDict, Discriminator, TypeAdapter

from onrecord.domain.content import (
    Document,
    Native,
    Reasoning,
    Role,
    Text,
    ToolCall,
    ToolResult,
)
from onrecord.domain.encoding import read_stored
from onrecord.domain.events import InstructionsSet, ResponseCompleted, ToolsDeclared
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.api import neutral_of

if TYPE_CHECKING:
    from onrecord.projections.history.responses import Place, Responses

# Values of which a fold makes tens of thousands: frozen for whoever checks types, and cheap.

Shape = TypeVar("Shape")


@dataclass_transform(frozen_default=True)
def frozen(shape: type[Shape]) -> type[Shape]:
    """Return the dataclass of a shape, with slots, whose values type checkers let nobody change.

    `dataclass(frozen=True)` refuses that at run time too, and triples what making a value costs.
    """
    return dataclass(slots=True)(shape)


Content: TypeAlias = Native | Text | Document | Reasoning | ToolCall | ToolResult
"""What a block holds: an API's own JSON, or a neutral form."""


@cache
def _contents() -> TypeAdapter[Content]:
    """Return what reads content; it is made when first needed, for that takes longer than all else."""
    return TypeAdapter(
        Annotated[Content, Discriminator("kind")], config=ConfigDict(hide_input_in_errors=True)
    )


Mark = Literal["", "note", "call", "unawaited", "result", "missing", "late", "document"]
"""What a block is in its turn.

Empty: it was said there. `note`: by the operator. `call`: a tool of the caller's is called;
`unawaited`: so, but the provider expects no result. `result`: of a call, in time; `missing`: it
stands in for one that is not there; `late`: of a call whose time is over, or of none that is known.
`document`: it was found in the event that `call_id` or nothing names, and travels on its own.
"""

Missing = Literal["cancel", "refuse", "drop"]
"""What becomes of a call without a result: a cancelled one stands in, nothing goes, or the call is
left out."""


@frozen
class Block:
    """A block of a turn.

    `version` is its event's; a stand-in has the call's. `conversation` is where that stands, None
    where nobody said: the versions of a fork begin anew. `plain` is its content as events are stored
    (docs/format.md); `spilled` says that strings of it may be in blobs. `response` is the id of the
    answer it belongs to, as text. `asked` is how many requests were sent before it (`Responses.of`
    takes both). `call` numbers the calls of a history, from 1: a call and its result have the same
    number, id and name of the tool. `made_by` is the API whose tool made a document: its own JSON
    holds that, in an answer before. `cancelled`: the result says that the call was given up.
    `signal`: neither a user nor a tool said it, but a signal; its documents have the mark so named.
    """

    version: int
    conversation: UUID | None
    plain: JsonObject
    spilled: bool = True
    response: str | None = None
    asked: int = 0
    mark: Mark = ""
    call: int | None = None
    call_id: str | None = None
    name: str | None = None
    is_error: bool = False
    made_by: str | None = None
    cancelled: bool = False
    signal: bool = False

    @property
    def place(self) -> Place:
        """Where its event is."""
        return self.conversation, self.version

    @property
    def content(self) -> Content:
        """What the block holds, made anew each time; `plain` is what costs nothing.

        CorruptRecord where it holds nothing that a block can.
        """
        return read_stored(_contents().validate_python, self.plain)


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens of the answers in a turn: those that the model read, and those that it wrote.

    What it read includes what came from a cache. None: nobody told.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None


@frozen
class Turn:
    """Consecutive blocks of one speaker; a `system` turn is a note of the operator's.

    `stop_reason` is that of its last answer, in the provider's word, and `usage` sums up the tokens
    of all of them. A fold leaves them out: `with_answers` adds them.
    """

    role: Role
    blocks: Sequence[Block]
    stop_reason: str | None = None
    usage: Usage | None = None

    @property
    def text(self) -> str:
        """What was said in words: no reasoning, no call, no result, no document.

        The pieces of one answer, or of one message, are joined as they are, others by a line's end.
        """
        pieces = groupby(self.blocks, key=lambda block: block.response or str(block.version))
        texts = ("".join(map(_text_of, blocks)) for _, blocks in pieces)
        return "\n".join(text for text in texts if text)


def _text_of(block: Block) -> str:
    if block.mark not in ("", "note"):
        return ""
    content = block.content
    plain = neutral_of(content.api, content.value) if isinstance(content, Native) else content
    return plain.text if isinstance(plain, Text) else ""


def with_answers(turn: Turn, responses: Responses) -> Turn:
    """Return a turn with how its last answer ended, and the tokens of its answers."""
    asked = {block.response: block.asked for block in turn.blocks if block.response}
    closings = [responses.of(response, sent).closing for response, sent in asked.items()]
    completed = [each for each in closings if isinstance(each, ResponseCompleted)]
    if not completed:
        return turn
    usage = Usage(
        _sum(each.input_tokens for each in completed),
        _sum(each.output_tokens for each in completed),
    )
    stop_reason = completed[-1].stop_reason if completed[-1] is closings[-1] else None
    return Turn(turn.role, turn.blocks, stop_reason, usage)


def _sum(counts: Iterable[int | None]) -> int | None:
    """Return the sum of what was counted; None where nothing was."""
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


NoteKind = Literal["repaired", "left out", "moved", "translated", "noted"]
"""What was done to an event's content on its way into a request; `noted`: nothing, but beware."""


class Note(NamedTuple):
    """One deed: by which rule, to the event at which version (None: to the whole), and why.

    `rule` is the number of a provider's rule (`R10`), or a word, such as `late` or `redacted`:
    docs/rendering.md lists them all.
    """

    deed: NoteKind
    rule: str
    version: int | None
    why: str

    def __str__(self) -> str:
        """Return the note as one line."""
        place = "" if self.version is None else f"version {self.version}: "
        return f"{place}{self.deed}, {self.why} [{self.rule}]"


@dataclass(frozen=True, slots=True)
class History:
    """What a request is made of.

    `has_prefills` says that a request may have ended with the assistant's turn. `left_out` counts the
    events up to the last one that were not given: the window's doing. `as_of` is when the last event
    was recorded (microseconds; None: not known). `torn` is where events were left out of what else
    goes: parts of a response, it may be. `has_made` says that providers' tools made documents that
    stand in it. `awaited` are the ids of the calls that have no result yet, of the round that is open.
    """

    turns: tuple[Turn, ...]
    responses: Responses
    instructions: InstructionsSet | None = None
    tools: ToolsDeclared | None = None
    notes: tuple[Note, ...] = ()
    has_prefills: bool = True
    left_out: int = 0
    as_of: int | None = None
    torn: frozenset[Place] = frozenset()
    has_made: bool = False
    awaited: tuple[str, ...] = ()


# Whether there is something to ask the model next: the input of its next turn.

NextInput: TypeAlias = Literal["deferred", "nothing", "ready"]
"""What a runtime does next: it waits for results of calls, it waits for somebody to say something,
or it asks the model."""


def next_input(*, awaited: int, unanswered: bool) -> NextInput:
    """Return what comes next, with so many calls that await a result and what is not answered yet.

    A round that is open holds back all that is said meanwhile. What a request asked whose answer
    broke off, or never came, is not answered.
    """
    if awaited:
        return "deferred"
    return "ready" if unanswered else "nothing"
