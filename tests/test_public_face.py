"""What a program needs comes from `onrecord`: the types of its verbs, and its errors."""

import ast
import importlib
import inspect
import re
import subprocess
import sys
import types
import typing
from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import pytest
from pydantic import BaseModel

import onrecord
from onrecord import errors, provider
from onrecord.domain.events import Event

ROOT = Path(__file__).parents[1]
FACES: tuple[type, ...] = (
    *(onrecord.Store, onrecord.Conversation, onrecord.ConversationTools, onrecord.ConversationLog),
    *(onrecord.Views, onrecord.ToolRunner, onrecord.Tool, onrecord.Toolset),
    *(onrecord.AsyncStore, onrecord.AsyncConversation, onrecord.AsyncConversationTools),
    *(onrecord.AsyncConversationLog, onrecord.AsyncViews, onrecord.AsyncKeeper),
    *(onrecord.StoreRetention, onrecord.AsyncStoreRetention),
    *(onrecord.StoreSubjects, onrecord.AsyncStoreSubjects),
)
BACKSTAGE = {"backend", "stream", "tenancy", "spool"}
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "examples").rglob("*.*")),
]
"""What users read."""
NOT_OF_PACKAGES = {"BatchWire"}
"""What the six have, and a package cannot add: docs/adding-a-provider.md says so."""


def for_checkers(module: types.ModuleType) -> dict[str, Any]:
    """The names that a module imports for type checkers only."""
    tree = ast.parse(inspect.getsource(module))
    blocks = [each for each in tree.body if isinstance(each, ast.If)]
    within = [each for block in blocks for each in ast.walk(block)]
    return {
        name.asname or name.name: getattr(importlib.import_module(each.module), name.name)
        for each in within
        if isinstance(each, ast.ImportFrom) and each.module is not None
        for name in each.names
    }


def hints(owner: Any, module: types.ModuleType) -> dict[str, Any]:
    names = {**for_checkers(module), **vars(module)}
    return typing.get_type_hints(owner, localns=names)


def signatures(face: type) -> Iterator[tuple[str, Any]]:
    """Each public attribute of a class, each argument and each answer of its verbs, with its type."""
    for each in face.__mro__:
        if each.__module__.startswith("onrecord."):
            yield from own_signatures(each)


def own_signatures(face: type) -> Iterator[tuple[str, Any]]:
    """The same of what a class says itself, without what it has of another."""
    module = importlib.import_module(face.__module__)
    yield from ((k, each) for k, each in hints(face, module).items() if not k.startswith("_"))
    for name, member in list(vars(face).items()):
        function = getattr(member, "fget", None) or getattr(member, "func", None)
        function = function or getattr(member, "__func__", member)
        if not name.startswith("_") and inspect.isfunction(function):
            told = hints(function, module)
            yield from ((f"{name}: {argument}", each) for argument, each in told.items())


def ours(annotation: Any) -> Iterator[type]:
    """The classes of Onrecord's own that an annotation names."""
    for part in (annotation, typing.get_origin(annotation)):
        if isinstance(part, type) and part.__module__.startswith("onrecord."):
            yield part
    for part in typing.get_args(annotation):
        parts: list[Any] = cast("list[Any]", part) if isinstance(part, list) else [part]
        for each in parts:
            yield from ours(each)


def is_value(each: type) -> bool:
    return is_dataclass(each) or issubclass(each, BaseModel | tuple)


def needed() -> Iterator[tuple[str, type]]:
    """All that verbs take and give, and what these values consist of, events left whole."""
    whole = set(typing.get_args(Event))
    waiting, seen = list(FACES), set[type]()
    while waiting:
        face = waiting.pop()
        for name, annotation in signatures(face):
            for each in ours(annotation):
                yield f"{face.__name__}.{name}", each
                if is_value(each) and each not in whole and each not in seen:
                    waiting.append(each)
                seen.add(each)


def test_all_that_a_verb_takes_or_gives_comes_from_onrecord() -> None:
    absent = {
        f"{where}: {each.__module__}.{each.__name__}"
        for where, each in needed()
        if each.__name__ not in onrecord.__all__ or getattr(onrecord, each.__name__) is not each
    }
    assert sorted(absent) == []


def test_the_walk_finds_types_of_every_kind() -> None:
    found = {each.__name__ for _, each in needed()}
    assert {"Recorded", "Turn", "Usage", "MessageRecorded", "Request", "Window", "Head"} <= found


@pytest.mark.parametrize("name", sorted(set(onrecord.__all__)))
def test_a_name_of_onrecord_is_there(name: str) -> None:
    assert getattr(onrecord, name) is not None


def test_nothing_public_leads_backstage() -> None:
    store = onrecord.connect("memory://")
    for face in (store, store.conversation("a"), store.views):
        assert {name for name in dir(face) if not name.startswith("_")} & BACKSTAGE == set()


def test_errors_are_a_module_and_stay_on_onrecord() -> None:
    tree = {name for name, each in vars(errors).items() if inspect.isclass(each)}
    assert tree == set(errors.__all__)
    assert [name for name in tree if getattr(onrecord, name) is not getattr(errors, name)] == []
    inner = importlib.import_module("onrecord.domain.errors")
    raised = {
        name
        for name, each in vars(inner).items()
        if inspect.isclass(each) and issubclass(each, errors.OnrecordError)
    }
    assert raised == tree
    assert all(re.search(rf"^ +{name}$", errors.__doc__ or "", re.MULTILINE) for name in tree)


def annotations(of_provider: Any) -> Iterator[Any]:
    """Each type that a class or a function names."""
    if inspect.isclass(of_provider):
        yield from (annotation for _, annotation in signatures(of_provider))
    elif inspect.isfunction(of_provider):
        yield from hints(of_provider, importlib.import_module(of_provider.__module__)).values()


def test_a_package_that_adds_an_api_can_name_each_type() -> None:
    public = [getattr(module, name) for module in (onrecord, provider) for name in module.__all__]
    absent = {
        f"{name}: {each.__module__}.{each.__name__}"
        for name in provider.__all__
        for annotation in annotations(getattr(provider, name))
        for each in ours(annotation)
        if each not in public and each.__name__ not in NOT_OF_PACKAGES
    }
    assert sorted(absent) == []


def test_what_onrecord_exports_is_not_exported_for_packages_again() -> None:
    exported = {name for name in vars(provider) if not name.startswith("_")}
    assert exported == set(provider.__all__)
    public = [getattr(onrecord, name) for name in onrecord.__all__]
    assert [name for name in exported if getattr(provider, name) in public] == []


def test_what_packages_call_has_a_docstring() -> None:
    values = [getattr(provider, name) for name in provider.__all__]
    called = [each for each in values if inspect.isclass(each) or inspect.isfunction(each)]
    assert [each for each in called if not inspect.getdoc(each)] == []


def test_an_import_of_onrecord_loads_nothing_for_packages() -> None:
    program = "import sys, onrecord; assert 'onrecord.provider' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_no_page_sends_a_user_inside() -> None:
    """A group of entry points has the name of a module, and is none."""
    inside = [
        f"{page.relative_to(ROOT)}: {line}"
        for page in PAGES
        if page.is_file()
        for line in page.read_text("utf-8").splitlines()
        if re.search(r"(?<!entry-points\.\")onrecord\.(domain|adapters|projections)\b", line)
    ]
    assert inside == []


def test_a_conversation_is_got_by_its_key_or_its_id_once_it_exists() -> None:
    store = onrecord.connect("memory://")
    with pytest.raises(onrecord.ConversationNotFound):
        store.get("a")
    chat = store.conversation("a")
    chat.user("Hello")
    for which in ("a", chat.conversation_id):
        assert store.get(which).history()[0].text == "Hello"
    store.forget("a", reason="asked to", actor="ana")
    for which in ("a", chat.conversation_id):
        with pytest.raises(onrecord.ConversationNotFound):
            store.get(which)


def test_a_request_for_an_unknown_api_says_which_there_are() -> None:
    chat = onrecord.connect("memory://").conversation("a")
    chat.user("Hello")
    with pytest.raises(onrecord.UnknownApi, match="choose one of anthropic-messages"):
        chat.request("anthropic")


@pytest.mark.parametrize("name", ["DeclaredTool", "Done", "Event", "GivenDocument", "NextInput"])
def test_who_writes_a_function_around_a_verb_can_name_its_types(name: str) -> None:
    assert name in onrecord.__all__
    assert getattr(onrecord, name) is not None


def hex_of(id_: UUID) -> str:
    return id_.hex


def urn_of(id_: UUID) -> str:
    return id_.urn


@pytest.mark.parametrize("spelled", [str, hex_of, urn_of])
def test_a_key_that_looks_like_the_id_of_another_conversation_is_a_key(
    spelled: Callable[[UUID], str],
) -> None:
    store = onrecord.connect("memory://")
    chat = store.conversation("a")
    chat.user("Hello")
    key = spelled(chat.conversation_id)
    with pytest.raises(onrecord.ConversationNotFound):
        store.get(key)
    with pytest.raises(onrecord.ConversationNotFound):
        store.forget(key, reason="asked to", actor="ana")
    assert store.conversation(key).conversation_id != chat.conversation_id
    assert store.forget(key, reason="asked to", actor="ana").events == 0
    assert chat.history()[0].text == "Hello"
