"""An API that a package adds: what is wrong with a part of it is found where that is loaded."""

import gc
import re
import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import fields, replace
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, Final, cast
from uuid import UUID

import httpx
import pytest

import onrecord
from onrecord.adapters.wire.api import Endpoint, Wire
from onrecord.adapters.wire.wires import WIRES
from onrecord.domain.content import Native, Opaque
from onrecord.domain.errors import InvalidProvider, UnknownApi
from onrecord.domain.events import MessageRecorded, ResponseCompleted, ToolCallRecorded
from onrecord.projections.api import (
    FOLDERS,
    GROUP,
    Api,
    Reader,
    UsagePlaces,
    api_of,
    known_api,
    known_rules,
    usable,
)
from onrecord.projections.apis.draft import Draft


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
def package(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A package that adds the API `toy`, of parts that a test may replace before they are loaded."""
    module: Any = ModuleType("onrecord_toy")
    place = module.__name__
    module.API = Api("toy", "lines", READER, nothing, wire=f"{place}:WIRE", rules=f"{place}:RULES")
    module.WIRE, module.RULES = WIRE, ()
    entry = EntryPoint("toy", f"{place}:API", GROUP)
    monkeypatch.setitem(sys.modules, place, module)
    added = SimpleNamespace(entries={"toy": entry}, faults=())
    monkeypatch.setattr("onrecord.projections.api._added", lambda: added)
    monkeypatch.setattr("onrecord.projections.api._parts", {})
    return module


def test_an_api_of_right_parts_is_used(package: Any) -> None:
    assert known_api("toy") is package.API
    assert WIRES["toy"] is WIRE
    assert known_rules()["toy"] == ()


@pytest.mark.parametrize(
    ("member", "value", "fault"),
    [
        ("messages", 5, " is a int, but must be str"),
        ("reader", nothing, " is a function, but must be Reader"),
        (
            "reader",
            replace(READER, block=cast("Any", "b")),
            ".block is a str, but must be callable",
        ),
        (
            "reader",
            replace(READER, failed=cast("Any", 5)),
            ".failed is a int, but must be callable",
        ),
        ("render", 7, " is a int, but must be callable"),
        ("usage", 3, " is a int, but must be UsagePlaces"),
        ("usage", UsagePlaces(cached=cast("Any", "usage")), ".cached is a str, but must be tuple"),
        (
            "usage",
            UsagePlaces(reasoning=(("usage",), cast("Any", ("usage", 5)))),
            ".reasoning[1][1] is a int, but must be str",
        ),
        ("has_call_ids", "no", " is a str, but must be bool"),
        ("wire", 3, " is a int, but must be str"),
        ("rules", 3, " is a int, but must be str"),
        ("capabilities", 5, " is a int, but must be Mapping"),
        ("capabilities", {1: 2}, " has the key 1, which must be str"),
        (
            "capabilities",
            {"models": {1: {}}},
            " are not as they must be: toy.models: has the key 1, which is no text",
        ),
        ("capabilities", {"nope": {}}, " are not as they must be: toy.nope: is not one of"),
        ("builtin_tools", 7, " is a int, but must be Mapping"),
        ("builtin_tools", {"search": 7}, "['search'] is a int, but must be callable"),
    ],
)
def test_an_api_with_a_wrong_part_is_an_error_that_names_package_and_part(
    package: Any, member: str, value: Any, fault: str
) -> None:
    package.API = replace(package.API, **{member: value})
    reason = f"{package.__name__}:API cannot be used: its {member}{fault}"
    with pytest.raises(InvalidProvider, match=re.escape(reason)):
        known_api("toy")
    assert {api.name for api in usable()} == set(FOLDERS)
    with pytest.raises(UnknownApi, match="choose one of"):
        onrecord.check_request("nope", {})


@pytest.mark.parametrize(
    ("member", "value", "fault"),
    [
        ("streams", {"text/plain": 3}, "['text/plain'] is a int, but must be callable"),
        ("event_of", None, " is a NoneType, but must be callable"),
        ("endpoints", None, " is a NoneType, but must be tuple"),
        ("endpoints", ("toy/talk",), "[0] is a str, but must be Endpoint"),
        (
            "endpoints",
            (Endpoint("POST", cast("Any", 5), "turn"),),
            "[0].path is a int, but must be str",
        ),
        (
            "endpoints",
            (*WIRE.endpoints, Endpoint("POST", "toy/talk", cast("Any", "nope"))),
            "[1].kind is a str, but must be one of turn, answer,",
        ),
        ("content_paths", ["/lines"], " is a list, but must be frozenset of str"),
        ("tools_path", 3, " is a int, but must be str"),
        ("headers", "accept", " is a str, but must be tuple"),
        ("batches", True, " is a bool, but must be BatchWire"),
    ],
)
def test_a_wire_with_a_wrong_part_is_an_error_that_names_package_and_part(
    package: Any, member: str, value: Any, fault: str
) -> None:
    package.WIRE = replace(WIRE, **{member: value})
    reason = f"{package.__name__}:WIRE cannot be used: its {member}{fault}"
    with pytest.raises(InvalidProvider, match=re.escape(reason)):
        WIRES["toy"]
    assert set(WIRES) == set(FOLDERS)


class Odd:
    """What no member of a part can be."""


ODD: Final[Any] = Odd()


@pytest.mark.parametrize("member", [member.name for member in fields(Api)])
def test_each_member_of_an_api_is_looked_at(package: Any, member: str) -> None:
    package.API = replace(package.API, **{member: ODD})
    assert f"its {member} is a Odd, but must be " in refusal()


@pytest.mark.parametrize("member", [member.name for member in fields(Reader)])
def test_each_member_of_a_reader_is_looked_at(package: Any, member: str) -> None:
    package.API = replace(package.API, reader=replace(READER, **{member: ODD}))
    assert f"its reader.{member} is a Odd, but must be callable" in refusal()


@pytest.mark.parametrize("member", UsagePlaces._fields)
def test_each_place_of_usage_is_looked_at(package: Any, member: str) -> None:
    package.API = replace(package.API, usage=UsagePlaces(**{member: ODD}))
    assert f"its usage.{member} is a Odd, but must be tuple" in refusal()


@pytest.mark.parametrize("member", [member.name for member in fields(Wire)])
def test_each_member_of_a_wire_is_looked_at(package: Any, member: str) -> None:
    package.WIRE = replace(WIRE, **{member: ODD})
    with pytest.raises(InvalidProvider, match=f"its {member} is a Odd, but must be "):
        WIRES["toy"]


@pytest.mark.parametrize("member", [member.name for member in fields(Endpoint)])
def test_each_member_of_an_endpoint_is_looked_at(package: Any, member: str) -> None:
    endpoint = replace(WIRE.endpoints[0], **{member: ODD})
    package.WIRE = replace(WIRE, endpoints=(endpoint,))
    with pytest.raises(
        InvalidProvider, match=rf"its endpoints\[0\].{member} is a Odd, but must be "
    ):
        WIRES["toy"]


def test_rules_that_are_none_are_an_error_where_they_are_asked_for(package: Any) -> None:
    package.RULES = (3,)
    with pytest.raises(InvalidProvider, match="each of it must be a Rule"):
        onrecord.check_request("toy", {})
    assert set(known_rules()) == set(FOLDERS)


def test_what_is_rendered_must_be_a_request(package: Any) -> None:
    with onrecord.connect("memory://") as store:
        chat = store.conversation("k")
        chat.user("Hello")
        with pytest.raises(InvalidProvider, match="its `render` returns a NoneType"):
            chat.request("toy")


# Why a package cannot be used is kept where that is its own fault. No error is kept.


@pytest.fixture
def run_by_import(
    package: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[BaseException | None], list[str]]]:
    """Make a module of the package, which raises an error if there is one; return its runs."""
    runs: list[str] = []
    errors: list[BaseException | None] = []

    def run() -> None:
        runs.append("run")
        if errors[-1]:
            raise errors[-1]

    def made(error: BaseException | None) -> list[str]:
        errors.append(error)
        monkeypatch.delitem(sys.modules, package.__name__, raising=False)
        return runs

    monkeypatch.setattr("onrecord.run_of_toy", run, raising=False)
    monkeypatch.setattr("onrecord.api_of_toy", package.API, raising=False)
    source = "import onrecord\nonrecord.run_of_toy()\nAPI = onrecord.api_of_toy\n"
    (tmp_path / f"{package.__name__}.py").write_text(source, "utf-8")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    yield made
    sys.modules.pop(package.__name__, None)


def refusal() -> str:
    """Return why the toy cannot be used."""
    with pytest.raises(InvalidProvider) as refused:
        known_api("toy")
    return str(refused.value)


def test_a_module_that_fails_is_run_once(
    run_by_import: Callable[[BaseException | None], list[str]],
) -> None:
    runs = run_by_import(ZeroDivisionError("no toys"))
    assert "cannot be imported: ZeroDivisionError('no toys')" in refusal()
    assert refusal() == refusal()
    assert runs == ["run"]


@pytest.mark.parametrize("error", [SystemExit(3), OSError(24, "Too many open files")])
def test_what_may_be_of_the_moment_is_not_kept(
    run_by_import: Callable[[BaseException | None], list[str]], error: BaseException
) -> None:
    run_by_import(error)
    assert "cannot be imported" in refusal()
    assert {api.name for api in usable()} == set(FOLDERS)
    run_by_import(None)
    assert known_api("toy").name == "toy"


@pytest.mark.parametrize("error", [KeyboardInterrupt(), MemoryError(), RecursionError()])
def test_what_is_of_the_program_that_asks_is_raised_as_it_is(
    run_by_import: Callable[[BaseException | None], list[str]], error: BaseException
) -> None:
    run_by_import(error)
    with pytest.raises(type(error)):
        api_of("toy")
    run_by_import(None)
    assert known_api("toy").name == "toy"


@pytest.mark.parametrize("is_added_twice", [False, True])
def test_nothing_of_who_asked_is_kept_with_the_fault(
    package: Any, monkeypatch: pytest.MonkeyPatch, is_added_twice: bool
) -> None:
    class Secret:
        pass

    def ask() -> weakref.ref[Secret]:
        secret = Secret()
        with suppress(InvalidProvider):
            known_api("toy")
        return weakref.ref(secret)

    package.API = 7
    if is_added_twice:
        both = SimpleNamespace(entries={}, faults=("two packages add the API 'toy'",))
        monkeypatch.setattr("onrecord.projections.api._added", lambda: both)
    asked = ask()
    gc.collect()
    assert asked() is None


def test_each_who_asks_gets_an_error_of_their_own(package: Any) -> None:
    package.API = 7
    with pytest.raises(InvalidProvider) as first:
        known_api("toy")
    with pytest.raises(InvalidProvider) as second:
        known_api("toy")
    assert first.value is not second.value
    assert str(first.value) == str(second.value)


# What was recorded with a package that cannot be used is read as without it.


def talked(store: onrecord.Store) -> onrecord.Conversation:
    """A conversation with an answer of the toy's: a text and a call."""
    response = UUID(int=1)
    text = Native(api="toy", value={"text": "I add them."})
    call = Native(api="toy", value={"call": "c1", "tool": "add"})
    chat = store.conversation("k")
    chat.user("What is 1 + 2?")
    chat.log.append(
        MessageRecorded(role="assistant", content=(text,), response=response, index=0),
        ToolCallRecorded(call_id="c1", name="add", content=call, response=response, index=1),
        ResponseCompleted(response=response, api="toy", model="toy-1", envelope={}),
    )
    return chat


@pytest.fixture
def talk() -> Iterator[onrecord.Conversation]:
    with onrecord.connect("memory://") as store:
        yield talked(store)


def readings(chat: onrecord.Conversation) -> list[object]:
    """What is read of a conversation, and asked for on other APIs."""
    requests = [chat.request(api).body for api in FOLDERS]
    return [chat.history(), chat.documents(), *requests]


def test_a_broken_package_reads_as_one_that_is_not_installed(
    package: Any, talk: onrecord.Conversation
) -> None:
    with pytest.MonkeyPatch.context() as uninstalled:
        none = SimpleNamespace(entries={}, faults=())
        uninstalled.setattr("onrecord.projections.api._added", lambda: none)
        without = readings(talk)
        with pytest.raises(UnknownApi, match="'toy' cannot be read: install the package"):
            talk.open_calls()
    package.API = 7
    assert readings(talk) == without
    with pytest.raises(UnknownApi, match=f"cannot be read: {package.__name__}.* is a int"):
        talk.open_calls()
    with pytest.raises(InvalidProvider, match=package.__name__):
        talk.request("toy")


def test_calls_that_an_installed_package_does_not_read_ask_for_another_release_of_it(
    package: Any, talk: onrecord.Conversation
) -> None:
    with pytest.raises(UnknownApi, match=f"upgrade to a release of {package.__name__}"):
        talk.open_calls()


def test_what_was_rendered_for_a_broken_wire_holds_up_no_other_request(
    package: Any, talk: onrecord.Conversation
) -> None:
    class ToyDraft(Draft):
        API = "toy"

    def render(*parts: Any) -> onrecord.Request:
        return ToyDraft(*parts).request({"lines": [{"text": "Hello"}]})

    package.API, package.WIRE = replace(package.API, render=render), 7
    assert talk.request("toy")
    answer = httpx.MockTransport(lambda _: httpx.Response(200, json={"id": "c"}))
    body = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}
    with talk.recording():
        said = httpx.Client(transport=answer).post("https://a.test/v1/chat/completions", json=body)
    assert said.status_code == 200


def test_a_broken_package_parks_no_view(package: Any, tmp_path: Path) -> None:
    package.API = 7
    with onrecord.connect(f"sqlite:///{tmp_path / 't.db'}") as store:
        talked(store)
        assert [usage.api for usage in store.views.usage().entries] == ["toy"]
        assert [call.name for call in store.views.tool_calls().entries] == ["add"]
        assert list(store.views.keeper.parked()) == []
