"""The frameworks that are installed are those that our stores were written for.

A release that changes what a framework asks of a store is told here in words, before its suites fail.
"""

from __future__ import annotations

import importlib
import inspect
import tomllib
from importlib.metadata import version
from typing import Any

import pytest
from packaging.requirements import Requirement

from tests.test_docs import ROOT

EXTRAS = ("claude", "openai-agents")

# The parameters of each method, `self` left out; those that have a default are marked.
INTERFACES = {
    ("claude_agent_sdk.types", "SessionStore"): {
        "append": ("key", "entries"),
        "delete": ("key",),
        "list_session_summaries": ("project_key",),
        "list_sessions": ("project_key",),
        "list_subkeys": ("key",),
        "load": ("key",),
    },
    ("agents.memory.session", "Session"): {
        "add_items": ("items",),
        "clear_session": (),
        "get_items": ("limit=None",),
        "pop_item": (),
    },
}


def methods_of(interface: Any) -> dict[str, tuple[str, ...]]:
    methods = inspect.getmembers(interface, inspect.isfunction)
    return {name: parameters_of(found) for name, found in methods if not name.startswith("_")}


def parameters_of(method: Any) -> tuple[str, ...]:
    parameters = list(inspect.signature(method).parameters.values())[1:]
    return tuple(str(each.replace(annotation=inspect.Parameter.empty)) for each in parameters)


def changes(known: dict[str, tuple[str, ...]], found: dict[str, tuple[str, ...]]) -> list[str]:
    """Say in words what of a known interface is gone, new or other."""
    return [
        *(f"{name} is gone" for name in known if name not in found),
        *(f"{name}({', '.join(found[name])}) is new" for name in found if name not in known),
        *(
            f"{name} takes ({', '.join(found[name])}), not ({', '.join(known[name])})"
            for name in known
            if name in found and known[name] != found[name]
        ),
    ]


@pytest.mark.parametrize("extra", EXTRAS)
def test_the_installed_framework_is_one_that_the_extra_allows(extra: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (required,) = map(Requirement, project["optional-dependencies"][extra])
    installed = version(required.name)
    assert required.specifier.contains(installed), f"{required.name} {installed} is not {required}"


@pytest.mark.parametrize(("module", "name"), INTERFACES, ids=lambda each: each)
def test_a_framework_asks_of_a_store_what_it_asked_before(module: str, name: str) -> None:
    interface = getattr(importlib.import_module(module), name)
    assert changes(INTERFACES[module, name], methods_of(interface)) == []


@pytest.mark.parametrize(("module", "name"), INTERFACES, ids=lambda each: each)
def test_the_methods_of_a_framework_are_coroutines(module: str, name: str) -> None:
    interface = getattr(importlib.import_module(module), name)
    methods = {each: getattr(interface, each) for each in INTERFACES[module, name]}
    assert [
        each for each, method in methods.items() if not inspect.iscoroutinefunction(method)
    ] == []


def test_what_changed_is_told_in_words() -> None:
    known: dict[str, tuple[str, ...]] = {"load": ("key",), "delete": ("key",), "append": ("key",)}
    found: dict[str, tuple[str, ...]] = {
        "load": ("key", "limit=None"),
        "delete": ("key",),
        "fork": (),
    }
    assert changes(known, found) == [
        "append is gone",
        "fork() is new",
        "load takes (key, limit=None), not (key)",
    ]
