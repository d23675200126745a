"""A tool that can be called, tools that come from one place, and results that SDKs give as objects."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Container, Mapping
from dataclasses import dataclass, field, replace
from inspect import isawaitable, iscoroutinefunction
from threading import TIMEOUT_MAX
from typing import Any, Final, NamedTuple, TypeAlias, cast

from pydantic import BaseModel

from onrecord.adapters.inputs.arguments import text_given
from onrecord.domain.errors import InvalidContent
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.tool_context import ToolCallContext
from onrecord.domain.tools import ToolDefinition, ToolSource


class Unfolded(NamedTuple):
    """A nesting of mappings, lists, texts, documents and other typed values.

    `at` is where that stands in the JSON of the result (a JSON pointer, RFC 6901).
    """

    value: object
    at: str = ""
    is_error: bool = False


# Objects of SDKs as the JSON that they stand for, without an import of any SDK.


def is_protobuf(value: object) -> bool:
    """Whether a value is a message of protobuf."""
    return hasattr(value, "DESCRIPTOR")


def has_type(value: object, packages: Container[str], names: Container[str]) -> bool:
    """Whether the type of a value has one of these names, in one of these packages."""
    kind = type(value)
    return kind.__name__ in names and kind.__module__.partition(".")[0] in packages


def plain(value: object) -> Any:
    """Return the JSON of a pydantic model or a protobuf message, anything else as it is.

    Members that are None are left out: in what MCP and A2A list, absent and None are the same.
    """
    match value:
        case BaseModel():
            return value.model_dump(mode="json", by_alias=True, exclude_none=True)
        case Mapping():
            return dict(cast("Mapping[str, Any]", value))
        case _ if is_protobuf(value):
            from google.protobuf import json_format  # type: ignore[import-untyped]  # it has no stubs

            return json_format.MessageToDict(cast("Any", value))
        case _:
            return value


# A tool that can be called: what a model is told of it, and the one way to call it.
#
# What is called takes two arguments, always: what the model asks, and what it is told out of
# band. A tool is a value; what changes its name, its description or its results makes another
# value around the same call, and so has no place in which to lose the context.

logger = logging.getLogger("onrecord")

ToolCallable: TypeAlias = Callable[[JsonObject, ToolCallContext], object]
"""What a tool does: it gives its result, or something to await that gives it."""

ApprovalRule: TypeAlias = bool | Callable[[dict[str, Any]], bool]
"""Which calls wait for a person: all, none, or those for whose arguments a function returns true."""

LONGEST: Final = 10_000
"""How many characters of a text are enough, where a tool is truncated."""

MARKER: Final = "\n... [truncated, {characters} chars shown]"
"""What follows a text that was cut."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A result that is an error: what went wrong, in the tool's own form."""

    content: Any


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that a `ToolRunner` can call: its definition, what it does, where it comes from.

    `is_async` says that calling it gives something to await at once, and so blocks no loop. A tool
    with an `advice`, blank or not, is called once in an exchange: after that the model is told so.
    What one gives that `answers` is the answer. `timeout` is in seconds, None is that of the runner.
    A call that `needs_approval` waits for a person; one that is `repeatable` may be made again where
    nobody knows whether it was made. `validate` returns the arguments as the function gets them, with
    its defaults, and raises for those that it does not take; None where no signature is known.
    """

    definition: ToolDefinition
    # What is called may show what is bound to it, such as a token.
    call: ToolCallable = field(repr=False)
    source: ToolSource = field(default_factory=lambda: ToolSource(origin="python"))
    is_async: bool = False
    advice: str | None = None
    answers: bool = False
    timeout: float | None = None
    needs_approval: ApprovalRule = False
    repeatable: bool = False
    validate: Callable[[JsonObject], dict[str, Any]] | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """Return the name that the model calls it by."""
        return self.definition.name

    def renamed(self, name: str) -> Tool:
        """Return the tool under another name."""
        if not text_given("a tool's name", name).strip():
            raise InvalidContent("a tool needs a name that is not blank")
        return replace(self, definition=self.definition.model_copy(update={"name": name}))

    def described(self, description: str) -> Tool:
        """Return the tool with other words for what it does."""
        checked = text_given("a tool's description", description)
        return replace(self, definition=self.definition.model_copy(update={"description": checked}))

    def transformed(self, change: Callable[[Any], object]) -> Tool:
        """Return a tool whose results are changed before anybody sees them; errors are not."""

        def call(arguments: JsonObject, context: ToolCallContext) -> object:
            return _then(self.call(arguments, context), lambda result: _changed(result, change))

        return replace(self, call=call)

    def truncated(self, characters: int = LONGEST, marker: str = MARKER) -> Tool:
        """Return a tool whose results are cut, where they are texts of more characters.

        `marker` follows what is left, with the number for `{characters}`.
        """
        if characters < 0:
            raise InvalidContent("a text is cut to a number of characters, 0 or more")
        ending = text_given("a marker", marker).replace("{characters}", str(characters))
        return self.transformed(lambda value: _cut(value, characters, ending))

    def once(self, advice: str = "") -> Tool:
        """Return a tool that a `ToolRunner` calls once in an exchange, until it gave a result.

        A model that calls it again is told where the result stands, and given the advice.
        """
        return replace(self, advice=text_given("an advice", advice))

    def answering(self) -> Tool:
        """Return a tool whose result is the answer: behind it `run_until_answered` asks no model."""
        return replace(self, answers=True)

    def with_options(
        self,
        *,
        needs_approval: ApprovalRule | None = None,
        repeatable: bool | None = None,
        timeout: float | None = None,
    ) -> Tool:
        """Return a tool whose calls a `ToolRunner` makes otherwise; what is left out stays as it is.

        A call waits for a person where `needs_approval` is true, or is a function (no coroutine function)
        that returns true for the arguments as the tool gets them. A `repeatable` call may be made again after the process died that made
        it. `timeout` is in seconds, and wins over that of the runner.
        """
        changed = self if timeout is None else replace(self, timeout=seconds_given(timeout))
        if repeatable is not None:
            changed = replace(changed, repeatable=bool(repeatable))
        if needs_approval is None:
            return changed
        return replace(changed, needs_approval=_approval_given(needs_approval))

    def observed(self, watch: Callable[[JsonObject, object], object]) -> Tool:
        """Return a tool of which somebody is told, behind each call: its arguments and its result.

        In place of a result it may be the exception that was raised. What `watch` itself raises is
        logged and changes nothing.
        """

        def call(arguments: JsonObject, context: ToolCallContext) -> object:
            try:
                result = self.call(arguments, context)
            except Exception as exc:
                _tell(watch, self.name, arguments, exc)
                raise
            if isawaitable(result):
                return _watched(result, lambda seen: _tell(watch, self.name, arguments, seen))
            _tell(watch, self.name, arguments, result)
            return result

        return replace(self, call=call)


def _approval_given(value: object) -> ApprovalRule:
    """Return what says whether a call needs approval; InvalidContent for what cannot say so."""
    if isinstance(value, bool):
        return value
    if not callable(value):
        raise InvalidContent("needs_approval is a truth value, or a function of the arguments")
    # A coroutine would be true, whatever it comes to.
    if iscoroutinefunction(value) or iscoroutinefunction(type(value).__call__):
        raise InvalidContent(
            "needs_approval is asynchronous: give a function that returns a truth value at once, "
            "or True, so that a person is asked about each call"
        )
    return cast("ApprovalRule", value)


def seconds_given(value: object) -> float:
    """Return a time-out, at most what a thread can wait; InvalidContent for what is none."""
    if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
        return min(value, TIMEOUT_MAX)
    raise InvalidContent("a time-out is a number of seconds above 0")


def _cut(result: object, characters: int, ending: str) -> object:
    if not isinstance(result, str) or len(result) <= characters:
        return result
    return f"{result[:characters]}{ending}"


def _then(result: object, change: Callable[[object], object]) -> object:
    """Return what becomes of a result, now or once it is there."""
    if isawaitable(result):
        return _later(result, change)
    return change(result)


async def _later(awaitable: Awaitable[object], change: Callable[[object], object]) -> object:
    return change(await awaitable)


def _changed(result: object, change: Callable[[Any], object]) -> object:
    return result if isinstance(result, Failed) else change(result)


async def _watched(awaitable: Awaitable[object], tell: Callable[[object], None]) -> object:
    try:
        result = await awaitable
    except Exception as exc:
        tell(exc)
        raise
    tell(result)
    return result


def _tell(
    watch: Callable[[JsonObject, object], object], name: str, arguments: JsonObject, seen: object
) -> None:
    try:
        watch(arguments, seen)
    except Exception as exc:  # noqa: BLE001 - an observer is no part of the call
        logger.warning("an observer of the tool %r failed: %s", name, type(exc).__name__)


@dataclass(frozen=True, slots=True)
class Toolset:
    """Tools and where they come from: `conversation.tools.declare([toolset, ...])` declares both."""

    tools: tuple[ToolDefinition, ...]
    source: ToolSource
