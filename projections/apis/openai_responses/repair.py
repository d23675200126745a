"""Compaction: the provider's own summary stands for all that came before it (O10)."""

from __future__ import annotations

from itertools import groupby
from typing import Any, Final, cast

from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.openai_chat.draft import family_of
from onrecord.projections.apis.openai_responses.draft import Piece, ResponsesDraft
from onrecord.projections.apis.openai_responses.items import CALLS, OUTPUTS
from onrecord.projections.apis.openai_responses.read import NAME
from onrecord.projections.apis.request import Options
from onrecord.projections.history.history import History
from onrecord.projections.history.responses import Responses

_WHOLE: Final = "response.compaction"
"""What a response is that was asked for a compaction: all of its items are to be kept."""


def begin_at_compaction(draft: ResponsesDraft, responses: Responses, options: Options) -> None:
    """Begin with the last compaction, and with what was returned beside it by `/responses/compact`.

    It is encrypted for the account it was made for: for another one it is left out, with what was
    returned beside it, and all that it stands for goes.
    """
    _leave_out_foreign(draft, responses, options)
    places = [place for place, piece in enumerate(draft.pieces) if _is_summary(piece)]
    if not places:
        return
    begin = last = places[-1]
    response = draft.pieces[last].block.response
    while begin and response is not None and draft.pieces[begin - 1].block.response == response:
        begin -= 1
    if not _is_whole(draft.pieces[last], responses):
        begin = last
    if begin:
        why = f"the compaction stands for the {begin} items before it"
        draft.note("left out", "O10", draft.pieces[last].block.version, why)
        draft.pieces = draft.pieces[begin:]


def _leave_out_foreign(draft: ResponsesDraft, responses: Responses, options: Options) -> None:
    if options.account is None:
        return
    foreign = {
        piece.block.response: _is_whole(piece, responses)
        for piece in draft.pieces
        if _is_summary(piece) and _account_of(piece, responses) not in (None, options.account)
    }
    kept: list[Piece] = []
    for piece in draft.pieces:
        if foreign.get(piece.block.response) or (
            piece.block.response in foreign and _is_summary(piece)
        ):
            why = "the compaction was made for another account"
            draft.note("left out", "O10", piece.block.version, why)
        else:
            kept.append(piece)
    draft.pieces = kept


def _account_of(piece: Piece, responses: Responses) -> str | None:
    block = piece.block
    sent = responses.of(block.response, block.asked).sent if block.response else None
    return sent.account if sent else None


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


def put_calls_last(draft: ResponsesDraft, history: History, options: Options) -> None:
    """Put what an answer says beside its calls before them, where its reader wants that."""
    if family_of(options.model or history.responses.last_model(NAME)) not in _CALLS_LAST:
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
    said = [piece for piece in after if piece.kind not in OUTPUTS]
    return [*before, *said, *(piece for piece in after if piece.kind in OUTPUTS)]


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
        tool = {name: held for name, held in tool.items() if name != _DEFERRED}
    held: Any = tool.get("tools")
    if not isinstance(held, list) or tool.get("type") != "namespace":
        return tool
    members = [
        _loaded(draft, cast("JsonObject", member)) if isinstance(member, dict) else member
        for member in cast("list[Any]", held)
    ]
    return tool if members == held else {**tool, "tools": members}
