"""What a process keeps in memory of a conversation goes once the conversation is forgotten."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType, ModuleType

import pytest

import onrecord
from onrecord.adapters.conversation.conversation import tenancy_of
from onrecord.adapters.store import backend_of
from onrecord.adapters.streams import folds as folds_module
from onrecord.domain.events import RequestSent

API = "anthropic-messages"
SECRET = "4929-1234-canary"
OTHER = "another conversation's words"


@pytest.fixture
def store() -> Iterator[onrecord.Store]:
    with onrecord.connect("memory://") as store:
        yield store


def texts_behind(*roots: object, stop: object = None) -> Iterator[str]:
    """The texts and bytes of all objects that can be reached, but by way of code, or of `stop`."""
    seen, waiting = {id(roots), id(stop)}, list[object](roots)
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen or isinstance(thing, ModuleType | FunctionType | type):
            continue
        seen.add(id(thing))
        match thing:
            case str():
                yield thing
            case bytes():
                yield thing.decode(errors="replace")
            case _:
                waiting += gc.get_referents(thing)


def spoken(store: onrecord.Store, key: str, words: str) -> onrecord.Conversation:
    """A conversation of two calls, whose instructions, prompts and answers all hold the words."""
    chat = store.conversation(key)
    chat.instruct(words)
    for turn in range(2):
        chat.user(f"{words} {turn}")
        body = {"model": "claude-sonnet-4-5", "max_tokens": 9, **chat.request(API).body}
        sent = chat.record_request(body, api=API)
        answer = {
            "id": f"msg_{turn}_{key}",
            "type": "message",
            "role": "assistant",
            "model": "claude-sonnet-4-5",
            "content": [{"type": "text", "text": f"Noted: {words}"}],
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
        chat.record_response(answer, api=API, request=sent)
    return chat


def test_no_body_instruction_or_fold_of_it_stays(store: onrecord.Store) -> None:
    chat = spoken(store, "secret", SECRET)
    assert any(SECRET in text for text in texts_behind(store, chat))
    store.forget("secret", reason="asked for", actor="dpo")
    assert [text for text in texts_behind(store, chat) if SECRET in text] == []


def test_a_request_that_was_only_rendered_does_not_stay(store: onrecord.Store) -> None:
    chat = store.conversation("secret")
    chat.user(SECRET)
    chat.request(API)
    assert any(SECRET in text for text in texts_behind(store, chat))
    store.forget("secret", reason="asked for", actor="dpo")
    assert [text for text in texts_behind(store, chat) if SECRET in text] == []


def test_what_another_process_forgot_goes_with_the_next_request(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'talks.db'}"
    with onrecord.connect(url) as store, onrecord.connect(url) as another:
        chat = spoken(store, "secret", SECRET)
        another.forget("secret", reason="asked for", actor="dpo")
        other = store.conversation("other")
        other.user("hello")
        other.request(API)
        assert [text for text in texts_behind(store, chat) if SECRET in text] == []


def test_what_nobody_used_for_a_while_goes(
    store: onrecord.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = spoken(store, "secret", SECRET)
    folds = tenancy_of(chat).folds
    assert folds is not None
    monkeypatch.setattr(folds_module, "IDLE_SECONDS", 0)
    folds.drop_idle()
    gone_to_storage = texts_behind(chat, stop=backend_of(store))
    assert [text for text in gone_to_storage if SECRET in text] == []


def test_other_conversations_go_on(store: onrecord.Store) -> None:
    spoken(store, "secret", SECRET)
    other = spoken(store, "other", OTHER)
    store.forget("secret", reason="asked for", actor="dpo")
    other.user("and now?")
    done = other.record_request(
        {"model": "claude-sonnet-4-5", "max_tokens": 9, **other.request(API).body}, api=API
    )
    *_, sent = other.log.read(until=done.last)
    event = sent.event()
    assert isinstance(event, RequestSent)
    assert event.relation == "extends"
