"""Requests to Gemini's API: generateContent and its stream, at Google's own service and at Vertex.

The rules G1 to G18 are listed in docs/rendering.md. Each event of the user's is a content of its
own, all results of a round are one, so that a later request begins with the earlier one's contents.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from onrecord.domain.jsontext import JsonObject
from onrecord.projections import neutral_gemini
from onrecord.projections.apis import Api, Reader
from onrecord.projections.history import Block, History, Turn
from onrecord.projections.neutral_gemini_parts import object_in, replay
from onrecord.projections.report import report_of
from onrecord.projections.requests.gemini_answers import parts_spoken
from onrecord.projections.requests.gemini_arguments import arguments_of
from onrecord.projections.requests.gemini_continuation import Continuation, continuation_of
from onrecord.projections.requests.gemini_draft import Draft, draft_of
from onrecord.projections.requests.gemini_instructions import spell_instructions, spell_tools
from onrecord.projections.requests.gemini_results import is_result, results_in, spell_results
from onrecord.projections.requests.gemini_said import contents_said
from onrecord.projections.requests.request import Options, Request, nothing_to_send, outside

_A_WORD: Final = "Go on."


def render(history: History, options: Options, blobs: Mapping[str, bytes]) -> Request:
    """Return the arguments `contents` and `config`; the body has what the config holds beside them.

    `blobs` holds the bytes of `needed_blobs`, by digest. Raises NothingToSend for a history without
    turns, CorruptRecord where a blob is missing.
    """
    draft = draft_of(history, options, blobs)
    continuation = continuation_of(draft)
    body: dict[str, Any] = {
        "systemInstruction": spell_instructions(draft),
        "tools": spell_tools(draft),
        "contents": _contents(draft, continuation),
        "continuationToken": continuation.token if continuation else None,
    }
    if not body["contents"]:
        raise nothing_to_send(options)
    given = {name: held for name, held in body.items() if held is not None}
    arguments, unknown = arguments_of(given)
    if unknown:
        names = ", ".join(dict.fromkeys(unknown))
        why = f"{names}: google-genai does not know them, so they stand in the body only"
        draft.note("noted", "G17", None, why)
    _beware(draft, given["contents"])
    report = report_of([*history.notes, *draft.notes], draft.router.routes)
    return Request(arguments, options, report, body=given)


def _contents(draft: Draft, continuation: Continuation | None) -> list[JsonObject]:
    contents: list[JsonObject] = []
    for content in _told(draft, continuation):
        if content["role"] == "model" and contents and contents[-1]["role"] == "model":
            joined = [*contents.pop()["parts"], *content["parts"]]
            contents.append({"role": "model", "parts": joined})
        else:
            contents.append(content)
    if contents and contents[0]["role"] == "model":
        why = "a word of the user's stands before what the history begins with"
        draft.note("repaired", "G3", None, why)
        contents.insert(0, {"role": "user", "parts": [{"text": _A_WORD}]})
    return contents


def _told(draft: Draft, continuation: Continuation | None) -> Iterator[JsonObject]:
    turns = draft.history.turns
    for place, turn in enumerate(turns):
        if continuation is None and (plain := _plain(turn)) is not None:
            yield plain
        elif turn.role == "assistant":
            after = turns[place + 1] if place + 1 < len(turns) else None
            yield from _answered(draft, turn, results_in(after), continuation)
        else:
            yield from contents_said(draft, turn.role, _unanswered(draft, turn))


def _plain(turn: Turn) -> JsonObject | None:
    """Return the content of a turn that is one text and needs no repair, as most are."""
    block = turn.blocks[0]
    if block.mark or len(turn.blocks) != 1 or turn.role == "system":
        return None
    plain = block.plain
    if plain["kind"] == "text" and plain["text"].strip():
        role = "user" if turn.role == "user" else "model"
        return {"role": role, "parts": [{"text": plain["text"]}]}
    if plain["kind"] != "native" or plain["api"] != neutral_gemini.API or block.spilled:
        return None
    value: JsonObject = plain["value"]
    is_text = value.keys() == {"text"} and isinstance(value["text"], str) and value["text"]
    return {"role": "model", "parts": [value]} if is_text and turn.role == "assistant" else None


def _answered(
    draft: Draft,
    turn: Turn,
    results: Mapping[int | None, Block],
    continuation: Continuation | None,
) -> Iterator[JsonObject]:
    """Yield the content of a model's turn, then the results of its calls."""
    held = continuation.responses if continuation else frozenset[str]()
    for block in turn.blocks:
        if block.response in held:
            draft.leave_out("G12", block, "the service goes on with it by the token of its answer")
    blocks = [block for block in turn.blocks if block.response not in held]
    parts = parts_spoken(draft, blocks, results)
    if parts:
        yield {"role": "model", "parts": parts}
    told = [results[block.call] for block in blocks if block.call in draft.calls]
    yield from spell_results(draft, told)


def _unanswered(draft: Draft, turn: Turn) -> list[Block]:
    """Return the blocks of a user's turn that are no results of calls that went."""
    return [block for block in turn.blocks if not is_result(block) or block.call not in draft.calls]


def _beware(draft: Draft, contents: list[JsonObject]) -> None:
    """Add the notes on the whole request."""
    draft.notes.extend(outside(draft.history, draft.options))
    if contents[-1]["role"] == "model":
        draft.note("noted", "G18", None, "some models want the user to speak last")
    if any(object_in(part, "toolCall") for content in contents for part in content["parts"]):
        why = "the request wants `toolConfig.includeServerSideToolInvocations`"
        draft.note("noted", "G15", None, why)
    if draft.options.cache:
        draft.note("noted", "G14", None, "the service caches by itself: there are no marks to set")


API: Final = Api(
    name=neutral_gemini.API,
    messages="contents",
    reader=Reader(
        neutral_gemini.neutral,
        neutral_gemini.instructions,
        neutral_gemini.tool,
        failed=neutral_gemini.says_it_failed,
        partial=neutral_gemini.partial,
        replay=replay,
    ),
    render=render,
)
"""How Gemini's API is read, and its requests are made."""
