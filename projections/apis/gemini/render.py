"""Requests to Gemini's API: generateContent and its stream, at Google's own service and at Vertex.

The rules G1 to G18 are listed in docs/rendering.md. Each event of the user's is a content of its
own, all results of a round are one, so that a later request begins with the earlier one's contents.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final, cast

from onrecord.domain.jsontext import JsonObject
from onrecord.domain.tools import ToolDefinition
from onrecord.projections.api import Api, Reader, UsagePlaces
from onrecord.projections.apis.draft import present
from onrecord.projections.apis.gemini import read
from onrecord.projections.apis.gemini.draft import GeminiDraft, draft_of
from onrecord.projections.apis.gemini.encode import (
    Continuation,
    GeminiMessages,
    continuation_of,
    parts_spoken,
)
from onrecord.projections.apis.gemini.server_tools import (
    camel,
    kind_of,
    member,
    object_in,
    replay,
    snake,
)
from onrecord.projections.apis.request import Options, Request, nothing_to_send, outside
from onrecord.projections.apis.tools import GEMINI
from onrecord.projections.apis.user_messages import messages_of
from onrecord.projections.history.history import Block, History, Turn
from onrecord.projections.members import objects

# Instructions and tools.

_DECLARED = "functionDeclarations"


def instructions_of(draft: GeminiDraft) -> Any:
    """Return what stands under `systemInstruction`; None where nothing does."""
    instructions = draft.instructions()
    if isinstance(instructions, str):
        return {"parts": [{"text": instructions}]} if instructions else None
    return member(instructions, "systemInstruction")


def tools_of(draft: GeminiDraft) -> list[JsonObject] | None:
    """Return what stands under `tools`: all functions in one tool, the service's own one each.

    "Multiple tools are supported only when they are all search tools", so functions do not go as a
    tool each.
    """
    tools: list[JsonObject] = []
    declared: list[JsonObject] = []
    for tool in draft.tools_in_force(partial(_definition, draft)):
        functions = objects(member(tool, _DECLARED))
        if not functions:
            tools.append(tool)
            continue
        if not declared:
            tools.append({_DECLARED: declared})
        declared += functions
    return tools or None


def _definition(draft: GeminiDraft, tool: ToolDefinition) -> JsonObject:
    """Return a tool of one function; its schema goes as JSON Schema, which loses nothing."""
    named, schema = draft.definition(tool, GEMINI)
    return {_DECLARED: [{**named, "parametersJsonSchema": schema}]}


# A Gemini request as google-genai's call takes it: `contents` and `config`.
#
# The SDK refuses members that it does not know, and drops nothing silently where it is given
# JSON. So what it does not know is left out of the arguments, and stays in the body. It takes
# bytes as base64 in either alphabet, and names of members in either spelling (google-genai 3.4).

KNOWN: Final[Mapping[str, frozenset[str]]] = {
    "": frozenset(
        {
            *("text", "thought", "thoughtSignature", "functionCall", "functionResponse"),
            *("executableCode", "codeExecutionResult", "toolCall", "toolResponse"),
            *("inlineData", "fileData", "videoMetadata", "mediaResolution", "mediaProcessing"),
            *("partMetadata", "audioTranscription", "speechMetadata", "documentMetadata"),
            *("spreadsheetMetadata", "audioMetadata"),
        }
    ),
    "functionCall": frozenset({"id", "name", "args", "partialArgs", "willContinue"}),
    "functionResponse": frozenset(
        {"id", "name", "response", "parts", "willContinue", "scheduling"}
    ),
    "executableCode": frozenset({"id", "code", "language"}),
    "codeExecutionResult": frozenset({"id", "outcome", "output"}),
    "toolCall": frozenset({"id", "toolType", "args"}),
    "toolResponse": frozenset({"id", "toolType", "response"}),
    "inlineData": frozenset({"mimeType", "data", "displayName"}),
    "fileData": frozenset({"mimeType", "fileUri", "displayName"}),
}
"""The members of a part that the SDK knows, and those of what a part holds."""

_NAMES: Final[Mapping[str, frozenset[str]]] = {
    spelled: names | frozenset(map(snake, names))
    for holder, names in KNOWN.items()
    for spelled in (holder, snake(holder))
}
"""The same in either spelling."""

TOOLS: Final = frozenset(
    {
        *("functionDeclarations", "googleSearch", "googleSearchRetrieval", "codeExecution"),
        *("urlContext", "fileSearch", "googleMaps", "computerUse", "enterpriseWebSearch"),
        *("retrieval", "parallelAiSearch", "exaAiSearch", "mcpServers"),
    }
)
"""The members of a tool that the SDK knows."""


def arguments_of(body: Mapping[str, Any]) -> tuple[JsonObject, list[str]]:
    """Return the keyword arguments of a body, and the names of what the SDK does not know in it."""
    unknown: list[str] = []
    config = {name: item for name, item in body.items() if name != "contents"}
    if "tools" in config:
        config["tools"] = _tool_arguments(config["tools"], unknown)
    contents = _content_arguments(body["contents"], unknown)
    return {"contents": contents, **({"config": config} if config else {})}, unknown


def _content_arguments(contents: list[JsonObject], unknown: list[str]) -> list[JsonObject]:
    members: list[JsonObject] = []
    for content in contents:
        parts: list[JsonObject] = content["parts"]
        if all(map(_is_known, parts)):
            members.append(content)
        elif known := list(_parts(parts, unknown)):
            members.append({**content, "parts": known})
    return members


def _is_known(part: JsonObject) -> bool:
    """Whether the SDK knows all of a part, as it does of most."""
    if not part.keys() <= _NAMES[""]:
        return False
    for name, item in part.items():
        names = _NAMES.get(name) if isinstance(item, dict) else None
        if names is not None and not cast("JsonObject", item).keys() <= names:
            return False
    return True


def _parts(parts: Iterable[JsonObject], unknown: list[str]) -> Iterator[JsonObject]:
    for part in parts:
        known = _known(part, "", unknown)
        if kind_of(known) is not None:
            yield known


def _known(value: JsonObject, holder: str, unknown: list[str]) -> JsonObject:
    """Return an object with those members that the SDK knows; the object itself if it knows all."""
    names = KNOWN.get(holder)
    if names is None:
        return value
    unknown += [name for name in value if camel(name) not in names]
    members = {name: item for name, item in value.items() if camel(name) in names}
    for name, item in members.items():
        if not holder and isinstance(item, dict):
            members[name] = _known(cast("JsonObject", item), camel(name), unknown)
    return value if members == value else members


def _tool_arguments(tools: list[JsonObject], unknown: list[str]) -> list[JsonObject]:
    unknown += [name for tool in tools for name in tool if camel(name) not in TOOLS]
    known = ({k: item for k, item in tool.items() if camel(k) in TOOLS} for tool in tools)
    return [tool for tool in known if tool]


_A_WORD: Final = "Go on."


def render(history: History, options: Options, blobs: Mapping[str, bytes]) -> Request:
    """Return the arguments `contents` and `config`; the body has what the config holds beside them.

    `blobs` holds the bytes of `needed_blobs`, by digest. Raises NothingToSend for a history without
    turns, CorruptRecord where a blob is missing.
    """
    draft = draft_of(history, options, blobs)
    continuation = continuation_of(draft)
    body: dict[str, Any] = {
        "systemInstruction": instructions_of(draft),
        "tools": tools_of(draft),
        "contents": _contents(draft, continuation),
        "continuationToken": continuation.token if continuation else None,
    }
    if not body["contents"]:
        raise nothing_to_send(options)
    value = present(body)
    arguments, unknown = arguments_of(value)
    if unknown:
        names = ", ".join(dict.fromkeys(unknown))
        why = f"{names}: google-genai does not know them, so they stand in the body only"
        draft.note("noted", "G17", None, why)
    _beware(draft, value["contents"])
    return draft.request(arguments, value)


def _contents(draft: GeminiDraft, continuation: Continuation | None) -> list[JsonObject]:
    contents: list[JsonObject] = []
    for content in _in_turn(draft, continuation):
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


def _in_turn(draft: GeminiDraft, continuation: Continuation | None) -> Iterator[JsonObject]:
    user = GeminiMessages(draft)
    return messages_of(
        draft.history.turns,
        user,
        plain=lambda turn: _plain(turn) if continuation is None else None,
        answered=partial(_answered, draft, user, continuation),
        went=lambda block: block.call in draft.calls,
    )


def _plain(turn: Turn) -> JsonObject | None:
    """Return the content of a turn that is one text and needs no repair, as most are."""
    block = turn.blocks[0]
    if block.mark or len(turn.blocks) != 1 or turn.role == "system":
        return None
    plain = block.plain
    if plain["kind"] == "text" and plain["text"].strip():
        role = "user" if turn.role == "user" else "model"
        return {"role": role, "parts": [{"text": plain["text"]}]}
    if plain["kind"] != "native" or plain["api"] != read.NAME or block.spilled:
        return None
    value: JsonObject = plain["value"]
    is_text = value.keys() == {"text"} and isinstance(value["text"], str) and value["text"]
    return {"role": "model", "parts": [value]} if is_text and turn.role == "assistant" else None


def _answered(
    draft: GeminiDraft,
    user: GeminiMessages,
    continuation: Continuation | None,
    turn: Turn,
    results: Mapping[int | None, Block],
) -> Iterator[JsonObject]:
    """Yield the content of a model's turn, then the results of its calls."""
    value = continuation.responses if continuation else frozenset[str]()
    for block in turn.blocks:
        if block.response in value:
            draft.leave_out("G12", block, "the service goes on with it by the token of its answer")
    blocks = [block for block in turn.blocks if block.response not in value]
    parts = parts_spoken(draft, blocks, results)
    if parts:
        yield {"role": "model", "parts": parts}
    yield from user.results(results[it.call] for it in blocks if it.call in draft.calls)


def _beware(draft: GeminiDraft, contents: list[JsonObject]) -> None:
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
    name=read.NAME,
    messages="contents",
    reader=Reader(
        read.block,
        read.instructions,
        read.tool,
        failed=read.says_it_failed,
        partial=read.partial,
        replay=replay,
    ),
    render=render,
    # ai.google.dev, `UsageMetadata`.
    usage=UsagePlaces(
        cached=(("usageMetadata", "cachedContentTokenCount"),),
        reasoning=(("usageMetadata", "thoughtsTokenCount"),),
    ),
    has_call_ids=False,
)
"""How Gemini's API is read, and its requests are made."""
