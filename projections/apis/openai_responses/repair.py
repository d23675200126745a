"""What a history needs so that OpenAI's Responses API takes it: compaction, order, pairs, references."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import Any, Final, cast

from onrecord.domain.errors import counted
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.openai_chat.draft import family_of
from onrecord.projections.apis.openai_responses.draft import Piece, ResponsesDraft, piece_of
from onrecord.projections.apis.openai_responses.items import (
    CALLS,
    OUTPUTS,
    caller_of,
    id_of,
    link_of,
)
from onrecord.projections.apis.openai_responses.read import NAME
from onrecord.projections.apis.openai_responses.reasoning import as_words
from onrecord.projections.history.history import NoteKind
from onrecord.projections.history.responses import Responses

_WHOLE: Final = "response.compaction"
"""What a response is that was asked for a compaction: all of its items are to be kept."""


# Compaction: the provider's own summary stands for all that came before it (O10).


def begin_at_compaction(draft: ResponsesDraft) -> None:
    """Begin with the last compaction, and with what was returned beside it by `/responses/compact`.

    An answer that spoke before its compaction stays whole: the service takes both. A compaction is
    encrypted for the account it was made for: for another one it is left out, with what was
    returned beside it, and all that it stands for goes.
    """
    _leave_out_foreign(draft)
    places = [place for place, piece in enumerate(draft.pieces) if _is_summary(piece)]
    if not places:
        return
    begin = last = places[-1]
    response = draft.pieces[last].block.response
    while begin and response is not None and draft.pieces[begin - 1].block.response == response:
        begin -= 1
    speaks = any(piece.kind == "message" for piece in draft.pieces[begin:last])
    if not speaks and not _is_whole(draft.pieces[last], draft.history.responses):
        begin = last
    if begin:
        why = f"the compaction stands for the {counted(begin, 'item')} before it"
        draft.note("left out", "O10", draft.pieces[last].block.version, why)
        draft.pieces = draft.pieces[begin:]


def _leave_out_foreign(draft: ResponsesDraft) -> None:
    responses, account = draft.history.responses, draft.options.account
    foreign = {
        piece.block.response: _is_whole(piece, responses)
        for piece in draft.pieces
        if _is_summary(piece)
        and responses.is_of_another(piece.block.response, piece.block.asked, account)
    }
    rest: list[Piece] = []
    for piece in draft.pieces:
        if foreign.get(piece.block.response) or (
            piece.block.response in foreign and _is_summary(piece)
        ):
            why = "the compaction was made for another account"
            draft.note("left out", "O10", piece.block.version, why)
        else:
            rest.append(piece)
    draft.pieces = rest


def _is_whole(piece: Piece, responses: Responses) -> bool:
    """Whether a compaction's response holds nothing but what is to be gone on with."""
    block = piece.block
    closing = responses.of(block.response, block.asked).closing if block.response else None
    return closing is not None and closing.envelope.get("object") == _WHOLE


def _is_summary(piece: Piece) -> bool:
    return piece.kind == "compaction" and bool(piece.value.get("encrypted_content"))


# The order in which DeepSeek's own `/responses` takes an answer's items (O17).
#
# "No tool output found for tool call call-a." is what it says where words stand after a call and
# before its output; recorded, it takes them where they stand before all calls of the answer.

_CALLS_LAST: Final = frozenset({"deepseek"})
"""Families of models whose server wants calls right before their outputs."""


def put_calls_last(draft: ResponsesDraft) -> None:
    """Put what an answer says beside its calls before them, where its reader wants that."""
    reader = draft.options.model or draft.history.responses.last_model(NAME)
    if family_of(reader) not in _CALLS_LAST:
        return
    ordered: list[Piece] = []
    for is_said, group in groupby(draft.pieces, _is_said):
        pieces = list(group)
        ordered += _calls_last(draft, pieces) if is_said else pieces
    draft.pieces = ordered


def _calls_last(draft: ResponsesDraft, pieces: list[Piece]) -> list[Piece]:
    first = next((place for place, piece in enumerate(pieces) if piece.kind in OUTPUTS), None)
    if first is None:
        return pieces
    before, after = pieces[:first], pieces[first:]
    for piece in after:
        if piece.kind not in OUTPUTS:
            why = "words between calls go before them: the service would miss the outputs"
            draft.note("moved", "O17", piece.block.version, why)
    others = [piece for piece in after if piece.kind not in OUTPUTS]
    return [*before, *others, *(piece for piece in after if piece.kind in OUTPUTS)]


def _is_said(piece: Piece) -> bool:
    """Whether an item is of an answer."""
    if piece.kind == "message":
        return piece.value.get("role") == "assistant"
    return piece.kind not in CALLS


# Tools that are loaded when a search finds them, in a request to OpenAI's Responses API (O18).
#
# "Invalid Value: 'tools.defer_loading'. Deferred tools require tools.tool_search."

_DEFERRED: Final = "defer_loading"


def load_what_none_searches(draft: ResponsesDraft, tools: list[JsonObject]) -> list[JsonObject]:
    """Return the tools, none deferred where there is no search among them."""
    if any(tool.get("type") == "tool_search" for tool in tools):
        return tools
    return [_loaded(draft, tool) for tool in tools]


def _loaded(draft: ResponsesDraft, tool: JsonObject) -> JsonObject:
    """Return a tool, or a namespace of tools, without deferral."""
    if tool.get(_DEFERRED):
        why = f"{tool.get('name')} is not deferred: no search for tools goes along"
        draft.note("repaired", "O18", None, why)
        tool = {name: value for name, value in tool.items() if name != _DEFERRED}
    value: Any = tool.get("tools")
    if not isinstance(value, list) or tool.get("type") != "namespace":
        return tool
    members = [
        _loaded(draft, cast("JsonObject", member)) if isinstance(member, dict) else member
        for member in cast("list[Any]", value)
    ]
    return tool if members == value else {**tool, "tools": members}


# Calls and their outputs, in pairs over the whole input (O1, O2, O8).

_PROGRAM: Final = "program"
_SEARCH: Final = "tool_search_call"


def pair_outputs(draft: ResponsesDraft) -> None:
    """Tell calls and outputs in words that lack the other half.

    "No tool output found for function call call_..." and "No tool call found for function call
    output with call_id call_...". A program may be in flight while only outputs of the calls that
    it made follow it.
    """
    alone = _unpaired(draft.pieces)
    if alone:
        draft.pieces = [
            piece_left
            for index, piece in enumerate(draft.pieces)
            if (piece_left := _told(draft, piece) if index in alone else piece) is not None
        ]
    if _PROGRAM in draft.types:
        _forget_callers(draft)


def _unpaired(pieces: list[Piece]) -> set[int]:
    """Return the places of the calls and outputs that lack the other half."""
    waiting: dict[tuple[str, str | None], int] = {}
    alone: set[int] = set()
    for index, piece in enumerate(pieces):
        kind = piece.kind
        if kind in OUTPUTS:
            before = waiting.pop((kind, link_of(piece.value)), None)
            alone |= set[int]() if before is None else {before}
            waiting[kind, link_of(piece.value)] = index
        elif kind in CALLS and waiting.pop((CALLS[kind], link_of(piece.value)), None) is None:
            alone.add(index)
    alone.update(waiting.values())
    return {index for index in alone if not _may_stand_alone(pieces, index)}


def _may_stand_alone(pieces: list[Piece], place: int) -> bool:
    """Whether a call may go without output: a program in flight, a search that the service ran.

    Recorded: such a search was taken without what it found.
    """
    piece = pieces[place]
    if piece.kind == _PROGRAM:
        return _is_in_flight(pieces, place)
    return piece.kind == _SEARCH and piece.value.get("execution") != "client"


def _is_in_flight(pieces: list[Piece], place: int) -> bool:
    """Whether nothing but the calls that a program made, and their outputs, follows it."""
    return all(
        piece.kind in CALLS or caller_of(piece.value) == link_of(pieces[place].value)
        for piece in pieces[place + 1 :]
    )


def _told(draft: ResponsesDraft, piece: Piece) -> Piece | None:
    is_call = piece.kind in OUTPUTS
    why = "a call without output" if is_call else "an output without call"
    draft.break_up(piece.block, f"it holds {why}")
    words = as_words(piece)
    rule = "O1" if is_call else "O2"
    if piece.block.response is not None and piece.block.call is None:
        rule = "O8"
    deed: NoteKind = "translated" if words else "left out"
    draft.note(deed, rule, piece.block.version, f"{why} goes as words" if words else why)
    return words


def _forget_callers(draft: ResponsesDraft) -> None:
    """Take the program out of calls and outputs that it made, where it does not go itself."""
    programs = {link_of(piece.value) for piece in draft.pieces if piece.kind == _PROGRAM}
    for index, piece in enumerate(draft.pieces):
        caller = caller_of(piece.value)
        if caller is not None and caller not in programs:
            draft.note("repaired", "O8", piece.block.version, "the caller of the call is gone")
            value = {key: item for key, item in piece.value.items() if key != "caller"}
            draft.pieces[index] = piece_of(value, piece.block)


# What the service holds only for a time: containers of code, and items that go by reference.

_IDLE: Final = 20 * 60
"""Seconds after its last use that a container is gone (platform.openai.com, "Code Interpreter")."""

_REFERENCE: Final = "item_reference"


def tell_of_expired_containers(draft: ResponsesDraft) -> None:
    """Tell in words what code did whose container is gone (O9).

    "Expected container_id: cntr_...", and so for ever. The time is that of the last event; a
    container's last use is the last response that names it. Where a time is not known it stays.
    """
    used = _last_uses(draft)
    rest: list[Piece] = []
    for piece in draft.pieces:
        container = _container_of(piece.value)
        if container is None or not _is_gone(used.get(container), draft.history.as_of):
            rest.append(piece)
            continue
        draft.break_up(piece.block, "the container of its code has expired")
        why = "its container has expired: what the code did goes as words"
        draft.note("translated", "O9", piece.block.version, why)
        if (words := as_words(piece)) is not None:
            rest.append(words)
    draft.pieces = rest


def resolve_references(draft: ResponsesDraft) -> None:
    """Leave out references to items that stand in the request themselves, and to calls (O11).

    A call that goes by reference does not pair with its output.
    """
    present = {id_of(piece.value) for piece in draft.pieces if piece.kind != _REFERENCE}
    rest: list[Piece] = []
    for piece in draft.pieces:
        item_id = id_of(piece.value)
        if piece.kind != _REFERENCE:
            rest.append(piece)
        elif item_id is not None and (item_id in present or item_id.startswith("fc")):
            why = "the item goes itself, not by reference"
            draft.note("left out", "O11", piece.block.version, why)
        else:
            why = "refers to an item that the provider keeps: it may be gone"
            draft.note("noted", "O11", piece.block.version, why)
            rest.append(piece)
    draft.pieces = rest


def _last_uses(draft: ResponsesDraft) -> Mapping[str, float]:
    """Return when each container was last used, in seconds since 1970, as far as that is known."""
    uses: dict[str, float] = {}
    for piece in draft.pieces:
        container, block = _container_of(piece.value), piece.block
        if container is None or block.response is None:
            continue
        closing = draft.history.responses.of(block.response, block.asked).closing
        envelope = closing.envelope if closing else {}
        moment: Any = envelope.get("completed_at") or envelope.get("created_at")
        if isinstance(moment, int | float):
            uses[container] = max(moment, uses.get(container, 0))
    return uses


def _container_of(value: JsonObject) -> str | None:
    """Return the container that an item's code ran in, if it names one."""
    if value.get("type") != "code_interpreter_call":
        return None
    container: Any = value.get("container_id")
    return container if isinstance(container, str) else None


def _is_gone(used: float | None, as_of: int | None) -> bool:
    return used is not None and as_of is not None and used + _IDLE < as_of / 1_000_000
