"""What a message to Bedrock may hold, and how its neighbours stand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final

from onrecord.domain.jsontext import JsonObject
from onrecord.domain.request_template import Prefix
from onrecord.projections.apis.anthropic.draft import (
    Message,
    Piece,
    ending_with_words,
    joined,
    message_of,
)
from onrecord.projections.apis.anthropic.repair import SignedPrefix
from onrecord.projections.apis.bedrock.draft import BedrockDraft, model_of
from onrecord.projections.apis.bedrock.read import held, kind_of
from onrecord.projections.history.history import Block

_A_BEGINNING: Final = "Go on."
_HAS_RESULTS: Final = "I have the results."
_HAS_SEEN: Final = "I have seen these."
_A_LINE: Final = "A document:"
_APART: Final = frozenset({"document", "video"})
_FILES: Final = _APART | {"image"}
_MOST: Final = {"image": 20, "document": 5}
"""How many blocks of a kind one message holds (docs.aws.amazon.com, "Message")."""


def pair_server_tools(draft: BedrockDraft, messages: list[Message]) -> list[Message]:
    """Return the messages without halves of what the service's own tools did (B15)."""
    whole = _answered(messages)
    paired: set[str] = set()

    def stays(piece: Piece) -> bool:
        call = call_of(piece.value)
        if call is None or (call in whole and call not in paired and not _is_result(piece)):
            paired.update({call} if call is not None else ())
            return True
        if _is_result(piece) and call in paired:
            paired.discard(call)
            whole.discard(call)
            return True
        half = "call" if _is_result(piece) else "result"
        draft.leave_out("B15", piece.block, f"what a tool of the service's did has no {half}")
        return False

    return joined(
        message_of(message.role, filter(stays, message.pieces))
        if message.role == "assistant"
        else message
        for message in messages
    )


def tools_run(messages: Iterable[Message]) -> list[str]:
    """Return the names of the service's own tools whose calls are in messages, each once."""
    values = (value for message in messages for value in message.content)
    calls = (held(value) for value in values if kind_of(value) == "toolUse" and call_of(value))
    return list(dict.fromkeys(str(call.get("name")) for call in calls))


def arranged(draft: BedrockDraft, messages: list[Message]) -> list[Message]:
    """Return the messages as the model takes them, with words of ours where there have to be any."""
    ordered, has_files = messages, not draft.kinds.isdisjoint(_FILES)
    if has_files or draft.model.wants_results_alone:
        ordered = [part for message in ordered for part in _apart(draft, message)]
    if has_files:
        ordered = [_beside_text(draft, message) for message in ordered]
    if not ordered or ordered[0].role == "user" or draft.model.may_answer_first:
        return ordered
    first = ordered[0].blocks[0]
    draft.note(
        "repaired", "B5", first.version, "a word of the user's stands before the first answer"
    )
    return [Message("user", [{"text": _A_BEGINNING}], [first]), *ordered]


def call_of(value: JsonObject) -> str | None:
    """Return the id of the call of an own tool of the service's that a block makes or answers."""
    kind = kind_of(value)
    is_call = kind == "toolUse" and held(value).get("type") == "server_tool_use"
    if not is_call and kind != "toolResult":
        return None
    call = held(value).get("toolUseId")
    return call if isinstance(call, str) else ""


def _is_result(piece: Piece) -> bool:
    return kind_of(piece.value) == "toolResult"


def _answered(messages: Iterable[Message]) -> set[str]:
    """Return the ids of the calls that have their result behind them."""
    waiting: set[str] = set()
    answered: set[str] = set()
    for message in messages:
        for value in message.content if message.role == "assistant" else ():
            call = call_of(value)
            if call is None:
                continue
            if kind_of(value) == "toolUse":
                waiting.add(call)
            elif call in waiting:
                answered.add(call)
    return answered


def _apart(draft: BedrockDraft, message: Message) -> Iterator[Message]:
    """Yield a message, cut around words of the assistant's where it may not be one (B9, B19)."""
    begin = 0
    for at, word in _seams(draft, message) if message.role == "user" else ():
        yield Message("user", message.content[begin:at], message.blocks[begin:at])
        yield Message("assistant", [{"text": word}], [message.blocks[at]])
        begin = at
    yield message if not begin else Message("user", message.content[begin:], message.blocks[begin:])


def _seams(draft: BedrockDraft, message: Message) -> Iterator[tuple[int, str]]:
    """Yield where a message is to be cut, and the word that stands there."""
    after_results = _seam(draft, message)
    counted = Counter[str]()
    for at, kind in enumerate(map(kind_of, message.content)):
        version = message.blocks[at].version
        counted[kind] += 1
        if at == after_results:
            why = "a word of the assistant's stands between results and what the user says"
            draft.note("repaired", "B9", version, why)
            yield at, _HAS_RESULTS
        elif counted[kind] > _MOST.get(kind, counted[kind]):
            why = f"a message holds {_MOST[kind]} of kind {kind} at most: the others follow a word"
            draft.note("repaired", "B19", version, why)
            yield at, _HAS_SEEN
        else:
            continue
        counted = Counter({kind: 1})


def _seam(draft: BedrockDraft, message: Message) -> int | None:
    """Return where a message with results is to be cut; None where it may stay whole.

    What was said at once with a document stays with it.
    """
    kinds = list(map(kind_of, message.content))
    results = next((at for at, kind in enumerate(kinds) if kind != "toolResult"), len(kinds))
    if not results or results == len(kinds):
        return None
    if draft.model.wants_results_alone:
        return results
    if not draft.model.wants_documents_apart:
        return None
    first = next((at for at, kind in enumerate(kinds) if kind in _APART), None)
    if first is None:
        return None
    while first > results and _is_said_with(message.blocks[first - 1], message.blocks[first]):
        first -= 1
    return first


def _beside_text(draft: BedrockDraft, message: Message) -> Message:
    """Return a message in which a text stands with its documents (B6)."""
    kinds = list(map(kind_of, message.content))
    first = kinds.index("document") if message.role == "user" and "document" in kinds else None
    if first is None or "text" in kinds[:first]:
        return message
    block = message.blocks[first]
    after = zip(kinds[first:], message.blocks[first:], strict=True)
    if any(kind == "text" and _is_said_with(other, block) for kind, other in after):
        return message
    draft.note("repaired", "B6", block.version, "a line of text stands before the document")
    pieces = message.pieces
    return message_of("user", [*pieces[:first], Piece({"text": _A_LINE}, block), *pieces[first:]])


def _is_said_with(one: Block, other: Block) -> bool:
    return one.place == other.place and one.mark == other.mark


# How a request to Bedrock ends where the assistant has the last word (B14).

_NEVER: Final = 1 << 62


def mended(draft: BedrockDraft, messages: list[Message]) -> list[Message]:
    """Return the messages, those of the assistant that end a request, or ended one, mended.

    "messages: final assistant content cannot end with trailing whitespace"; nor may its last block
    be reasoning.
    """
    may_be_mixed = draft.history.has_prefills or draft.has_gaps
    if not may_be_mixed and messages[-1].role != "assistant":
        return messages
    rest = list(messages)
    asked_after = _NEVER
    for index in range(len(rest) - 1, -1, -1):
        blocks = rest[index].blocks
        request_count = blocks[0].asked
        if rest[index].role == "assistant":
            if asked_after == _NEVER:
                why = (
                    "the assistant has the last word: newer models refuse that; say something first"
                )
                draft.note("noted", "B14", blocks[-1].version, why)
            rest[index] = _mended(draft, rest[index], asked_after)
        asked_after = request_count
    return rest


def _mended(draft: BedrockDraft, message: Message, asked_after: int) -> Message:
    """Return a message each part of which, if a request ended with it, ends with words."""
    pieces: list[Piece] = []
    for piece in message.pieces:
        if pieces and pieces[-1].block.asked != piece.block.asked:
            pieces = ending_with_words(draft, pieces, "B14", _without_space)
        pieces.append(piece)
    if pieces and asked_after > pieces[-1].block.asked:
        pieces = ending_with_words(draft, pieces, "B14", _without_space)
    return message_of("assistant", pieces)


def _without_space(piece: Piece) -> Piece | None:
    """Return the piece as it may come last; None where it may not."""
    if kind_of(piece.value) == "reasoningContent":
        return None
    text = piece.value.get("text")
    if not isinstance(text, str) or text == text.rstrip():
        return piece
    return Piece({**piece.value, "text": text.rstrip()}, piece.block)


# Reasoning in a request to Bedrock: it goes back only where it was made (B10).
#
# Anthropic's models check it as they do elsewhere (docs.aws.amazon.com, "Thinking block
# binding"): system, tools and all messages before it are what they were, for the same model and
# account. What no model signed (DeepSeek, gpt-oss) is read by none.

REASONING = "reasoningContent"


def refused_reasoning(draft: BedrockDraft, messages: Sequence[Message]) -> set[int]:
    """Return the identities of those values in the messages that would be refused."""
    checked = _Reasoning(draft)
    for message in messages:
        checked.take(message)
    return checked.refused


class _Reasoning(SignedPrefix):
    """Which reasoning would be refused, in the order of the messages."""

    NAME = "reasoning"
    RULES = ("B10", "B10")

    def __init__(self, draft: BedrockDraft) -> None:
        super().__init__(draft, Prefix(_system(draft.system), draft.tools))
        self._draft = draft
        self.refused: set[int] = set()

    def is_anothers(self, models: frozenset[str]) -> bool:
        """Whether both are known, and are not the same but for regions."""
        reader = self._draft.model.name
        return bool(reader and models) and reader not in {model_of(name).name for name in models}

    def take(self, message: Message) -> None:
        """Look at the next message."""
        if message.role != "assistant":
            self.prefix.add(message.role, message.content)
            return
        for _, group in groupby(message.pieces, lambda piece: piece.block.response):
            pieces = list(group)
            if any(map(_is_reasoning, pieces)):
                self._check(pieces)
            self.prefix.add("assistant", list(self._kept(pieces)))

    def _kept(self, pieces: Iterable[Piece]) -> Iterator[JsonObject]:
        return (piece.value for piece in pieces if id(piece.value) not in self.refused)

    def _check(self, pieces: list[Piece]) -> None:
        thoughts = list(filter(_is_reasoning, pieces))
        objection = self.objection(pieces[0].block)
        for piece in thoughts:
            rule, why = objection or ("B10", "no model has signed the reasoning")
            if objection is None and _is_signed(piece.value):
                continue
            self.is_broken = True
            self.refused.add(id(piece.value))
            self._draft.leave_out(rule, piece.block, why)


def _is_reasoning(piece: Piece) -> bool:
    return kind_of(piece.value) == REASONING


def _is_signed(value: JsonObject) -> bool:
    """Whether a model can tell that the reasoning is its own."""
    match held(value):
        case {"reasoningText": {"signature": str(signature)}}:
            return signature != ""
        case {"redactedContent": str(data)}:
            return data != ""
        case _:
            return False


def _system(blocks: list[JsonObject]) -> str | JsonObject | None:
    """Return instructions as they are digested when they are recorded."""
    match blocks:
        case []:
            return None
        case [{"text": str(text), **more}] if not more:
            return text
        case _:
            return {"system": blocks}
