"""An API that a package adds: what is wrong with a part of it is found where that is loaded."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import EntryPoint
from itertools import count
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import onrecord
from onrecord.adapters.wire.api import Endpoint, Wire
from onrecord.adapters.wire.wires import WIRES
from onrecord.domain.content import Opaque
from onrecord.domain.errors import InvalidProvider, UnknownApi
from onrecord.projections.api import (
    FOLDERS,
    GROUP,
    Api,
    Reader,
    UsagePlaces,
    known_api,
    known_rules,
    usable,
)
from onrecord.projections.apis.capabilities import rows_of

NUMBERS = count()


def nothing(*_: object) -> Any:
    return None


READER = Reader(lambda _: Opaque(api="toy", type="line"), lambda _: "", nothing)
WIRE = Wire(
    api="toy",
    streams={},
    read_body=nothing,
    event_of=nothing,
    read_request=nothing,
    request_events=nothing,
    endpoints=(Endpoint("POST", "toy/talk", "turn"),),
    content_paths=frozenset(),
)


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A package that adds the API `toy`, of parts that a test may replace before they are loaded."""
    module: Any = ModuleType(f"onrecord_toy_{next(NUMBERS)}")  # Each is loaded once.
    place = module.__name__
    module.API = Api("toy", "lines", READER, nothing, wire=f"{place}:WIRE", rules=f"{place}:RULES")
    module.WIRE, module.RULES = WIRE, ()
    entry = EntryPoint("toy", f"{place}:API", GROUP)
    monkeypatch.setitem(sys.modules, place, module)
    added = SimpleNamespace(entries={"toy": entry}, faults=())
    monkeypatch.setattr("onrecord.projections.api._added", lambda: added)
    known_rules.cache_clear()
    yield module
    known_rules.cache_clear()


def test_an_api_of_right_parts_is_used(package: Any) -> None:
    assert known_api("toy") is package.API
    assert WIRES["toy"] is WIRE
    assert known_rules()["toy"] == ()


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("messages", 5),
        ("reader", nothing),
        ("reader", replace(READER, block=5)),
        ("reader", replace(READER, failed=5)),
        ("render", 7),
        ("usage", 3),
        ("usage", UsagePlaces(cached=("usage",))),  # type: ignore[arg-type]
        ("has_call_ids", "no"),
        ("wire", 3),
        ("rules", 3),
        ("capabilities", 5),
        ("builtin_tools", 7),
        ("builtin_tools", {"web_search": 7}),
    ],
)
def test_an_api_with_a_wrong_part_is_an_error_that_names_package_and_part(
    package: Any, member: str, value: Any
) -> None:
    package.API = replace(package.API, **{member: value})
    with pytest.raises(InvalidProvider, match=f"{package.__name__}.* its {member} is a "):
        known_api("toy")
    assert {api.name for api in usable()} == set(FOLDERS)
    with pytest.raises(UnknownApi, match="choose one of"):
        onrecord.check_request("nope", {})


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("streams", {"text/event-stream": 3}),
        ("event_of", None),
        ("endpoints", None),
        ("endpoints", ("toy/talk",)),
        ("endpoints", (Endpoint("POST", 5, "turn"),)),  # type: ignore[arg-type]
        ("endpoints", (Endpoint("POST", "toy/talk", "nope"),)),  # type: ignore[arg-type]
        ("content_paths", ["/lines"]),
        ("tools_path", 3),
        ("headers", "accept"),
        ("batches", True),
    ],
)
def test_a_wire_with_a_wrong_part_is_an_error_that_names_package_and_part(
    package: Any, member: str, value: Any
) -> None:
    package.WIRE = replace(WIRE, **{member: value})
    with pytest.raises(InvalidProvider, match=f"{package.__name__}.* its {member} is a "):
        WIRES["toy"]
    assert set(WIRES) == set(FOLDERS)


def test_rules_that_are_none_are_an_error_where_they_are_asked_for(package: Any) -> None:
    package.RULES = (3,)
    with pytest.raises(InvalidProvider, match="each of it must be a Rule"):
        onrecord.check_request("toy", {})
    assert set(known_rules()) == set(FOLDERS)


def test_capabilities_without_their_shape_are_an_error_that_names_the_package(package: Any) -> None:
    package.API = replace(package.API, capabilities={"nope": {}})
    with pytest.raises(InvalidProvider, match=f"{package.__name__}.*toy.nope: is not one of"):
        rows_of("toy")


def test_what_is_rendered_must_be_a_request(package: Any) -> None:
    with onrecord.connect("memory://") as store:
        chat = store.conversation("k")
        chat.user("Hello")
        with pytest.raises(InvalidProvider, match="its `render` returns a NoneType"):
            chat.request("toy")
