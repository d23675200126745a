"""What the user, the operator and results without calls say, as parts of messages.

The same for every API whose messages hold parts; each has a class of its own for what parts look
like there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, ClassVar, Final, Generic, TypeVar
from uuid import UUID

from onrecord.domain.content import Document, Native, Role, Text
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.answers import (
    AnswerT,
    answers_in,
    headline,
    joined,
    worded_range,
    words_for_nothing,
)
from onrecord.projections.apis.documents import Behind, texts_before, words_for
from onrecord.projections.apis.draft import Draft
from onrecord.projections.apis.foreign import Part, told_of
from onrecord.projections.apis.request import Where
from onrecord.projections.history.history import Block, Content, Turn

DraftT = TypeVar("DraftT", bound=Draft)


RESULTS: Final = frozenset({"result", "missing"})
"""Marks of blocks that are the result of a call of the round, or stand in for one."""


def results_in(turn: Turn | None) -> dict[int | None, Block]:
    """Return the results that a user's turn begins with, by call; none if it is no user's turn."""
    if turn is None or turn.role != "user":
        return {}
    return {block.call: block for block in turn.blocks if block.mark in RESULTS}


def messages_of(
    turns: Sequence[Turn],
    user: UserMessages[Any],
    *,
    plain: Callable[[Turn], JsonObject | None],
    answered: Callable[[Turn, Mapping[int | None, Block]], Iterable[JsonObject]],
    went: Callable[[Block], bool],
) -> Iterator[JsonObject]:
    """Yield the messages of all turns.

    `plain` returns the message of a turn that needs no repair, `answered` those of an assistant's
    turn and of the results of its calls; `went` tells whether a result went so.
    """
    for turn, after in zip(turns, [*turns[1:], None], strict=False):
        if (message := plain(turn)) is not None:
            yield message
        elif turn.role == "assistant":
            yield from answered(turn, results_in(after))
        else:
            rest = [block for block in turn.blocks if block.mark not in RESULTS or not went(block)]
            yield from user.messages(turn.role, rest)


def answered_messages(
    draft: DraftT,
    user: UserMessages[Any],
    begin: Callable[[Block], AnswerT],
    message_of: Callable[[DraftT, AnswerT, Mapping[int | None, Block]], JsonObject | None],
    turn: Turn,
    results: Mapping[int | None, Block],
) -> Iterator[JsonObject]:
    """Yield the messages of an assistant's turn, behind each the results of its calls."""
    for answer in answers_in(draft, turn.blocks, begin):
        message = message_of(draft, answer, results)
        if message is not None:
            yield message
        yield from user.results(results[it.call] for it in answer.calls if it.call in results)


def has_text_behind(are_files: Sequence[bool]) -> bool:
    """Whether a text stands behind a file: where each has a place of its own, that is lost."""
    return True in are_files and not all(are_files[are_files.index(True) :])


def event_of(block: Block) -> tuple[int, str, UUID | None]:
    """Return what blocks of one message have in common: their event."""
    return block.version, "" if block.signal else block.mark, block.conversation


class UserParts(ABC, Generic[DraftT]):
    """Makes parts of messages of what is not the assistant's, for one request, in order."""

    ASSISTANT: ClassVar[str] = "assistant"
    """What the API calls the model that answers."""
    TAKES_BLANKS: ClassVar[bool] = False
    """Whether `message` is given blank texts, which may part others, and leaves them out itself."""

    def __init__(self, draft: DraftT) -> None:
        """Make messages for a draft."""
        self.draft = draft

    @abstractmethod
    def text(self, text: str) -> JsonObject:
        """Return a text as a part."""

    @abstractmethod
    def document(self, block: Block, document: Document, role: Role = "user") -> JsonObject:
        """Return a document of a message; words where that cannot hold it."""

    def own_parts(self, block: Block, role: Role) -> list[JsonObject] | None:
        """Return the parts of a block of this API; None for a block of any other."""
        return None

    def parts(self, block: Block, role: Role, before: Block | None) -> list[JsonObject]:
        """Return the parts that stand for a block; `before` is the one before it."""
        match block.mark:
            case "late":
                return self.late(block)
            case "document":
                return self.extracted(block, before)
            case "result" | "missing":
                return self.stray(block)
            case "note":
                return self.note(block, role)
            case _:
                return self.said(block, role)

    def note(self, block: Block, role: Role) -> list[JsonObject]:
        """Return the parts of a note of the operator's."""
        return self.said(block, role)

    def said(self, block: Block, role: Role) -> list[JsonObject]:
        """Return the parts of what somebody said, whichever API it is of."""
        if (parts := self.own_parts(block, role)) is not None:
            return parts
        if (native := self.draft.native(block)) is not None:
            return self.foreign(block, native, role)
        content = block.content
        if isinstance(content, Text | Document):
            return self.encoded(block, (content,), role)
        return self.unsent(block, content)

    def unsent(self, block: Block, content: Content) -> list[JsonObject]:
        """Leave out what is neither a text nor a document."""
        self.draft.leave_out("foreign", block, f"a {content.kind} is the {self.ASSISTANT}'s alone")
        return []

    def foreign(self, block: Block, native: Native, role: Role) -> list[JsonObject]:
        """Return the parts of what another API's JSON says."""
        parts, note = told_of(native, block)
        self.draft.notes.append(note)
        return self.encoded(block, parts, role)

    def encoded(self, block: Block, parts: Iterable[Part], role: Role = "user") -> list[JsonObject]:
        """Return texts and documents as the API has them."""
        encoded: list[JsonObject] = []
        for part in parts:
            if isinstance(part, Document):
                encoded.append(self.document(block, part, role))
            elif part.text.strip() or (self.TAKES_BLANKS and part.text):
                encoded.append(self.text(part.text))
            else:
                self.draft.leave_out_blank(block)
        return encoded

    def words(self, block: Block, document: Document) -> JsonObject:
        """Return the words in place of a document that was last decided on, with a note on why."""
        return self.text(self.draft.words(block, document))

    def late(self, block: Block) -> list[JsonObject]:
        """Return a result that came too late, as the user's words."""
        return self.result_in_words(block) if self.draft.goes_late(block) else []

    def stray(self, block: Block) -> list[JsonObject]:
        """Return a result whose call does not go, as the user's words."""
        why = "a result of no call goes as text"
        self.draft.note("moved", self.draft.RULES.stray, block.version, why)
        return self.result_in_words(block)

    def result_in_words(self, block: Block) -> list[JsonObject]:
        """Return a result as the user tells it."""
        content = self.draft.result_parts(block)
        if any(isinstance(part, Document) or part.text.strip() for part in content):
            return [self.text(headline(block)), *self.encoded(block, content)]
        if content:
            self.draft.leave_out_blank(block)
        nothing = words_for_nothing(is_error=block.is_error)
        return [self.text(headline(block)), self.text(nothing)]

    def extracted(self, block: Block, before: Block | None) -> list[JsonObject]:
        """Return a document that travels on its own, behind its tag."""
        document = block.content
        if not isinstance(document, Document):
            return []
        named = self.draft.as_sent(block)
        texts = texts_before(named, document, self.draft.options.tags, before)
        return [*map(self.text, texts), self.document(block, document)]


class UserMessages(UserParts[DraftT]):
    """Makes the messages of one request that are not the assistant's, in order."""

    @abstractmethod
    def encode(self, document: Document) -> JsonObject | None:
        """Return a document as a part; None where the API has none for it."""

    @abstractmethod
    def message(
        self, role: Role, parts: list[JsonObject], blocks: Sequence[Block]
    ) -> JsonObject | None:
        """Return the message that these parts make, None if they say nothing.

        `blocks` are what they stand for.
        """

    @abstractmethod
    def results(self, results: Iterable[Block]) -> Iterable[JsonObject]:
        """Return the messages that answer the calls of one message, in their order."""

    def whole_message(self, block: Block) -> JsonObject | None:
        """Return a block that is a message of its own; None for any other."""
        return None

    def messages(self, role: Role, blocks: Iterable[Block]) -> Iterator[JsonObject]:
        """Yield a message for each event that said something: neighbours of one role stay apart.

        So a later request begins with the bytes of the earlier one, whatever was said after it.
        """
        for _, group in groupby(blocks, event_of):
            event = list(group)
            parts: list[JsonObject] = []
            for before, block in zip([None, *event], event, strict=False):
                message = self.whole_message(block)
                if message is not None:
                    yield message
                else:
                    parts += self.parts(block, role, before)
            made = self.message(role, parts, event) if parts else None
            if made is not None:
                yield made

    def joined(self, texts: Sequence[str], block: Block) -> str:
        """Return the texts of a message of this block as one, without blank ones at its ends."""
        kept = worded_range(texts)
        if len(kept) < len(texts):
            self.draft.leave_out_blank(block)
        return joined(texts[kept.start : kept.stop])

    def document(self, block: Block, document: Document, role: Role = "user") -> JsonObject:
        """Return a document of a message; words where that cannot hold it."""
        if role != "user":
            self.draft.leave_out("document", block, "a note of the operator's holds no document")
            return self.text(words_for(document))
        encoded = self.draft.router.in_message(block, document, self.encode)
        return self.words(block, document) if encoded is None else encoded

    # Results of calls: what a result holds, and what follows it.

    def behind(self) -> Behind[JsonObject]:
        """Return what collects the documents that follow the results of a round."""
        return Behind(self.draft.options.tags, self.text, self.draft.as_sent)

    def result_parts(
        self, block: Block, parts: Iterable[Part], behind: Behind[JsonObject]
    ) -> list[JsonObject]:
        """Return what a result holds, without blank texts; what it cannot hold is put behind it."""
        encoded: list[JsonObject] = []
        for part in parts:
            if isinstance(part, Document):
                encoded.append(self.document_of_result(block, part, behind))
            elif part.text.strip():
                encoded.append(self.text(part.text))
            else:
                self.draft.leave_out_blank(block, "blank text in a result")
        return encoded

    def document_of_result(
        self, block: Block, document: Document, behind: Behind[JsonObject]
    ) -> JsonObject:
        """Return what stands in a result for a document: itself, its tag, or words."""
        where, encoded = self.placed(block, document)
        if encoded is None:
            return self.words(block, document)
        if where == "inline":
            return encoded
        why = "a document of a result follows it"
        self.draft.note("moved", self.draft.RULES.behind, block.version, why)
        return self.text(behind.add(block, document, encoded))

    def placed(self, block: Block, document: Document) -> tuple[Where, JsonObject | None]:
        """Return where a document of a result goes, and the part that it is there."""
        return self.draft.router.in_result(block, document, self.encode)
