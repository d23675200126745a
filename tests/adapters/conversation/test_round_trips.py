"""What verbs ask the log: on PostgreSQL each question is a round trip."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import onrecord
from onrecord.adapters.store import backend_of
from onrecord.domain.content import ToolCall
from onrecord.domain.events import ToolCallRecorded
from onrecord.domain.log import Backend

KEY = "support/4711"
VERBS = ("append", "find", "head", "open", "pointed", "read", "read_log", "tell")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[onrecord.Store]:
    with closing(onrecord.connect(f"sqlite:///{tmp_path}/log.db")) as opened:
        chat = opened.conversation(KEY)
        chat.user("Look it up.")
        for call_id in ("call_1", "call_2"):
            made = ToolCall(id=call_id, name="look", arguments={})
            chat.log.append(ToolCallRecorded(call_id=call_id, name="look", content=made))
        yield opened


@pytest.fixture
def asked(store: onrecord.Store, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each verb of the log was asked from here on."""
    backend, counts = backend_of(store), Counter[str]()
    for verb in VERBS:
        monkeypatch.setattr(backend, verb, counting(backend, verb, counts))
    return counts


def counting(backend: Backend, verb: str, counts: Counter[str]) -> Any:
    ask = getattr(backend, verb)

    def ask_and_count(*arguments: Any, **more: Any) -> Any:
        counts[verb] += 1
        return ask(*arguments, **more)

    return ask_and_count


def test_a_result_asks_once_where_its_call_stands(
    store: onrecord.Store, asked: Counter[str]
) -> None:
    chat = store.conversation(KEY)
    assert isinstance(chat.tool_result("call_1", "sunny"), onrecord.Recorded)
    assert asked == {"find": 1, "head": 2, "append": 1}  # One of them: whether it is open.
    asked.clear()
    assert isinstance(chat.tool_result("call_2", "cloudy"), onrecord.Recorded)
    assert asked == {"head": 1, "append": 1}


def test_a_prompt_asks_once_whether_its_conversation_is_open(
    store: onrecord.Store, asked: Counter[str]
) -> None:
    chat = store.conversation(KEY)
    chat.user("And tomorrow?")
    assert asked == {"find": 1, "head": 1, "append": 1}
    asked.clear()
    chat.user("And the day after?")
    assert asked == {"append": 1}


def test_a_conversation_that_was_closed_after_it_was_found_open_takes_nothing(
    store: onrecord.Store,
) -> None:
    chat = store.conversation(KEY)
    chat.tool_result("call_1", "sunny")
    store.conversation(KEY).end()
    version = chat.head().version
    with pytest.raises(onrecord.ConversationClosed):
        chat.user("Hello?")
    with pytest.raises(onrecord.ConversationClosed):
        chat.tool_result("call_2", "cloudy")
    assert chat.head().version == version
