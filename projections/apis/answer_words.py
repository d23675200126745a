"""What answers of other APIs hold, for a message of the assistant's: texts, and arguments of calls.

The same for every API whose assistant's messages are texts and calls.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Protocol, assert_never, cast

from onrecord.domain.content import Document, Native, Reasoning, Text, ToolCall, ToolResult
from onrecord.domain.conversation import CANCELLED
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.documents import words_for
from onrecord.projections.apis.foreign import arguments_of, goes_on, told_of
from onrecord.projections.history.history import Block
from onrecord.projections.history.report import Deed, Note


class Draft(Protocol):
    """What is needed of a request while it is made."""

    @property
    def notes(self) -> list[Note]:
        """The notes on what was done."""
        ...

    def note(self, deed: Deed, rule: str, version: int | None, why: str) -> None:
        """Add a note to the report."""
        ...

    def leave_out(self, rule: str, block: Block, why: str) -> None:
        """Add a note that a block, or a part of it, does not go."""
        ...

    def foreign(self, block: Block) -> Native | None:
        """Return a native block, whole; None for one in neutral form."""
        ...


def texts_of(draft: Draft, block: Block, blank: str) -> list[str]:
    """Return what a block that is not of the request's API says; `blank` is the rule on blank text."""
    if (native := draft.foreign(block)) is not None:
        told, note = told_of(native, block)
        draft.notes.append(note)
        texts = [part.text if isinstance(part, Text) else words_for(part) for part in told]
    else:
        texts = _neutral_texts(draft, block)
    kept = [text for text in texts if text.strip()]
    if len(kept) < len(texts):
        draft.leave_out(blank, block, "blank text")
    return kept


def paragraphs(texts: Iterable[tuple[Block, str]]) -> str:
    """Return texts as one, each a paragraph, but for the pieces of one that was cut in several."""
    said = ""
    before: Block | None = None
    for block, text in texts:
        said += ("" if not said or goes_on(before, block) else "\n\n") + text
        before = block
    return said


def arguments_told(draft: Draft, block: Block, rule: str) -> JsonObject:
    """Return the arguments of a call that is not of the request's API, as the object they must be."""
    if (native := draft.foreign(block)) is not None:
        arguments, note = arguments_of(native, block)
        draft.notes.append(note)
    else:
        arguments = block.plain.get("arguments", {})
    return as_object(draft, block, arguments, rule)


def as_object(draft: Draft, block: Block, arguments: Any, rule: str) -> JsonObject:
    """Return the arguments of a call as an object; `rule` is the one that wants it."""
    if isinstance(arguments, dict):
        return cast("JsonObject", arguments)
    draft.note("translated", rule, block.version, "the arguments of a call are an object")
    return {"arguments": arguments}


def _neutral_texts(draft: Draft, block: Block) -> list[str]:
    content = block.content
    match content:
        case Text():
            return [content.text]
        case Document():
            draft.leave_out("document", block, "an assistant's message holds no document")
            return [words_for(content)]
        case Native() | Reasoning() | ToolCall() | ToolResult():
            draft.leave_out("foreign", block, f"a {content.kind} that no answer of this API made")
            return []
        case _:
            assert_never(content)


# What is said of a tool's result beside its content, or in place of it.

NO_RESULT: Final = "Tool execution succeeded, but returned no result."
"""What stands in for a result without content."""

FAILED: Final = "Tool execution failed, but returned no result."
"""What stands in for an error without content."""

FAILURE: Final = "The tool failed:"
"""What a failed result begins with where an API has no mark for it."""


def words_for_nothing(*, is_error: bool) -> str:
    """Return what stands in for the content of a result that has none."""
    return FAILED if is_error else NO_RESULT


def failed(said: str) -> str:
    """Return what a failed result says where an API has no mark for it: words tell of it.

    A call that was given up says so itself.
    """
    return said if said == CANCELLED else f"{FAILURE}\n{said}"


def headline(block: Block) -> str:
    """Return what stands before a result that goes as text, because it came late or alone."""
    call = f"tool call {block.call_id}" if block.call_id else "a tool call"
    tool = f" ({block.name})" if block.name else ""
    failed = ", an error" if block.is_error else ""
    return f"The result of {call}{tool} came late{failed}:"
