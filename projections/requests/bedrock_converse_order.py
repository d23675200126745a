"""What a message to Bedrock may hold, and how its neighbours stand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from onrecord.domain.jsontext import JsonObject
from onrecord.projections.history import Block
from onrecord.projections.neutral_bedrock import held, kind_of
from onrecord.projections.requests.anthropic_draft import Message, Piece, joined, message_of
from onrecord.projections.requests.bedrock_converse_draft import Draft

_A_BEGINNING: Final[JsonObject] = {"text": "Go on."}
_HAS_RESULTS: Final[JsonObject] = {"text": "I have the results."}
_HAS_SEEN: Final[JsonObject] = {"text": "I have seen these."}
_A_LINE: Final[JsonObject] = {"text": "A document:"}
_APART: Final = frozenset({"document", "video"})
_FILES: Final = _APART | {"image"}
_MOST: Final = {"image": 20, "document": 5}
"""How many blocks of a kind one message holds (docs.aws.amazon.com, "Message")."""


def pair_server_tools(draft: Draft, messages: list[Message]) -> list[Message]:
    """Return the messages without halves of what the service's own tools did (B15)."""
    whole = _answered(messages)
    kept: set[str] = set()

    def stays(piece: Piece) -> bool:
        call = call_of(piece.value)
        if call is None or (call in whole and call not in kept and not _is_result(piece)):
            kept.update({call} if call is not None else ())
            return True
        if _is_result(piece) and call in kept:
            kept.discard(call)
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


def arranged(draft: Draft, messages: list[Message]) -> list[Message]:
    """Return the messages as the model takes them, with words of ours where there have to be any."""
    told, has_files = messages, not draft.kinds.isdisjoint(_FILES)
    if has_files or draft.model.wants_results_alone:
        told = [part for message in told for part in _apart(draft, message)]
    if has_files:
        told = [_beside_text(draft, message) for message in told]
    if not told or told[0].role == "user" or draft.model.may_answer_first:
        return told
    first = told[0].blocks[0]
    draft.note(
        "repaired", "B5", first.version, "a word of the user's stands before the first answer"
    )
    return [Message("user", [_A_BEGINNING], [first]), *told]


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


def _apart(draft: Draft, message: Message) -> Iterator[Message]:
    """Yield a message, cut around words of the assistant's where it may not be one (B9, B19)."""
    begin = 0
    for at, word in _seams(draft, message) if message.role == "user" else ():
        yield Message("user", message.content[begin:at], message.blocks[begin:at])
        yield Message("assistant", [word], [message.blocks[at]])
        begin = at
    yield message if not begin else Message("user", message.content[begin:], message.blocks[begin:])


def _seams(draft: Draft, message: Message) -> Iterator[tuple[int, JsonObject]]:
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


def _seam(draft: Draft, message: Message) -> int | None:
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


def _beside_text(draft: Draft, message: Message) -> Message:
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
    return message_of("user", [*pieces[:first], Piece(_A_LINE, block), *pieces[first:]])


def _is_said_with(one: Block, other: Block) -> bool:
    return one.place == other.place and one.mark == other.mark
