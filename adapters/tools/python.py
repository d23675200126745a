"""Python callables as tools: what a model is told is read from the signature.

The JSON Schema, and the validation of what a model asks, are pydantic's. A parameter of type
`ToolCallContext` gets the context of the call, wherever it stands; no model is told of it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import UnionType
from typing import (
    Annotated,
    Any,
    Final,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

from pydantic import PydanticUserError, TypeAdapter, ValidationError
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticSchemaGenerationError
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaWarningKind

from onrecord.adapters.inputs.arguments import kind_of
from onrecord.adapters.tools.tool import ApprovalRule, Tool
from onrecord.domain import jsontext
from onrecord.domain.errors import InvalidContent, InvalidInput
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.tool_context import ToolCallContext
from onrecord.domain.tools import ToolDefinition

_NO_SCHEMA: Final = (PydanticInvalidForJsonSchema, PydanticSchemaGenerationError, PydanticUserError)
_SEVERAL: Final = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class InvalidArguments(InvalidInput):
    """What a model asked of a tool is not what the tool takes; says which argument, and why."""


@overload
def tool(
    function: Callable[..., object],
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    needs_approval: ApprovalRule = False,
    repeatable: bool = False,
    timeout: float | None = None,
) -> Tool: ...
@overload
def tool(
    function: None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    needs_approval: ApprovalRule = False,
    repeatable: bool = False,
    timeout: float | None = None,
) -> Callable[[Callable[..., object]], Tool]: ...
def tool(
    function: Callable[..., object] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    needs_approval: ApprovalRule = False,
    repeatable: bool = False,
    timeout: float | None = None,
) -> Tool | Callable[[Callable[..., object]], Tool]:
    """Return a callable, sync or async, as a tool; also as a decorator, with or without brackets.

    Its name and the first paragraph of its docstring are what a model is told, unless others are
    given; `Annotated[str, Field(description="...")]` tells of a parameter. The others are options of
    its calls, as `Tool.with_options` has them. InvalidContent for what has no signature of named
    parameters, or types that JSON Schema cannot say.
    """
    if function is None:
        return lambda decorated: tool(
            decorated,
            name=name,
            description=description,
            needs_approval=needs_approval,
            repeatable=repeatable,
            timeout=timeout,
        )
    if not callable(cast("object", function)):
        raise InvalidContent(f"a tool is a callable, not {kind_of(function)}")
    called = _Called.of(function, _name(function) if name is None else name)
    definition = ToolDefinition(
        name=called.name,
        description=_first_paragraph(function) if description is None else description,
        input_schema=called.schema(),
    )
    made = Tool(definition, called, is_async=_is_async(function), validate=called.validated)
    return made.with_options(needs_approval=needs_approval, repeatable=repeatable, timeout=timeout)


@dataclass(frozen=True, slots=True)
class _Called:
    """A callable, what its arguments are validated with, and which of them are the context."""

    name: str
    function: Callable[..., object]
    signature: inspect.Signature
    takes: TypeAdapter[dict[str, Any]]
    contexts: tuple[str, ...]

    @staticmethod
    def of(function: Callable[..., object], name: str) -> _Called:
        """Return a callable as it is called; InvalidContent where a model could not call it."""
        signature = _signature(function, name)
        parameters = list(signature.parameters.values())
        contexts = tuple(each.name for each in parameters if _is_context(each.annotation))
        hidden = {*contexts, *_bound(function)}
        shown = [each for each in parameters if each.name not in hidden]
        try:
            takes: TypeAdapter[dict[str, Any]] = TypeAdapter(cast("Any", _stand_in(shown)))
        except _NO_SCHEMA as exc:
            raise _without_schema(name, exc) from exc
        return _Called(name, function, signature, takes, contexts)

    def schema(self) -> JsonObject:
        """Return the JSON Schema of what a model may ask."""
        try:
            return self.takes.json_schema(schema_generator=_Schema)
        except _NO_SCHEMA as exc:
            raise _without_schema(self.name, exc) from exc

    def __call__(self, arguments: JsonObject, context: ToolCallContext) -> object:
        """Call it; InvalidArguments for what it does not take."""
        values = self.validated(arguments)
        values.update(dict.fromkeys(self.contexts, context))
        positional: list[Any] = []
        for parameter in self.signature.parameters.values():
            if parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
                positional.append(values.pop(parameter.name))
        return self.function(*positional, **values)

    def validated(self, arguments: JsonObject) -> dict[str, Any]:
        """Return the arguments, with defaults; InvalidArguments for what it does not take."""
        # A caller that is no runner may hand over anything.
        if not isinstance(cast("object", arguments), Mapping):
            raise InvalidArguments(f"the arguments are no JSON object but {kind_of(arguments)}")
        try:
            # As JSON: what has no form of its own there, such as a date, comes as a text.
            return self.takes.validate_json(jsontext.write(dict(arguments)))
        except ValidationError as exc:
            errors = exc.errors(include_url=False, include_context=False, include_input=False)
            reasons = [
                f"{_place(error['loc'])}: {_why(error['type'], error['msg'])}" for error in errors
            ]
        raise InvalidArguments(
            f"the arguments of {self.name!r} are not valid: {'; '.join(reasons)}"
        )


class _Schema(GenerateJsonSchema):
    """Writes schemas without titles, which only repeat names; a default that is no JSON is not told."""

    ignored_warning_kinds: set[JsonSchemaWarningKind] = {  # noqa: RUF012 - as pydantic has it
        "non-serializable-default",
        "skipped-choice",
    }

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Set none."""
        return False


def _is_async(function: Callable[..., object]) -> bool:
    bare = _bared(function)
    called = bare if inspect.isroutine(bare) else type(bare).__call__
    return inspect.iscoroutinefunction(bare) or inspect.iscoroutinefunction(called)


def _signature(function: Callable[..., object], name: str) -> inspect.Signature:
    """Return the signature, its annotations resolved; InvalidContent for one that has no names."""
    try:
        signature = inspect.signature(function)
        hints = _hints(function)
    except (TypeError, ValueError, NameError) as exc:
        raise InvalidContent(f"the signature of the tool {name!r} cannot be read: {exc}") from exc
    if next(iter(signature.parameters), None) == "self":
        raise InvalidContent(
            f"the tool {name!r} is a method of no object yet: give that of one, onrecord.tool(one.{name})"
        )
    several = [each.name for each in signature.parameters.values() if each.kind in _SEVERAL]
    if several:
        raise InvalidContent(
            f"the tool {name!r} takes any number of arguments ({', '.join(several)}): "
            "a model has to be told of each, so name them"
        )
    resolved = [
        each.replace(annotation=hints.get(each.name, each.annotation))
        for each in signature.parameters.values()
    ]
    return signature.replace(parameters=resolved)


def _hints(function: Callable[..., object]) -> dict[str, Any]:
    """Return the types of a callable's parameters: its own, or those of what it stands for."""
    bare: Any = _bared(function)
    if not (inspect.isroutine(bare) or inspect.isclass(bare)):
        bare = type(bare).__call__
    return get_type_hints(bare.__init__ if inspect.isclass(bare) else bare, include_extras=True)


def _bared(function: Callable[..., object]) -> Callable[..., object]:
    """Return what a partial stands for, anything else as it is."""
    while isinstance(function, partial):
        function = function.func
    return function


def _bound(function: Callable[..., object]) -> frozenset[str]:
    """Return the names that a partial has values for: these are no model's to see, or to change."""
    return frozenset(function.keywords) if isinstance(function, partial) else frozenset()


def _is_context(annotation: object) -> bool:
    """Whether a parameter of this type gets the context."""
    if annotation is ToolCallContext:
        return True
    origin = get_origin(annotation)
    if origin is Annotated:
        return _is_context(get_args(annotation)[0])
    if origin in (Union, UnionType):
        return any(_is_context(option) for option in get_args(annotation))
    return False


def _stand_in(parameters: list[inspect.Parameter]) -> Callable[..., dict[str, Any]]:
    """Return a callable that gives back its arguments, for pydantic to read and to validate."""

    def arguments(**values: Any) -> dict[str, Any]:
        return values

    named = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters]
    stand_in: Any = arguments
    stand_in.__signature__ = inspect.Signature(named)
    stand_in.__annotations__ = {
        each.name: Any if each.annotation is inspect.Parameter.empty else each.annotation
        for each in named
    }
    return arguments


def _name(function: Callable[..., object]) -> str:
    name: object = getattr(function, "__name__", None)
    if isinstance(name, str) and name.isidentifier():
        return name
    raise InvalidContent(
        f"a {kind_of(function)} has no name of its own: give it one, onrecord.tool(..., name=...)"
    )


def _first_paragraph(function: Callable[..., object]) -> str | None:
    """Return the first paragraph of a callable's own docstring, as one line."""
    documented = inspect.isroutine(function) or inspect.isclass(function)
    text = inspect.getdoc(function) if documented else inspect.getdoc(type(function).__call__)
    first = (text or "").strip().split("\n\n", 1)[0]
    return " ".join(first.split()) or None


def _without_schema(name: str, exc: Exception) -> InvalidContent:
    return InvalidContent(f"no JSON Schema says what the tool {name!r} takes: {exc}".split("\n")[0])


def _place(loc: tuple[int | str, ...]) -> str:
    return ".".join(map(str, loc)) or "arguments"


def _why(kind: str, message: str) -> str:
    """Return pydantic's message, in words that fit arguments by name."""
    match kind:
        case "missing_keyword_only_argument":
            return "it is missing"
        case "unexpected_keyword_argument":
            return "there is no such argument"
        case _:
            return message
