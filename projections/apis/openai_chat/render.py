"""Requests to OpenAI's Chat Completions API and to servers that speak it.

The rules C1 to C15 are listed in docs/rendering.md. Each event is a message of its own and each
answer one, so that a later request begins with the bytes of the earlier ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from onrecord.domain.content import Native, Text
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.tools import ToolDefinition
from onrecord.projections.api import Api, Reader, UsagePlaces
from onrecord.projections.apis.foreign import instructions_told, tool_told, whole
from onrecord.projections.apis.openai_chat import read
from onrecord.projections.apis.openai_chat.answers import (
    answers_in,
    message_of,
    results_in,
    spell_results,
)
from onrecord.projections.apis.openai_chat.draft import Draft, draft_of
from onrecord.projections.apis.openai_chat.members import plain_back
from onrecord.projections.apis.openai_chat.read import objects_in
from onrecord.projections.apis.openai_chat.user_messages import messages_said
from onrecord.projections.apis.request import Options, Request, nothing_to_send, outside
from onrecord.projections.apis.tools import OPENAI, schema_for, tools_for
from onrecord.projections.history.history import Block, History, Turn
from onrecord.projections.history.report import report_of

# Instructions and tools in the spelling of Chat Completions.


def spell_instructions(draft: Draft) -> list[JsonObject]:
    """Return the messages that a conversation begins with, each in a role that the model takes."""
    instructions = draft.history.instructions
    match instructions.content if instructions else "":
        case str() as text:
            return _instructed(draft, text)
        case Text(text=text):
            return _instructed(draft, text)
        case Native(api="openai-chat") as native:
            held: Any = whole(native, draft.blobs).value.get("messages")
            return [_in_role(draft, message) for message in objects_in(held)]
        case Native() as native:
            text, note = instructions_told(whole(native, draft.blobs))
            draft.notes.append(note)
            return _instructed(draft, text)


def spell_tools(draft: Draft) -> list[JsonObject] | None:
    """Return what stands under `tools`, in the order in which they were defined."""
    spelled: list[JsonObject] = []
    for tool in tools_for(draft.history.tools, "openai-chat"):
        match tool:
            case ToolDefinition():
                spelled.append(_definition(draft, tool))
            case Native(api="openai-chat"):
                spelled.append(_own_definition(draft, whole(tool, draft.blobs).value))
            case Native():
                neutral, note = tool_told(whole(tool, draft.blobs))
                draft.notes.append(note)
                spelled += [_definition(draft, neutral)] if neutral else []
    return spelled or None


def _instructed(draft: Draft, text: str) -> list[JsonObject]:
    if not text.strip():
        return []
    return [_in_role(draft, {"role": "system", "content": text})]


def _in_role(draft: Draft, message: JsonObject) -> JsonObject:
    role: Any = message.get("role")
    speaks = draft.reader.role(role) if isinstance(role, str) else role
    if speaks == role:
        return message
    draft.note("translated", "C6", None, f"the model takes no message of role {role}")
    return {**message, "role": speaks}


def _own_definition(draft: Draft, value: JsonObject) -> JsonObject:
    """Return a definition as it came; only OpenAI's own service is known to be strict on names."""
    match value:
        case {"function": {"name": str(name)}} if draft.reader.is_openai:
            function: JsonObject = value["function"]
            taken = draft.tool_name(name, None)
            return value if taken == name else {**value, "function": {**function, "name": taken}}
        case _:
            return value


def _definition(draft: Draft, tool: ToolDefinition) -> JsonObject:
    told: JsonObject = {"name": draft.tool_name(tool.name, None)}
    if tool.description is not None:
        told["description"] = tool.description
    schema, done = schema_for(tool.input_schema, OPENAI)
    if done:
        draft.note("translated", "schema", None, f"the schema of {tool.name}: {done}")
    return {"type": "function", "function": {**told, "parameters": schema}}


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


_USAGE: Final = (("usage",), ("x_groq", "usage"))

API: Final = Api(
    name=read.NAME,
    messages="messages",
    reader=Reader(
        read.neutral,
        read.instructions,
        read.tool,
        parts=read.said_by_the_user,
        partial=read.partial,
    ),
    render=render,
    # platform.openai.com, "Chat": `usage`; api-docs.deepseek.com and platform.moonshot.ai spell otherwise.
    usage=UsagePlaces(
        cached=tuple(
            (*usage, *member)
            for usage in _USAGE
            for member in (
                ("prompt_tokens_details", "cached_tokens"),
                ("prompt_cache_hit_tokens",),
                ("cached_tokens",),
            )
        ),
        cache_writes=tuple((*u, "prompt_tokens_details", "cache_write_tokens") for u in _USAGE),
        reasoning=tuple((*u, "completion_tokens_details", "reasoning_tokens") for u in _USAGE),
    ),
)
