"""Which conversations go on from one, and what they keep of it when it is forgotten."""

from pathlib import Path
from uuid import uuid4

import anthropic
import pytest

import onrecord
from onrecord.adapters.demo.services.server import DemoServer
from onrecord.domain.errors import ConversationNotFound, NothingToSend
from tests.adapters.cli.command import url_of
from tests.adapters.recorded_calls import GREETING, MODEL
from tests.factories import BECAUSE

SAID = "My name is Ada"


def keys(store: onrecord.Store, which: str) -> list[str | None]:
    return [fork.key for fork in store.forks(which)]


def says_it(chat: onrecord.Conversation) -> list[str]:
    """The types of the events that repeat what was said."""
    return [event.type for event in chat.log.read() if SAID.encode() in (event.body or b"")]


def test_forks_of_forks_are_forks_and_others_are_not(tmp_path: Path) -> None:
    with onrecord.connect(url_of(tmp_path)) as store:
        store.conversation("older").user("Hello")
        origin = store.conversation("origin")
        origin.user("Hello")
        store.conversation("older").fork("of an older one")
        fork = origin.fork("fork")
        store.conversation("younger").user("Hello")
        fork.fork("fork of the fork").user("Hello")
        fork.user("Hello")
        assert keys(store, "origin") == ["fork", "fork of the fork"]
        assert keys(store, "fork") == ["fork of the fork"]
        assert keys(store, "fork of the fork") == []
        assert keys(store, "older") == ["of an older one"]


def test_forks_are_found_by_the_id_of_what_was_forgotten(tmp_path: Path) -> None:
    with onrecord.connect(url_of(tmp_path)) as store:
        origin = store.conversation("origin")
        origin.user("Hello")
        fork = origin.fork("fork")
        store.forget("origin", **BECAUSE)
        assert [found.key for found in store.forks(origin.conversation_id)] == ["fork"]
        store.forget(fork.conversation_id, **BECAUSE)
        assert store.forks(origin.conversation_id) == []


def test_what_is_not_there_has_no_forks(tmp_path: Path) -> None:
    with onrecord.connect(url_of(tmp_path)) as store:
        for nothing in ("none", uuid4()):
            with pytest.raises(ConversationNotFound):
                store.forks(nothing)


def test_of_what_was_forgotten_forks_keep_what_their_requests_repeat(tmp_path: Path) -> None:
    with DemoServer([GREETING]) as server, onrecord.connect(url_of(tmp_path)) as store:
        origin = store.conversation("origin")
        origin.user(SAID)
        silent, asking = origin.fork("silent"), origin.fork("asking")
        assert SAID in str(dict(silent.request("anthropic-messages")))
        with anthropic.Anthropic(api_key="k", base_url=server.url) as client:
            asked = asking.request("anthropic-messages")
            asking.record(client).messages.create(model=MODEL, max_tokens=64, **asked)
        store.forget("origin", **BECAUSE)
        assert (says_it(silent), says_it(asking)) == ([], ["request.sent"])
        with pytest.raises(NothingToSend):
            silent.request("anthropic-messages")
