"""Answers as messages of the assistant's, for every API whose messages are texts and calls.

And how the texts of a message become one, and what is said of a tool's result beside its content,
or in place of it, whatever the API.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar, assert_never

from onrecord.domain.content import Document, Native, Reasoning, Text, ToolCall, ToolResult
from onrecord.domain.conversation import CANCELLED
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.documents import words_for
from onrecord.projections.apis.draft import Draft
from onrecord.projections.apis.foreign import goes_on, told_of
from onrecord.projections.history.history import Block

DraftT = TypeVar("DraftT", bound=Draft)


def is_call(block: Block) -> bool:
    """Whether a block is a call of one of the caller's tools."""
    return block.mark in ("call", "unawaited")


@dataclass(slots=True)
class Answer(ABC, Generic[DraftT]):
    """The blocks of one message of the assistant's; `first` tells whose they are.

    `texts` are what blocks of other APIs say.
    """

    first: Block
    texts: list[tuple[Block, str]] = field(default_factory=list[tuple[Block, str]])
    calls: list[Block] = field(default_factory=list[Block])

    def is_of(self, block: Block) -> bool:
        """Whether a block may be of the same message: of the same answer, or said along with it.

        What was said by itself is a message each, but for calls, which go with what precedes them.
        """
        if block.response is not None or self.first.response is not None:
            return block.response == self.first.response
        if block.asked != self.first.asked:
            return False
        return is_call(block) or (block.place == self.first.place and not self.calls)

    @abstractmethod
    def is_over(self, value: JsonObject) -> bool:
        """Whether a block of this API begins another message of the same answer."""

    @abstractmethod
    def add(self, draft: DraftT, block: Block, value: JsonObject) -> bool:
        """Add a block of this API, and return whether it is one that is known."""


AnswerT = TypeVar("AnswerT", bound="Answer[Any]")


def answers_in(
    draft: Draft, blocks: Iterable[Block], begin: Callable[[Block], AnswerT]
) -> Iterator[AnswerT]:
    """Yield the answers that the blocks of an assistant's turn make, in order."""
    answer: AnswerT | None = None
    for block in blocks:
        value = None if is_call(block) else draft.own(block)
        if answer is not None and (
            not answer.is_of(block) or (value is not None and answer.is_over(value))
        ):
            yield answer
            answer = None
        answer = answer or begin(block)
        if is_call(block):
            answer.calls.append(block)
        elif value is None or not answer.add(draft, block, value):
            answer.texts += [(block, text) for text in texts_of(draft, block)]
    if answer is not None:
        yield answer


def texts_of(draft: Draft, block: Block) -> list[str]:
    """Return what a block that is not of the request's API says, blank texts too."""
    if (native := draft.native(block)) is None:
        return _texts_in(draft, block)
    parts, note = told_of(native, block)
    draft.notes.append(note)
    return [part.text if isinstance(part, Text) else words_for(part) for part in parts]


def text_of(draft: Draft, texts: Sequence[tuple[Block, str]]) -> str:
    """Return the texts of an answer as one, without blank ones but for those between others.

    The pieces of a text that was cut are put together.
    """
    kept = worded_range(text for _, text in texts)
    words = ""
    before: Block | None = None
    for place, (block, text) in enumerate(texts):
        if place not in kept:
            draft.leave_out_blank(block)
            continue
        words += text if goes_on(before, block) else f"{joint(words, text)}{text}"
        before = block
    return words


def _texts_in(draft: Draft, block: Block) -> list[str]:
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


# The texts of a message that holds one text only.


def joint(before: str, after: str) -> str:
    """Return what stands between two texts of a message that holds one text only.

    Nothing, where white space parts them already; else an empty line. The end of a line alone does
    not part them: the text of a file ends so, and what follows is no part of the file.
    """
    if not before or after[:1].isspace() or before.endswith("\n\n"):
        return ""
    if before.endswith("\n"):
        return "\n"
    return "" if before[-1].isspace() else "\n\n"


def joined(texts: Iterable[str]) -> str:
    """Return the texts of a message as one."""
    words = ""
    for text in texts:
        words += f"{joint(words, text)}{text}"
    return words


def worded_range(texts: Iterable[str]) -> range:
    """Return the range of the texts from the first to the last that is not blank."""
    places = [place for place, text in enumerate(texts) if text.strip()]
    return range(places[0], places[-1] + 1) if places else range(0)


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


def failed(text: str) -> str:
    """Return what a failed result says where an API has no mark for it: words tell of it.

    A call that was given up says so itself.
    """
    return text if text == CANCELLED else f"{FAILURE}\n{text}"


def headline(block: Block) -> str:
    """Return what stands before a result that goes as text: it came late, or its call is unknown."""
    call = f"tool call {block.call_id}" if block.call_id else "a tool call"
    tool = f" ({block.name})" if block.name else ""
    late = " came late" if block.call is not None else ""
    failed = ", an error" if block.is_error else ""
    return f"The result of {call}{tool}{late}{failed}:"
