"""What a tool is told out of band: a mapping that never changes and never shows a value."""

import copy
import dataclasses
import json
import logging
import pickle
import pprint
import threading
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError
from rich.console import Console
from rich.pretty import pretty_repr

from onrecord.domain import jsontext
from onrecord.domain.errors import InvalidContent, MalformedJson
from onrecord.domain.tool_context import EMPTY, ToolCallContext
from tests.patience import join

CANARY = "canary-4f1c0a"
SECRET = ToolCallContext(tenant_id="acme", token=CANARY)

contexts = st.dictionaries(st.text(max_size=4), st.integers(0, 3), max_size=4)


def test_no_entries_are_one_context() -> None:
    made = [ToolCallContext(), ToolCallContext.of(), ToolCallContext.of({})]
    assert all(context is EMPTY for context in made)
    assert not EMPTY and len(EMPTY) == 0 and dict(EMPTY) == {}


def test_what_is_absent_is_none_or_the_default() -> None:
    assert SECRET.get("tenant_id") == "acme"
    assert SECRET.get("locale") is None
    assert SECRET.get("locale", "de") == "de"
    assert "tenant_id" in SECRET
    assert "locale" not in SECRET


def test_none_is_a_value_and_not_the_default() -> None:
    context = ToolCallContext(locale=None)
    assert context.get("locale", "de") is None
    assert "locale" in context


def test_it_is_used_as_a_mapping() -> None:
    assert list(SECRET) == ["tenant_id", "token"]
    assert SECRET["token"] == CANARY
    assert {**SECRET} == dict(SECRET.items()) == {"tenant_id": "acme", "token": CANARY}
    assert SECRET.values() == ("acme", CANARY)


def test_it_is_a_copy_of_what_it_is_made_of() -> None:
    entries = {"tenant_id": "acme"}
    context = ToolCallContext.of(entries)
    entries["tenant_id"] = "other"
    assert context["tenant_id"] == "acme"


def test_what_is_made_of_it_is_a_copy() -> None:
    copied = dict(SECRET)
    copied["tenant_id"] = "other"
    assert SECRET["tenant_id"] == "acme"


def test_it_never_changes() -> None:
    changed: Any = SECRET
    with pytest.raises(AttributeError):
        changed.tenant_id = "other"
    with pytest.raises(AttributeError):
        del changed._entries
    with pytest.raises(TypeError):
        changed["tenant_id"] = "other"
    with pytest.raises(TypeError):
        changed._entries["tenant_id"] = "other"


def test_equal_entries_are_an_equal_context_in_any_order() -> None:
    one, other = ToolCallContext(a=[1], b=2), ToolCallContext(b=2, a=[1])
    assert one == other
    assert hash(one) == hash(other)
    assert one != ToolCallContext(a=[1], b=3)
    assert one != {"a": [1], "b": 2}


def test_merging_lets_the_other_win() -> None:
    merged = ToolCallContext(a=1, b=1).merge(ToolCallContext(b=2, c=2))
    assert merged == ToolCallContext(a=1, b=2, c=2)


def test_merging_a_plain_mapping_does_the_same() -> None:
    assert ToolCallContext(a=1).merge({"a": 2}) == ToolCallContext(a=2)


def test_merging_nothing_gives_the_same_object() -> None:
    assert SECRET.merge(EMPTY) is SECRET
    assert SECRET.merge({}) is SECRET
    assert EMPTY.merge(SECRET) is SECRET
    assert EMPTY.merge(EMPTY) is EMPTY


@given(contexts, contexts, contexts)
def test_merging_is_associative_and_changes_neither(
    a: dict[str, int], b: dict[str, int], c: dict[str, int]
) -> None:
    one, two, three = (ToolCallContext.of(entries) for entries in (a, b, c))
    assert one.merge(two).merge(three) == one.merge(two.merge(three))
    assert one.merge(two) == ToolCallContext.of({**a, **b})
    assert (dict(one), dict(two)) == (a, b)


def test_any_text_is_a_name() -> None:
    names = {"self": 1, "cls": 2, "entries": 3, "of": 4, "get": 5, "": 6}
    context = ToolCallContext.of(names)
    assert dict(context) == names
    assert context.get("get") == 5


def test_a_name_that_is_no_text_is_refused_without_its_value() -> None:
    entries: Any = {7: CANARY}
    with pytest.raises(InvalidContent, match="int") as refused:
        ToolCallContext.of(entries)
    assert CANARY not in str(refused.value)


def test_what_is_no_mapping_is_refused_without_its_value() -> None:
    for entries in (CANARY, [("token", CANARY)], 7):
        given: Any = entries
        with pytest.raises(InvalidContent) as refused:
            ToolCallContext.of(given)
        assert CANARY not in str(refused.value)


def test_a_missing_name_is_a_key_error_that_shows_no_value() -> None:
    with pytest.raises(KeyError) as missing:
        SECRET["locale"]
    assert CANARY not in "".join(traceback.format_exception(missing.value))


class Request(BaseModel):
    context: ToolCallContext
    name: str = "track"


@dataclass
class Call:
    context: ToolCallContext


SHOWN: dict[str, Callable[[ToolCallContext], str]] = {
    "repr": repr,
    "str": str,
    "format": lambda context: f"{context} {context!r} {context!s}",
    "percent": lambda context: "%s %r" % (context, context),  # noqa: UP031 - loggers do so
    "pprint": pprint.pformat,
    "rich": pretty_repr,
    "in a list": lambda context: repr([context, {"context": context}]),
    "a dataclass": lambda context: repr(Call(context)),
    "a dataclass as a dict": lambda context: repr(dataclasses.asdict(Call(context))),
    "a model": lambda context: repr(Request(context=context)),
    "a model's dump": lambda context: repr(Request(context=context).model_dump(mode="json")),
    "a model's JSON": lambda context: Request(context=context).model_dump_json(),
}


@pytest.mark.parametrize("shown", SHOWN)
def test_nothing_that_shows_it_shows_a_value(shown: str) -> None:
    text = SHOWN[shown](SECRET)
    assert CANARY not in text
    assert "acme" not in text
    assert "tenant_id" in text


def test_its_repr_names_what_it_holds() -> None:
    assert repr(SECRET) == "ToolCallContext(tenant_id=…, token=…)"
    assert repr(EMPTY) == "ToolCallContext()"


def test_a_model_that_holds_it_dumps_its_names() -> None:
    assert Request(context=SECRET).model_dump()["context"] == {"tenant_id": "…", "token": "…"}


def test_a_model_that_refuses_something_else_in_its_place_is_pydantics_error() -> None:
    given: Any = "acme"
    with pytest.raises(ValidationError):
        Request(context=given)


def test_no_json_is_written_of_it() -> None:
    with pytest.raises(TypeError) as refused:
        json.dumps({"context": SECRET})
    assert CANARY not in str(refused.value)
    with pytest.raises(MalformedJson) as malformed:
        jsontext.write({"context": SECRET})
    assert CANARY not in str(malformed.value)


def test_what_walks_mappings_does_not_walk_it() -> None:
    """A tool that gives back its context by mistake gives back nothing that can be recorded."""
    context: object = SECRET
    assert not isinstance(context, Mapping)


def test_it_is_not_pickled() -> None:
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(TypeError, match="pickled") as refused:
            pickle.dumps(SECRET, protocol)
        assert CANARY not in str(refused.value)


def test_its_copies_are_itself() -> None:
    assert copy.copy(SECRET) is SECRET
    assert copy.deepcopy(SECRET) is SECRET
    assert copy.deepcopy([SECRET])[0] is SECRET


def test_no_log_shows_a_value(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        logging.getLogger("any").debug("called with %s and %r", SECRET, SECRET)
    assert CANARY not in caplog.text


def test_a_traceback_with_locals_shows_no_value() -> None:
    console = Console(width=120, record=True, file=open("/dev/null", "w", encoding="utf-8"))  # noqa: SIM115, PTH123

    def fails(context: ToolCallContext) -> None:
        raise ValueError("no")

    with console.file:
        try:
            fails(SECRET)
        except ValueError:
            console.print_exception(show_locals=True)
    shown = console.export_text()
    assert "ToolCallContext(" in shown
    assert CANARY not in shown


def test_threads_read_it_together() -> None:
    seen: list[Any] = []
    threads = [
        threading.Thread(target=lambda: seen.append(SECRET.get("tenant_id"))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        join(thread)
    assert seen == ["acme"] * 8
