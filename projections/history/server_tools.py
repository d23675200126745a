"""What tools of providers did in a conversation: each call with what it gave.

The events hold the blocks as they came; this is read from them, so it gets better with each
release. A call and its result are paired by id over the whole conversation: a result may stand in a
later response than its call. The names that all APIs share are those of `Activity.tool`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from onrecord.domain import events
from onrecord.domain.content import (
    Document,
    HeldFile,
    Native,
    ServerToolCall,
    ServerToolResult,
    Text,
    ToolCall,
    ToolResult,
    Url,
)
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.log import Told
from onrecord.projections.api import Replay, neutral_of, outcome_of, replay_of
from onrecord.projections.history.amendments import amended

Whole: TypeAlias = Callable[[Native], Native]
"""Returns a block with the strings that were moved to blobs."""


@dataclass(frozen=True, slots=True)
class Activity:
    """What a provider's own tool was asked, and what it gave.

    `tool` is the name that all APIs share: web_search, web_fetch, code_execution,
    image_generation, file_search, mcp, shell, computer, apply_patch, tool_search, memory, advisor,
    program; another one as its provider spells it. `mcp` takes `server`, `tool` and `arguments`.
    `parts` is what came back, `metadata` what the provider says beside that; `is_done` is False
    where no result is known. `native` are the provider's own blocks: of the call and of the result,
    or of both in one. `version` is that of the first.
    """

    version: int
    call_id: str
    tool: str
    arguments: Any
    native: tuple[Native, ...]
    parts: tuple[Text | Url | Document | HeldFile, ...] = ()
    metadata: JsonObject | None = None
    is_error: bool = False
    is_done: bool = False

    @property
    def replay(self) -> Replay:
        """How it goes back to the API that did it: verbatim, once an id, or not at all."""
        first = self.native[0]
        return replay_of(first.api, first.value)


def activity(events_told: Iterable[Told], whole: Whole) -> tuple[Activity, ...]:
    """Return what providers' tools did on the main branch, from its events in order."""
    recorded = list(events_told)
    hidden = amended(recorded).redactions
    fold = _Found()
    for event in recorded:
        if event.type not in _TELLING or (event.conversation_id, event.version) in hidden:
            continue
        match event.event():
            case events.ServerToolCallRecorded(line=None) as call:
                fold.call(_called(event.version, call, whole(call.content)))
            case events.ServerToolResultRecorded(line=None) as result:
                fold.result(_result(event.version, result, whole(result.content)))
            case _:
                pass
    return fold.activities()


_TELLING: Final = frozenset({"server_tool_call.recorded", "server_tool_result.recorded"})


class _Found:
    """The calls so far, and which of them have no result yet."""

    def __init__(self) -> None:
        self._found: list[Activity] = []
        self._open: list[int] = []

    def call(self, called: Activity) -> None:
        if not called.is_done:
            self._open.append(len(self._found))
        self._found.append(called)

    def result(self, result: Activity) -> None:
        place = self._answered(result)
        if place is None:
            self._found.append(result)
            return
        self._open.remove(place)
        call = self._found[place]
        self._found[place] = replace(
            call,
            native=(*call.native, *result.native),
            parts=result.parts,
            metadata=result.metadata,
            is_error=result.is_error,
            is_done=True,
        )

    def activities(self) -> tuple[Activity, ...]:
        return tuple(self._found)

    def _answered(self, result: Activity) -> int | None:
        """Return the call of a result: by id, else the last of the same tool that waits."""
        waiting = [*reversed(self._open)]
        same_id = (it for it in waiting if self._found[it].call_id == result.call_id)
        same_tool = (it for it in waiting if self._found[it].tool == result.tool)
        call = next(same_id, None)
        return next(same_tool, None) if call is None else call


def _called(version: int, event: events.ServerToolCallRecorded, native: Native) -> Activity:
    read = neutral_of(native.api, native.value)
    called = Activity(
        version=version,
        call_id=event.call_id,
        tool=read.name if isinstance(read, ServerToolCall) else event.name,
        arguments=read.arguments if isinstance(read, ServerToolCall | ToolCall) else {},
        native=(native,),
    )
    gave = outcome_of(native.api, native.value)
    return called if gave is None else _done(called, gave)


def _result(version: int, event: events.ServerToolResultRecorded, native: Native) -> Activity:
    read = neutral_of(native.api, native.value)
    name = read.name if isinstance(read, ServerToolResult) else ""
    result = Activity(version, event.call_id, name, {}, (native,), is_done=True)
    return _done(result, read) if isinstance(read, ServerToolResult | ToolResult) else result


def _done(activity: Activity, gave: ServerToolResult | ToolResult) -> Activity:
    return replace(
        activity,
        parts=_own_parts(gave),
        metadata=gave.metadata if isinstance(gave, ServerToolResult) else {},
        is_error=gave.is_error,
        is_done=True,
    )


def _own_parts(
    gave: ServerToolResult | ToolResult,
) -> tuple[Text | Url | Document | HeldFile, ...]:
    """Return what came back; of a page that was fetched the text without the page's title.

    Requests tell both in one text, and go on doing so; here the title stands beside it.
    """
    if not isinstance(gave, ServerToolResult) or gave.name != "web_fetch":
        return gave.content
    title = gave.metadata.get("title")
    if not isinstance(title, str) or not title:
        return gave.content
    return tuple(
        Text(text=part.text.removeprefix(f"{title}\n")) if isinstance(part, Text) else part
        for part in gave.content
    )
