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

EXTRAS = ("adk", "ag2", "agent-framework", "claude", "langgraph", "openai-agents", "pydantic-ai")


def _twins(name: str, *parameters: str) -> dict[str, tuple[str, ...]]:
    """Return a method, and the coroutine that does the same."""
    return {name: parameters, f"a{name}": parameters}


# The parameters of each method, `self` left out; those that have a default are marked.
INTERFACES = {
    ("ag2.history", "Storage"): {
        "drop_history": ("stream_id",),
        "get_history": ("stream_id",),
        "save_event": ("event", "context"),
        "set_history": ("stream_id", "events"),
    },
    ("agent_framework", "HistoryProvider"): {
        "after_run": ("agent", "session", "context", "state"),
        "before_run": ("agent", "session", "context", "state"),
        "get_messages": ("session_id", "state=None", "**kwargs"),
        "save_messages": ("session_id", "messages", "state=None", "**kwargs"),
    },
    ("claude_agent_sdk.types", "SessionStore"): {
        "append": ("key", "entries"),
        "delete": ("key",),
        "list_session_summaries": ("project_key",),
        "list_sessions": ("project_key",),
        "list_subkeys": ("key",),
        "load": ("key",),
    },
    ("google.adk.sessions.base_session_service", "BaseSessionService"): {
        "append_event": ("session", "event"),
        "create_session": ("app_name", "user_id", "state=None", "session_id=None"),
        "delete_session": ("app_name", "user_id", "session_id"),
        "flush": (),
        "get_session": ("app_name", "user_id", "session_id", "config=None"),
        "get_user_state": ("app_name", "user_id"),
        "list_sessions": ("app_name", "user_id=None"),
    },
    ("langgraph.checkpoint.base", "BaseCheckpointSaver"): {
        **_twins("copy_thread", "source_thread_id", "target_thread_id"),
        **_twins("delete_for_runs", "run_ids"),
        **_twins("delete_thread", "thread_id"),
        **_twins("get", "config"),
        "get_next_version": ("current", "channel"),
        **_twins("get_delta_channel_history", "config", "channels"),
        **_twins("get_tuple", "config"),
        **_twins("list", "config", "filter=None", "before=None", "limit=None"),
        **_twins("prune", "thread_ids", "strategy='keep_latest'"),
        **_twins("put", "config", "checkpoint", "metadata", "new_versions"),
        **_twins("put_writes", "config", "writes", "task_id", "task_path=''"),
        "with_allowlist": ("extra_allowlist",),
    },
    ("pydantic_ai.conversation_store", "ConversationStore"): {
        "branch": (
            *("conversation_id", "at=None", "from_entry=None"),
            *("expected_revision", "scope=None"),
        ),
        "delete": ("conversation_id", "scope=None"),
        "delete_record": ("conversation_id", "expected_revision"),
        "fork": (
            *("conversation_id", "at=None", "from_entry=None", "new_conversation_id=None"),
            *("scope=None", "source_scope=None"),
        ),
        "list_conversations": ("scope=None", "limit=None"),
        "load": ("conversation_id", "limit=None", "scope=None"),
        "load_entries": ("conversation_id", "limit=None", "scope=None"),
        "read_entry": ("entry_id",),
        "read_history": ("head_id", "limit=None"),
        "read_record": ("conversation_id",),
        "read_records": ("scope=None", "limit=None"),
        "save": ("conversation", "scope=None"),
        "write_record": ("record", "new_entries=()", "expected_revision"),
    },
    ("agents.memory.session", "Session"): {
        "add_items": ("items",),
        "clear_session": (),
        "get_items": ("limit=None",),
        "pop_item": (),
    },
}


# They ask nothing of a store.
COMPUTED = ("get_next_version", "with_allowlist")


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


def is_awaited(method: Any) -> bool:
    return inspect.iscoroutinefunction(method) or inspect.isasyncgenfunction(method)


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
    known = INTERFACES[module, name]
    # What has a twin with an `a` before its name is called by threads; the twin is the coroutine.
    asked = [each for each in known if f"a{each}" not in known and each not in COMPUTED]
    methods = {each: getattr(interface, each) for each in asked}
    assert [each for each, method in methods.items() if not is_awaited(method)] == []


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
