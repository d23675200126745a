"""A conversation as the model sees it: turns of blocks, whatever API will carry them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias
from uuid import UUID

from hansard.domain.content import (
    Document,
    Native,
    Reasoning,
    Role,
    Text,
    ToolCall,
    ToolResult,
)
from hansard.domain.events import InstructionsSet, ToolsDefined
from hansard.projections.report import Note
from hansard.projections.responses import Responses

Content: TypeAlias = Native | Text | Document | Reasoning | ToolCall | ToolResult
"""What a block holds: an API's own JSON, or a neutral form."""

Mark = Literal["", "note", "call", "unawaited", "result", "missing", "late", "document"]
"""What a block is in its turn.

Empty: it was said there. `note`: by the operator. `call`: a tool of the caller's is called;
`unawaited`: so, but the provider expects no result. `result`: of a call, in time; `missing`: it
stands in for one that is not there; `late`: of a call whose time is over, or of none that is known.
`document`: it was found in the event that `call_id` or nothing names, and travels on its own.
"""


class Block(NamedTuple):
    """A block of a turn.

    `version` is its event's; a stand-in has the call's. `spilled` says that strings of it may be
    in blobs. `asked` is how many requests were sent before it (`Responses.of` takes it). `call` is
    the version of the call, on the call and on its result; both bear its id and its tool's name.
    """

    version: int
    content: Content
    spilled: bool = True
    response: UUID | None = None
    asked: int = 0
    mark: Mark = ""
    call: int | None = None
    call_id: str | None = None
    name: str | None = None
    is_error: bool = False


class Turn(NamedTuple):
    """Consecutive blocks of one speaker; a `system` turn is a note of the operator's."""

    role: Role
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class History:
    """What a request is made of.

    `left_out` counts the events up to the last one that were not given: the window's doing.
    `as_of` is when the last event was recorded (microseconds; None: not known).
    """

    turns: tuple[Turn, ...]
    responses: Responses
    instructions: InstructionsSet | None = None
    tools: ToolsDefined | None = None
    notes: tuple[Note, ...] = ()
    left_out: int = 0
    as_of: int | None = None
