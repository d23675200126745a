"""`onrecord context`: what a conversation carries for its tools, and how that is changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from onrecord.adapters.cli import output
from onrecord.adapters.cli.naming import named
from onrecord.adapters.store import Store
from onrecord.domain.errors import ConversationForgotten, InvalidInput
from onrecord.domain.tool_context import ToolCallContext


def context(
    store: Store, key: str, given: Mapping[str, str], unset: Iterable[str], *, as_json: bool
) -> None:
    """Record what is set and unset, if anything is, and write what is carried then."""
    found = named(store, key)
    if found.key is None:
        raise ConversationForgotten
    talk = store.conversation(found.key)
    before = talk.carried()
    after = _changed(before, given, unset)
    if after != before:
        talk.carry(after, persist=after.keys())
    if as_json:
        said = {"key": talk.key, "conversation": str(talk.conversation_id)}
        output.json_line({**said, "version": talk.head().version, "context": dict(after)})
    elif output.is_drawn():
        _draw(talk.key, after)
    else:
        for name, value in sorted(after.items()):
            output.plain(name, value)


def _changed(
    before: ToolCallContext, given: Mapping[str, str], unset: Iterable[str]
) -> ToolCallContext:
    removed = frozenset(unset)
    if both := sorted(removed & given.keys()):
        raise InvalidInput(f"{both[0]!r} is set and unset: say one of them")
    merged = dict(before.merge(given))
    return ToolCallContext.of({k: v for k, v in merged.items() if k not in removed})


def _draw(key: str, carried: ToolCallContext) -> None:
    if not carried:
        output.sentence(output.flat(f"{key} carries nothing for its tools."))
        return
    widest = max(len(output.escaped(name)) for name in carried)
    for name, value in sorted(carried.items()):
        output.sentence(f"{output.escaped(name):<{widest}}  {output.escaped(value)}")
