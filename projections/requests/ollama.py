"""Requests to Ollama's chat API.

The rules L1 to L8 are listed in docs/rendering.md. The server checks next to nothing: what is
obeyed here is what its models and templates can read. Each event is a message of its own and each
answer one, so that a later request begins with the bytes of the earlier ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from onrecord.domain.jsontext import JsonObject
from onrecord.projections import neutral_ollama, neutral_openai_chat
from onrecord.projections.apis import Api, Reader
from onrecord.projections.history import Block, History, Turn
from onrecord.projections.report import report_of
from onrecord.projections.requests.ollama_answers import answers_in, message_of
from onrecord.projections.requests.ollama_arguments import arguments_of
from onrecord.projections.requests.ollama_draft import Draft, draft_of
from onrecord.projections.requests.ollama_instructions import spell_instructions, spell_tools
from onrecord.projections.requests.ollama_said import messages_said, spell_results
from onrecord.projections.requests.request import Options, Request, nothing_to_send, outside

_RESULTS: Final = ("result", "missing")


def render(history: History, options: Options, blobs: Mapping[str, bytes]) -> Request:
    """Return the arguments `messages` and, where there are any, `tools`.

    In the arguments pictures are bytes, for the SDK reads a text as the path of a file; in the body
    they are base64. `blobs` holds the bytes of `needed_blobs`, by digest. Raises NothingToSend for
    a history without turns, CorruptRecord where a blob is missing.
    """
    draft = draft_of(history, options, blobs)
    instructions = spell_instructions(draft)
    tools = spell_tools(draft)
    messages = list(_messages(draft))
    if not messages:
        raise nothing_to_send(options)
    draft.notes.extend(outside(history, options))
    if options.cache:
        draft.note("noted", "L8", None, "the server caches by itself: there are no marks to set")
    given: dict[str, Any] = {"tools": tools, "messages": [*instructions, *messages]}
    body = {name: value for name, value in given.items() if value is not None}
    arguments = arguments_of(draft, body)
    report = report_of([*history.notes, *draft.notes], draft.router.routes)
    return Request(arguments, options, report, body)


def _messages(draft: Draft) -> Iterator[JsonObject]:
    turns = draft.history.turns
    for place, turn in enumerate(turns):
        if (plain := _plain(turn)) is not None:
            yield plain
        elif turn.role == "assistant":
            after = turns[place + 1] if place + 1 < len(turns) else None
            yield from _answered(draft, turn, _results_in(after))
        else:
            yield from messages_said(draft, turn.role, _unanswered(draft, turn))


def _plain(turn: Turn) -> JsonObject | None:
    """Return the message of a turn that is one text and needs no repair, as most are."""
    block = turn.blocks[0]
    if block.mark or block.spilled or len(turn.blocks) != 1 or turn.role == "system":
        return None
    plain = block.plain
    match plain:
        case {"kind": "text", "text": str(text)} if text and not text.isspace():
            return {"role": turn.role, "content": text}
        case _:
            return None


def _answered(draft: Draft, turn: Turn, results: dict[int | None, Block]) -> Iterator[JsonObject]:
    """Yield the messages of an assistant's turn, behind each the results of its calls."""
    for answer in answers_in(draft, turn.blocks):
        message = message_of(draft, answer, results)
        if message is not None:
            yield message
        yield from spell_results(
            draft, [results[call.call] for call in answer.calls if call.call in results]
        )


def _results_in(turn: Turn | None) -> dict[int | None, Block]:
    """Return the results that a user's turn begins with, by call; none if it is no user's turn."""
    if turn is None or turn.role != "user":
        return {}
    return {block.call: block for block in turn.blocks if block.mark in _RESULTS}


def _unanswered(draft: Draft, turn: Turn) -> Iterator[Block]:
    """Yield what a turn says beside the results that went with the calls before it."""
    for block in turn.blocks:
        if block.mark not in _RESULTS or block.call not in draft.answered:
            yield block


API: Final = Api(
    name=neutral_ollama.API,
    messages="messages",
    reader=Reader(
        neutral_ollama.neutral,
        neutral_ollama.instructions,
        neutral_openai_chat.tool,
        parts=neutral_ollama.said_by_the_user,
        partial=neutral_ollama.partial,
    ),
    render=render,
)
