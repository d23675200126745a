"""Requests to OpenAI's Chat Completions API and to servers that speak it.

The rules C1 to C15 are listed in docs/rendering.md. Each event is a message of its own and each
answer one, so that a later request begins with the bytes of the earlier ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from onrecord.domain.jsontext import JsonObject
from onrecord.projections import neutral_openai_chat
from onrecord.projections.apis import Api, Reader
from onrecord.projections.history import Block, History, Turn
from onrecord.projections.report import report_of
from onrecord.projections.requests.openai_chat_answers import answers_in, message_of
from onrecord.projections.requests.openai_chat_draft import Draft, draft_of
from onrecord.projections.requests.openai_chat_instructions import spell_instructions, spell_tools
from onrecord.projections.requests.openai_chat_members import plain_back
from onrecord.projections.requests.openai_chat_results import results_in, spell_results
from onrecord.projections.requests.openai_chat_said import messages_said
from onrecord.projections.requests.request import Options, Request, nothing_to_send, outside

_A_WORD: Final = "I have the results."
_RESULTS: Final = frozenset({"result", "missing"})


def render(history: History, options: Options, blobs: Mapping[str, bytes]) -> Request:
    """Return the arguments `messages` and, where there are any, `tools`.

    `blobs` holds the bytes of `needed_blobs`, by digest. Raises NothingToSend for a history without
    turns, CorruptRecord where a blob is missing.
    """
    draft = draft_of(history, options, blobs)
    instructions = spell_instructions(draft)
    tools = spell_tools(draft)
    messages = list(_messages(draft))
    if draft.reader.wants_a_word:
        messages = list(_with_words(draft, messages))
    if not messages:
        raise nothing_to_send(options)
    draft.notes.extend(outside(history, options))
    if draft.has_decoys:
        why = "empty members of answers, such as annotations: no request has them"
        draft.note("left out", "C7", None, why)
    if options.cache:
        draft.note("noted", "C12", None, "the service caches by itself: there are no marks to set")
    arguments = {"tools": tools, "messages": [*instructions, *messages]}
    given = {name: value for name, value in arguments.items() if value is not None}
    report = report_of([*history.notes, *draft.notes], draft.router.routes)
    return Request(given, options, report)


def _messages(draft: Draft) -> Iterator[JsonObject]:
    turns = draft.history.turns
    for place, turn in enumerate(turns):
        if (plain := _plain(draft, turn)) is not None:
            yield plain
        elif turn.role == "assistant":
            after = turns[place + 1] if place + 1 < len(turns) else None
            yield from _answered(draft, turn, results_in(after))
        else:
            yield from messages_said(draft, turn.role, _unanswered(draft, turn))


def _with_words(draft: Draft, messages: list[JsonObject]) -> Iterator[JsonObject]:
    """Yield messages with a word of the assistant's between each tool's result and the user's.

    "Unexpected role 'user' after role 'tool'" is what Mistral says else, and so for ever.
    """
    before: object = None
    for message in messages:
        role = message.get("role")
        if before == "tool" and role == "user":
            draft.note("repaired", "C14", None, "a word stands between results and the user's")
            yield {"role": "assistant", "content": _A_WORD}
        before = role
        yield message


def _plain(draft: Draft, turn: Turn) -> JsonObject | None:
    """Return the message of a turn that is one text and needs no repair, as most are."""
    block = turn.blocks[0]
    if block.mark or block.spilled or len(turn.blocks) != 1:
        return None
    plain = block.plain
    if plain["kind"] == "text" and turn.role != "system":
        text: str = plain["text"]
        return {"role": turn.role, "content": text} if text and not text.isspace() else None
    if plain["kind"] != "native" or plain["api"] != API.name or turn.role != "assistant":
        return None
    return plain_back(draft, plain["value"])


def _answered(draft: Draft, turn: Turn, results: dict[int | None, Block]) -> Iterator[JsonObject]:
    """Yield the messages of an assistant's turn, behind each the results of its calls."""
    for answer in answers_in(draft, turn.blocks):
        message = message_of(draft, answer, results)
        if message is not None:
            yield message
        told = [results[call.call] for call in answer.calls if call.call in results]
        yield from spell_results(draft, told)


def _unanswered(draft: Draft, turn: Turn) -> list[Block]:
    """Return the blocks of a user's turn that are no results of calls that went."""
    return [
        block
        for block in turn.blocks
        if block.mark not in _RESULTS or draft.ids.of_result(block) is None
    ]


API: Final = Api(
    name=neutral_openai_chat.API,
    messages="messages",
    reader=Reader(
        neutral_openai_chat.neutral,
        neutral_openai_chat.instructions,
        neutral_openai_chat.tool,
        parts=neutral_openai_chat.said_by_the_user,
        partial=neutral_openai_chat.partial,
    ),
    render=render,
)
