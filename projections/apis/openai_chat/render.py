"""Requests to OpenAI's Chat Completions API and to servers that speak it.

The rules C1 to C15 are listed in docs/rendering.md. Each event is a message of its own and each
answer one, so that a later request begins with the bytes of the earlier ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

from onrecord.domain.jsontext import JsonObject
from onrecord.domain.tools import ToolDefinition
from onrecord.projections.api import Api, Reader, UsagePlaces
from onrecord.projections.apis.draft import present
from onrecord.projections.apis.openai_chat import read
from onrecord.projections.apis.openai_chat.draft import ChatDraft, draft_of
from onrecord.projections.apis.openai_chat.encode import ChatAnswer, ChatMessages, message_of
from onrecord.projections.apis.openai_chat.members import plain_back
from onrecord.projections.apis.request import Options, Request, nothing_to_send, outside
from onrecord.projections.apis.tools import OPENAI
from onrecord.projections.apis.user_messages import answered_messages, messages_of
from onrecord.projections.history.history import History, Turn
from onrecord.projections.members import objects

# Instructions and tools.


def instructing_messages(draft: ChatDraft) -> list[JsonObject]:
    """Return the messages that a conversation begins with, each in a role that the model takes."""
    instructions = draft.instructions()
    if isinstance(instructions, str):
        messages = [{"role": "system", "content": instructions}] if instructions else []
    else:
        messages = objects(instructions.get("messages"))
    return [_in_role(draft, message) for message in messages]


def tools_of(draft: ChatDraft) -> list[JsonObject] | None:
    """Return what stands under `tools`, in the order in which they were defined."""
    tools = draft.tools_in_force(partial(_definition, draft))
    return [_strictly_named(draft, tool) for tool in tools] or None


def _in_role(draft: ChatDraft, message: JsonObject) -> JsonObject:
    role: Any = message.get("role")
    speaks = draft.reader.role(role) if isinstance(role, str) else role
    if speaks == role:
        return message
    draft.note("translated", "C6", None, f"the model takes no message of role {role}")
    return {**message, "role": speaks}


def _strictly_named(draft: ChatDraft, value: JsonObject) -> JsonObject:
    """Return a definition under a name that the service takes: OpenAI's own takes not every name."""
    match value:
        case {"function": {"name": str(name)}} if draft.reader.is_openai:
            function: JsonObject = value["function"]
            fitting = draft.tool_name(name, None)
            return (
                value if fitting == name else {**value, "function": {**function, "name": fitting}}
            )
        case _:
            return value


def _definition(draft: ChatDraft, tool: ToolDefinition) -> JsonObject:
    named, schema = draft.definition(tool, OPENAI)
    return {"type": "function", "function": {**named, "parameters": schema}}


_A_WORD: Final = "I have the results."


def render(history: History, options: Options, blobs: Mapping[str, bytes]) -> Request:
    """Return the arguments `messages` and, where there are any, `tools`.

    `blobs` holds the bytes of `needed_blobs`, by digest. Raises NothingToSend for a history without
    turns, CorruptRecord where a blob is missing.
    """
    draft = draft_of(history, options, blobs)
    instructions = instructing_messages(draft)
    tools = tools_of(draft)
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
    return draft.request(present({"tools": tools, "messages": [*instructions, *messages]}))


def _messages(draft: ChatDraft) -> Iterator[JsonObject]:
    user = ChatMessages(draft)
    return messages_of(
        draft.history.turns,
        user,
        plain=partial(_plain, draft),
        answered=partial(answered_messages, draft, user, ChatAnswer, message_of),
        went=lambda block: draft.ids.of_result(block) is not None,
    )


def _with_words(draft: ChatDraft, messages: list[JsonObject]) -> Iterator[JsonObject]:
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


def _plain(draft: ChatDraft, turn: Turn) -> JsonObject | None:
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


_USAGE: Final = (("usage",), ("x_groq", "usage"))

API: Final = Api(
    name=read.NAME,
    messages="messages",
    reader=Reader(
        read.block,
        read.instructions,
        read.tool,
        parts=read.user_message,
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
