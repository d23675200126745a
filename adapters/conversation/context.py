"""What a conversation carries for its tools: the names that are allowed to be kept, in a header.

A header is stored in clear and never erased (docs/format.md), so little is taken: short texts, by
an allow list, and no name of a credential. No error here shows a value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from onrecord.adapters.inputs.arguments import kind_of, several, text_given
from onrecord.adapters.streams.lineage import backwards
from onrecord.adapters.streams.stream import Done, Stream
from onrecord.adapters.wire.secret_names import is_secret
from onrecord.domain import conversation
from onrecord.domain.errors import InvalidContent
from onrecord.domain.tool_context import EMPTY, ToolCallContext

MOST_NAMES: Final = 16
"""How many names a conversation may carry."""

LONGEST: Final = 256
"""How many characters a value may have; a name has at most a quarter of that."""

_CARRIED: Final = "context.carried"


def carry(stream: Stream, entries: Mapping[str, Any] | ToolCallContext, persist: object) -> Done:
    """Record what the conversation carries from here on: of these entries, those that are named.

    InvalidContent where one of them is not to be kept.
    """
    metadata = kept(ToolCallContext.of(entries), persist)
    return stream.append(*conversation.carry(stream.head()), metadata=metadata)


def carried(stream: Stream) -> ToolCallContext:
    """Return what the conversation carries; a fork carries what its origin did, until it says.

    Read from its end: the longer ago it was said, the more is read.
    """
    return carried_since(stream, 0, stream.head().version) or EMPTY


def carried_since(stream: Stream, after: int, until: int) -> ToolCallContext | None:
    """Return what was last said to be carried after < version <= until; None if nothing was."""
    if until <= after:
        return None
    for recorded in backwards(stream.backend, stream.lineages().whole(until), after):
        if recorded.type == _CARRIED:
            return ToolCallContext.of(recorded.client_header().metadata)
    return None


def kept(context: ToolCallContext, persist: object) -> dict[str, str]:
    """Return what of a context may stand in a header: the names of an allow list.

    InvalidContent, with the name and without the value, for what is no short text, for the name of
    a credential, and for too many.
    """
    names = [_name(given) for given in several("persist", persist)]
    allowed = [name for name in dict.fromkeys(names) if name in context]
    if len(allowed) > MOST_NAMES:
        raise InvalidContent(
            f"a conversation carries at most {MOST_NAMES} names, not {len(allowed)}: keep fewer"
        )
    return {name: _value(name, context[name]) for name in allowed}


def _name(value: object) -> str:
    name = text_given("a name to keep", value)
    if not name.strip() or not name.isprintable() or len(name) > LONGEST // 4:
        raise InvalidContent(
            f"a name to keep has 1 to {LONGEST // 4} printable characters, not {len(name)}"
        )
    if is_secret(name):
        raise InvalidContent(
            f"{name!r} names a credential, and a header keeps what it holds for ever: "
            "leave it out, and give it to the ToolRunner; the tools get it all the same"
        )
    return name


def _value(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise InvalidContent(f"{name!r} is no text (str) but {kind_of(value)}: keep its id or name")
    if len(value) > LONGEST:
        raise InvalidContent(
            f"{name!r} has {len(value)} characters, and at most {LONGEST} are kept: keep an id"
        )
    return text_given(repr(name), value)
