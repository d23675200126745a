"""Python callables as tools: what a model is told, what is injected, what is refused."""

import dataclasses
import datetime
import enum
import functools
import uuid
import warnings
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Annotated, Any, Literal, Optional, Union

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

import onrecord
from onrecord.adapters.tools.python import InvalidArguments, tool
from onrecord.domain.errors import InvalidContent
from onrecord.domain.tool_context import EMPTY, ToolCallContext

CONTEXT = ToolCallContext(tenant_id="acme")


@dataclasses.dataclass
class Address:
    city: str
    number: int = 1


class Parcel(BaseModel):
    id: str
    weight: Decimal = Decimal(1)


class Depot(enum.Enum):
    NORTH = "north"
    SOUTH = "south"


class Span(TypedDict):
    first: int
    last: int


def schema(function: Callable[..., object]) -> dict[str, Any]:
    return tool(function).definition.input_schema


def track(
    parcel: Annotated[str, Field(description="Its number.")], days: int = 3, *, urgent: bool = False
) -> str:
    """Find a parcel
    in the depots.

    Slow on Mondays.
    """
    return f"{parcel} {days} {urgent}"


def test_a_model_is_told_name_first_paragraph_and_schema() -> None:
    assert tool(track).definition == onrecord.ToolDefinition(
        name="track",
        description="Find a parcel in the depots.",
        input_schema={
            "type": "object",
            "properties": {
                "parcel": {"type": "string", "description": "Its number."},
                "days": {"type": "integer", "default": 3},
                "urgent": {"type": "boolean", "default": False},
            },
            "required": ["parcel"],
            "additionalProperties": False,
        },
    )


def test_it_is_called_with_what_the_model_asks_and_with_defaults() -> None:
    assert tool(track).call({"parcel": "NW-1"}, EMPTY) == "NW-1 3 False"
    assert tool(track).call({"urgent": True, "parcel": "NW-1", "days": 5}, EMPTY) == "NW-1 5 True"


def test_the_decorator_gives_a_tool_with_or_without_brackets() -> None:
    @onrecord.tool
    def one() -> str:
        """Give one."""
        return "1"

    @onrecord.tool(name="zwei", description="Give two.")
    def two() -> str:
        return "2"

    assert (one.name, one.definition.description) == ("one", "Give one.")
    assert (two.name, two.definition.description) == ("zwei", "Give two.")
    assert (one.call({}, EMPTY), two.call({}, EMPTY)) == ("1", "2")


def test_no_docstring_is_no_description() -> None:
    def silent() -> None: ...

    assert tool(silent).definition.description is None


@dataclasses.dataclass
class Shop:
    name: str

    def __call__(self, item: str) -> str:
        """Buy something."""
        return f"{item} of {self.name}"

    def sells(self, item: str, context: ToolCallContext) -> str:
        """Tell what it sells."""
        return f"{item} {context['tenant_id']}"


def test_methods_partials_and_callable_objects_are_tools() -> None:
    shop = Shop("Kiosk")
    assert tool(shop.sells).call({"item": "tea"}, CONTEXT) == "tea acme"
    bought = tool(shop, name="buy")
    assert bought.definition.description == "Buy something."
    assert bought.call({"item": "tea"}, EMPTY) == "tea of Kiosk"
    urgent = tool(functools.partial(track, urgent=True), name="hurry")
    assert urgent.call({"parcel": "NW-1"}, EMPTY) == "NW-1 3 True"


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_coroutine_function_is_a_tool_to_await() -> None:
    async def look_up(parcel: str, context: ToolCallContext) -> str:
        return f"{parcel} {context['tenant_id']}"

    made = tool(look_up)
    assert made.is_async
    given: Any = made.call({"parcel": "NW-1"}, CONTEXT)
    assert await given == "NW-1 acme"


def test_rich_types_come_as_themselves() -> None:
    def ship(
        parcel: Parcel,
        to: Address,
        depot: Depot,
        when: datetime.date,
        id: uuid.UUID,
        how: Literal["slow", "fast"],
        parts: list[int],
        names: tuple[str, ...],
        span: Span,
        note: Optional[str] = None,  # noqa: UP045 - as programs write it
        either: Union[int, str] = 0,  # noqa: UP007 - as programs write it
    ) -> tuple[Any, ...]:
        return parcel, to, depot, when, id, how, parts, names, span, note, either

    asked = {
        "parcel": {"id": "NW-1", "weight": "2.50"},
        "to": {"city": "Kiel"},
        "depot": "south",
        "when": "2026-11-21",
        "id": "018f0000-0000-7000-8000-000000000001",
        "how": "fast",
        "parts": [1, 2],
        "names": ["a"],
        "span": {"first": 1, "last": 2},
    }
    assert tool(ship).call(asked, EMPTY) == (
        Parcel(id="NW-1", weight=Decimal("2.50")),
        Address("Kiel", 1),
        Depot.SOUTH,
        datetime.date(2026, 11, 21),
        uuid.UUID("018f0000-0000-7000-8000-000000000001"),
        "fast",
        [1, 2],
        ("a",),
        {"first": 1, "last": 2},
        None,
        0,
    )
    properties = schema(ship)["properties"]
    assert properties["depot"] == {"$ref": "#/$defs/Depot"}
    assert properties["note"]["default"] is None
    assert "note" not in schema(ship)["required"]


def test_names_that_pydantic_has_itself_are_names_of_parameters() -> None:
    def odd(schema: str, copy: int, json: bool, model_dump: str, _meta: str) -> tuple[Any, ...]:
        return schema, copy, json, model_dump, _meta

    asked = {"schema": "a", "copy": 1, "json": True, "model_dump": "b", "_meta": "c"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = tool(odd)
    assert set(made.definition.input_schema["properties"]) == set(asked)
    assert made.call(asked, EMPTY) == ("a", 1, True, "b", "c")


def test_an_alias_is_what_the_model_is_told() -> None:
    def mail(to: str, sender: Annotated[str, Field(alias="from")]) -> str:
        return f"{sender}>{to}"

    assert set(schema(mail)["properties"]) == {"to", "from"}
    assert tool(mail).call({"to": "b", "from": "a"}, EMPTY) == "a>b"


def test_a_parameter_without_a_type_takes_anything() -> None:
    def loose(anything):  # type: ignore[no-untyped-def]  # it is what is tested
        return anything  # pyright: ignore[reportUnknownVariableType] - it is what is tested

    made = tool(loose)  # pyright: ignore[reportUnknownArgumentType] - it is what is tested
    assert made.definition.input_schema["properties"] == {"anything": {}}
    assert made.call({"anything": [1, {"a": None}]}, EMPTY) == [1, {"a": None}]


def test_a_default_that_is_no_json_is_not_told() -> None:
    def since(when: object = object()) -> bool:
        return when is not None

    assert schema(since)["properties"] == {"when": {}}
    assert tool(since).call({}, EMPTY) is True


# -- the context --------------------------------------------------------------------------------


def first(context: ToolCallContext, a: int) -> Any:
    return context, a


def between(a: int, context: ToolCallContext, b: int = 2) -> Any:
    return context, a


def last(a: int, context: ToolCallContext | None = None) -> Any:
    return context, a


def named(a: int, *, about: Optional[ToolCallContext] = None) -> Any:  # noqa: UP045
    return about, a


def annotated(a: int, context: Annotated[ToolCallContext, "out of band"]) -> Any:
    return context, a


def in_words(a: int, context: "ToolCallContext") -> Any:
    return context, a


def in_words_or_none(a: int, context: "ToolCallContext | None" = None) -> Any:
    return context, a


def by_place(a: int, context: ToolCallContext, /) -> Any:
    return context, a


WITH_CONTEXT = (first, between, last, named, annotated, in_words, in_words_or_none, by_place)


@pytest.mark.parametrize("function", WITH_CONTEXT, ids=lambda function: function.__name__)
def test_the_context_is_injected_wherever_it_stands(function: Callable[..., Any]) -> None:
    assert tool(function).call({"a": 1}, CONTEXT) == (CONTEXT, 1)
    assert tool(function).call({"a": 1}, EMPTY)[0] is EMPTY  # type: ignore[index]  # it is a tuple


@pytest.mark.parametrize("function", WITH_CONTEXT, ids=lambda function: function.__name__)
def test_no_model_is_told_of_the_context(function: Callable[..., Any]) -> None:
    told = schema(function)
    assert set(told["properties"]) - {"b"} == {"a"}
    assert told["required"] == ["a"]
    assert "ontext" not in str(told)


@pytest.mark.parametrize("function", WITH_CONTEXT, ids=lambda function: function.__name__)
def test_a_model_cannot_give_the_context_itself(function: Callable[..., Any]) -> None:
    for name in ("context", "about"):
        with pytest.raises(InvalidArguments, match=f"{name}: there is no such argument"):
            tool(function).call({"a": 1, name: {"tenant_id": "other"}}, CONTEXT)


def test_a_tool_of_nothing_but_a_context_has_no_properties() -> None:
    def who(context: ToolCallContext) -> Any:
        return context["tenant_id"]

    assert schema(who)["properties"] == {}
    assert "required" not in schema(who)
    assert tool(who).call({}, CONTEXT) == "acme"


def test_two_parameters_of_a_context_both_get_it() -> None:
    def twice(one: ToolCallContext, a: int, two: ToolCallContext) -> Any:
        return one is two

    assert tool(twice).call({"a": 1}, CONTEXT) is True


def test_a_tool_without_a_context_is_called_without_one() -> None:
    assert tool(track).call({"parcel": "NW-1"}, CONTEXT) == "NW-1 3 False"


# -- bad input ----------------------------------------------------------------------------------


def test_a_bad_argument_says_which_and_why() -> None:
    with pytest.raises(InvalidArguments) as refused:
        tool(track).call({"days": "soon", "when": 1}, EMPTY)
    said = str(refused.value)
    assert said.startswith("the arguments of 'track' are not valid: ")
    assert "parcel: it is missing" in said
    assert "days: Input should be a valid integer" in said
    assert "when: there is no such argument" in said


def test_a_bad_argument_within_one_is_named_by_its_place() -> None:
    def ship(to: list[Address]) -> None: ...

    with pytest.raises(InvalidArguments, match=r"to\.1\.city: "):
        tool(ship).call({"to": [{"city": "Kiel"}, {}]}, EMPTY)


@pytest.mark.parametrize("arguments", ["{", [1], 7, None])
def test_arguments_that_are_no_object_are_refused(arguments: Any) -> None:
    with pytest.raises(InvalidArguments, match="no JSON object"):
        tool(track).call(arguments, EMPTY)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["parcel", "days", "urgent", "x"]), json_values))
def test_whatever_a_model_asks_is_called_or_refused(arguments: Mapping[str, Any]) -> None:
    try:
        assert isinstance(tool(track).call(dict(arguments), EMPTY), str)
    except InvalidArguments as refused:
        assert "track" in str(refused)


def any_number(*parcels: str) -> None: ...
def anything(**options: str) -> None: ...
def of_no_schema(when: Callable[[], int]) -> None: ...
def unresolved(when: "NowhereToBeFound") -> None: ...  # type: ignore[name-defined]  # noqa: F821 # pyright: ignore[reportUndefinedVariable]


UNTOLD: dict[str, Callable[..., Any]] = {
    "any number of arguments (parcels)": any_number,
    "any number of arguments (options)": anything,
    "no JSON Schema": of_no_schema,
    "cannot be read": unresolved,
}


@pytest.mark.parametrize("why", UNTOLD)
def test_a_signature_that_no_model_can_be_told_is_refused(why: str) -> None:
    function = UNTOLD[why]
    with pytest.raises(InvalidContent) as refused:
        tool(function)
    assert why in str(refused.value)
    assert function.__name__ in str(refused.value)


def test_what_has_no_name_needs_one() -> None:
    for function in (lambda: 1, functools.partial(track), Shop("Kiosk")):
        with pytest.raises(InvalidContent, match="name="):
            tool(function)


def test_what_is_not_callable_is_no_tool() -> None:
    given: Any = "track"
    with pytest.raises(InvalidContent, match="not str"):
        tool(given)
