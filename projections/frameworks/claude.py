"""Entries of the Claude Agent SDK: lines of a transcript, some of which hold messages of Anthropic's API.

An entry names its parent, so a transcript is a tree: what was rewound stays in it. What counts is the
path from the last message to the first, as `get_session_messages` of the SDK takes it. An answer has an
entry a block; tools that ran in parallel leave it with branches, which belong to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, TypeAlias

from onrecord.domain.jsontext import JsonObject
from onrecord.projections.frameworks.current_items import HeldItem
from onrecord.projections.frameworks.framework import (
    Framework,
    ItemUsage,
    StreamItems,
    token_counts,
)
from onrecord.projections.frameworks.item_messages import (
    ItemContents,
    ItemMessage,
    Reading,
    Unread,
    ids_among,
)
from onrecord.projections.members import member, members_of, nonempty_text, objects, text

API: Final = "anthropic-messages"

_SPEAKERS: Final = ("user", "assistant")
_ADDED: Final = ("isMeta", "isCompactSummary")
"""What marks messages that the program itself adds."""
_BESIDE: Final = ("isSidechain", "teamName")
"""What marks entries of other agents, which are no part of the session's own messages."""


def read_items(stream: StreamItems) -> Reading:
    """Return the messages on the path to the last one; the blocks of an answer are one message."""
    messages: list[ItemMessage] = []
    unread: list[Unread] = []
    answers: dict[str, int] = {}
    for entry in _path(stream.items):
        if entry.item.get("isVisibleInTranscriptOnly") is True:
            continue
        if why := _why_unread(entry.item):
            unread.append(Unread(entry.version, why))
        elif entry.item.get("type") in _SPEAKERS:
            _add(messages, answers, entry)
    return Reading(API, tuple(messages), tuple(unread))


def read_item(entry: JsonObject) -> ItemContents | None:
    """Return what the message of one entry holds, whichever agent said it.

    What the program adds in the user's place is the system's.
    """
    if entry.get("type") not in _SPEAKERS or _why_unread(entry):
        return None
    message: JsonObject = entry["message"]
    blocks = tuple(map(members_of, _blocks(message["content"])))
    if all(block.get("type") == "tool_result" for block in blocks):
        return ItemContents(API, "tool", blocks)
    is_added = any(entry.get(mark) for mark in _ADDED)
    return ItemContents(API, "system" if is_added else message["role"], blocks)


def about(entry: JsonObject) -> str:
    """Return the kind of an entry, as far as it names one."""
    names = (entry.get(name) for name in ("type", "subtype", "operation"))
    return " ".join(name for name in names if isinstance(name, str))


def _why_unread(entry: JsonObject) -> str | None:
    match entry:
        case {"isApiErrorMessage": True}:
            return "an error of the API, which the program put in the place of an answer"
        case {"type": "attachment"}:
            return "an attachment: how the program tells the model of it is the program's own"
        case {"type": "user" | "assistant", "message": {"content": "" | []}}:
            return "a message that holds nothing"
        case {
            "type": "user" | "assistant" as speaker,
            "message": {"role": str(role), "content": str() | [*_]},
        } if role == speaker:
            return None
        case {"type": "user" | "assistant"}:
            return "an entry whose message is none of Anthropic's API"
        case _:
            return None


def _add(messages: list[ItemMessage], answers: dict[str, int], entry: HeldItem) -> None:
    """Add the message of an entry, or its blocks to the answer that they are of."""
    message: JsonObject = entry.item["message"]
    blocks = _blocks(message["content"])
    answer = message.get("id") if message["role"] == "assistant" else None
    if isinstance(answer, str) and answer in answers:
        at = answers[answer]
        known = messages[at]
        versions = (*known.versions, *(entry.version for _ in blocks))
        value = {**known.value, "content": [*known.value["content"], *blocks]}
        messages[at] = known._replace(versions=versions, value=value)
        return
    if isinstance(answer, str):
        answers[answer] = len(messages)
    content = message["content"] if answer is None else blocks
    versions = (entry.version,) if answer is None else tuple(entry.version for _ in blocks)
    value = {"role": message["role"], "content": content}
    messages.append(ItemMessage(versions, value, ids_among(answer)))


def _blocks(content: str | list[Any]) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


# The path through a transcript.

_Name: TypeAlias = str | int
"""What an entry is known by: its `uuid`, or its version where it has none."""


def _path(items: Sequence[HeldItem]) -> list[HeldItem]:
    """Return the entries on the path to the last message, in the order in which they were recorded."""
    entries = {_name(entry): entry for entry in items}
    parents = _parents(items)
    own = [name for name, entry in entries.items() if _is_own(entry.item)]
    name: object = own[-1] if own else None
    path = set[_Name]()
    while isinstance(name, str | int) and name in entries and name not in path:
        path.add(name)
        name = parents[name]
    path |= _side_entries(entries, path)
    return [entry for name, entry in entries.items() if name in path]


def _name(entry: HeldItem) -> _Name:
    uuid = entry.item.get("uuid")
    return uuid if isinstance(uuid, str) else entry.version


def _parents(items: Sequence[HeldItem]) -> dict[_Name, object]:
    """Return the name of each entry's parent; one that names none follows the message before it."""
    parents: dict[_Name, object] = {}
    before: _Name | None = None
    for entry in items:
        parents[_name(entry)] = entry.item.get("parentUuid", before)
        if entry.item.get("type") in _SPEAKERS:
            before = _name(entry)
    return parents


def _is_own(entry: JsonObject) -> bool:
    """Whether an entry is a message of the session itself, and none that the program adds."""
    is_beside = any(entry.get(mark) for mark in (*_BESIDE, "isMeta"))
    return entry.get("type") in _SPEAKERS and not is_beside


def _side_entries(entries: dict[_Name, HeldItem], path: set[_Name]) -> set[_Name]:
    """Return the entries beside the path that belong to its answers: other blocks, and results of calls."""
    on_path = [entries[name].item for name in path]
    answers = {_answer(entry) for entry in on_path} - {None}
    others = {
        name: entry.item
        for name, entry in entries.items()
        if name not in path and not any(entry.item.get(mark) for mark in _BESIDE)
    }
    blocks = {name for name, entry in others.items() if _answer(entry) in answers}
    spoken = [*on_path, *(others[name] for name in blocks)]
    calls = set(_ids(spoken, "tool_use", "id")) - set(_ids(on_path, "tool_result", "tool_use_id"))
    results = {
        name
        for name, entry in others.items()
        if not calls.isdisjoint(_ids((entry,), "tool_result", "tool_use_id"))
    }
    return blocks | results


def _answer(entry: JsonObject) -> str | None:
    """Return the id of the answer that an entry is a part of."""
    answer = member(entry.get("message"), "id")
    return answer if entry.get("type") == "assistant" and isinstance(answer, str) else None


def _ids(entries: Iterable[JsonObject], kind: str, name: str) -> Iterable[str]:
    """Yield the ids that blocks of a kind in these entries have under a name."""
    for entry in entries:
        for block in objects(member(entry.get("message"), "content")):
            found = block.get(name)
            if block.get("type") == kind and isinstance(found, str):
                yield found


def _usages(entry: JsonObject) -> Iterator[ItemUsage]:
    # An answer has an entry a block, each with the counts so far, under the id of its message.
    message = members_of(entry.get("message"))
    counts = token_counts(message.get("usage"))
    if entry.get("type") == "assistant":
        written, cached = counts("cache_creation_input_tokens"), counts("cache_read_input_tokens")
        yield ItemUsage(
            answer=nonempty_text(message.get("id")),
            model=text(message.get("model")),
            input_tokens=counts("input_tokens") + written + cached,
            output_tokens=counts("output_tokens"),
            cached_tokens=cached,
            cache_write_tokens=written,
        )


CLAUDE: Final = Framework(
    name="claude-agent-sdk",
    read_items=read_items,
    read_item=read_item,
    read_usages=_usages,
    about=about,
)
