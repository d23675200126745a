"""What the caller's tools are told beside their arguments: a tenant, a token, a locale.

It travels out of band: no model, no request and no body of an event sees it. So that nothing that
writes mappings out (JSON, pydantic, loggers, the walk through a tool's result) finds anything to
write, a `ToolCallContext` is no `collections.abc.Mapping`, though it is used as one, and whatever
shows it shows its keys alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, NoReturn, TypeAlias, cast, final

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from onrecord.domain.errors import InvalidContent

HIDDEN: Final = "…"
"""What is shown in the place of a value."""


Progress: TypeAlias = Callable[[object], object]
"""What takes the progress of a call: anything that a tool says while it runs."""


@final
class ToolCallContext:
    """An immutable mapping of names to anything: what the tools of one call may know.

    `ToolCallContext(tenant_id="acme")` or `ToolCallContext.of({"tenant_id": "acme"})`; without
    entries, and of no call, it is always the same object, `EMPTY`. It has no order: equal entries are an equal
    context, where they are of the same call. `dict(context)` is a copy of its own; so is what it is made of.
    """

    __slots__ = ("__weakref__", "_call_id", "_entries", "_report")

    _entries: Mapping[str, Any]
    _call_id: str | None
    _report: Progress | None

    def __new__(cls, /, **entries: Any) -> ToolCallContext:
        """Return the context of these entries."""
        return _made(entries) if entries else EMPTY

    @staticmethod
    def of(entries: Mapping[str, Any] | ToolCallContext | None = None) -> ToolCallContext:
        """Return the context of these entries; InvalidContent where a name is no text."""
        if isinstance(entries, ToolCallContext):
            return entries
        if entries is None:
            return EMPTY
        # A caller without a type checker may hand over anything.
        if not isinstance(cast("object", entries), Mapping):
            raise InvalidContent(
                f"a context is a mapping of names to values, not {type(entries).__name__}"
            )
        for name in cast("Mapping[object, object]", entries):
            if not isinstance(name, str):
                raise InvalidContent(f"a name in a context is a text, not {type(name).__name__}")
        return ToolCallContext(**entries)

    def merge(self, other: Mapping[str, Any] | ToolCallContext) -> ToolCallContext:
        """Return both together; where both know a name, the other's value is taken."""
        added = ToolCallContext.of(other)
        if not added:
            return self
        if not self and self._call_id is None:
            return added
        return _made({**self._entries, **added._entries}, self._call_id, self._report)

    def of_call(self, call_id: str, report: Progress | None = None) -> ToolCallContext:
        """Return the same entries for one call, whose progress goes to `report`."""
        return _made(dict(self._entries), call_id, report)

    @property
    def call_id(self) -> str | None:
        """The id of the call, as the record has it; None where no `ToolRunner` makes the call.

        It is no entry: nothing keeps it, and no server is told of it.
        """
        return self._call_id

    def progress(self, value: object) -> None:
        """Report how far the call is, to the `progress=` of the runner; nothing is recorded.

        It may be called in any thread and as often as you like. Where nobody listens it does nothing.
        """
        if self._report is not None:
            self._report(value)

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value of a name, or the default where there is none."""
        return self._entries.get(name, default)

    def keys(self) -> tuple[str, ...]:
        """Return the names."""
        return tuple(self._entries)

    def values(self) -> tuple[Any, ...]:
        """Return the values, in the order of their names."""
        return tuple(self._entries.values())

    def items(self) -> tuple[tuple[str, Any], ...]:
        """Return the names with their values."""
        return tuple(self._entries.items())

    def __getitem__(self, name: str) -> Any:
        """Return the value of a name; KeyError, with the name alone, where there is none."""
        return self._entries[name]

    def __contains__(self, name: object) -> bool:
        """Whether there is a value of that name."""
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        """Yield the names."""
        return iter(self._entries)

    def __len__(self) -> int:
        """Return how many names there are."""
        return len(self._entries)

    def __eq__(self, other: object) -> bool:
        """Whether the other is a context of the same entries."""
        if not isinstance(other, ToolCallContext):
            return NotImplemented
        return (self._call_id, dict(self._entries)) == (other._call_id, dict(other._entries))

    def __hash__(self) -> int:
        """Return a hash of the names: values may have none."""
        return hash(frozenset(self._entries))

    def __repr__(self) -> str:
        """Return the names, and no value."""
        return f"ToolCallContext({', '.join(f'{name}={HIDDEN}' for name in self._entries)})"

    def __setattr__(self, name: str, value: object) -> NoReturn:
        """Refuse: a context never changes; merge it with another."""
        raise AttributeError("a ToolCallContext never changes: context.merge({...}) gives another")

    def __delattr__(self, name: str) -> NoReturn:
        """Refuse, as for every change."""
        raise AttributeError("a ToolCallContext never changes: context.merge({...}) gives another")

    def __copy__(self) -> ToolCallContext:
        """Return itself: it never changes."""
        return self

    def __deepcopy__(self, _memo: object) -> ToolCallContext:
        """Return itself: it never changes."""
        return self

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled: that writes its values out."""
        raise TypeError(
            "a ToolCallContext is not pickled, for that writes its values out: "
            "hand dict(context) to the other process, and make it anew there"
        )

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Let it be a field of pydantic's models, which dump its names alone."""
        return core_schema.is_instance_schema(
            cls, serialization=core_schema.plain_serializer_function_ser_schema(_names_shown)
        )


def _made(
    entries: dict[str, Any], call_id: str | None = None, report: Progress | None = None
) -> ToolCallContext:
    context = object.__new__(ToolCallContext)
    object.__setattr__(context, "_entries", MappingProxyType(entries))
    object.__setattr__(context, "_call_id", call_id)
    object.__setattr__(context, "_report", report)
    return context


def _names_shown(context: ToolCallContext) -> dict[str, str]:
    return dict.fromkeys(context.keys(), HIDDEN)


EMPTY: Final = _made({})
"""The context without entries."""
