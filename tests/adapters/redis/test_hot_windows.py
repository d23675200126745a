"""A request that was rendered of late comes from Redis, and is what rendering would give now."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import anthropic
import pytest

import onrecord
from onrecord.adapters.conversation import rendering
from onrecord.adapters.demo.services.scenes import Answer
from onrecord.adapters.demo.services.server import DemoServer
from onrecord.adapters.redis import hot_windows
from onrecord.adapters.store import backend_of
from onrecord.domain.events import RequestSent
from onrecord.domain.request_template import ContentSpan
from onrecord.projections.matching.template import RenderedRequest
from tests.adapters.redis.stores import API, KEY, Stores, kept, said, same, store_on
from tests.contract.places import PLACES
from tests.factories import BECAUSE
from tests.redis_server import Server

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8


# -- what is right -----------------------------------------------------------------------------


def test_a_request_is_rendered_once(stores: Stores) -> None:
    assert stores.renders(stores.request) == 1
    assert stores.renders(stores.request) == 0


def test_another_store_of_the_log_finds_it_too(stores: Stores, tmp_path: Path) -> None:
    stores.request()
    other = store_on(backend_of(stores.hot), tmp_path, stores.beside)
    assert stores.renders(lambda: other.conversation(KEY).request(API)) == 0


def test_what_is_said_next_is_in_the_next_request(stores: Stores) -> None:
    stores.request()
    stores.hot.conversation(KEY).user("And?")
    assert stores.request()["messages"][-1]["content"] == "And?"


def test_a_request_at_an_earlier_version_is_that_of_then(stores: Stores) -> None:
    stores.request()
    stores.hot.conversation(KEY).user("And?")
    earlier = stores.hot.conversation(KEY).head().version - 1
    assert stores.renders(lambda: stores.request(at=earlier)) == 0


def test_what_was_redacted_is_in_no_request(stores: Stores) -> None:
    stores.request()
    stores.hot.conversation(KEY).redact(2)
    assert "Question 0" not in str(dict(stores.request()))


@pytest.mark.parametrize(
    "wishes",
    [
        {"window": onrecord.Window(exchanges=1, step=1)},
        {"model": "gpt-4.1"},
        {"capability_override": onrecord.CapabilityOverride(user=("text",))},
        {"missing": "drop"},
    ],
)
def test_a_request_by_another_recipe_is_another(own: Stores, wishes: dict[str, Any]) -> None:
    own.request()
    assert own.renders(lambda: own.request(**wishes)) == 1
    assert own.renders(lambda: own.request(**wishes)) == 0


def of_another_release(_: str) -> str:
    return "of another release"


@pytest.mark.parametrize(
    ("name", "other"),
    [
        (
            "onrecord.adapters.conversation.rendering.renderer_digest",
            of_another_release,
        ),
        ("onrecord.adapters.redis.hot_windows.__version__", "of another release"),
    ],
)
def test_a_request_by_another_release_is_another(
    own: Stores, name: str, other: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    own.request()
    monkeypatch.setattr(name, other)
    assert own.renders(own.request) == 1


def test_a_request_of_another_log_is_another(own: Stores, tmp_path: Path) -> None:
    own.request()
    with closing(PLACES["memory"](tmp_path).open()) as backend:
        other = store_on(backend, tmp_path, own.beside)
        backend_of(other).open(other.tenant, KEY, own.hot.conversation(KEY).conversation_id)
        said(other.conversation(KEY))
        assert own.renders(lambda: other.conversation(KEY).request(API)) == 1


@pytest.mark.parametrize("api", ["openai-chat", "ollama", "bedrock-converse", "gemini"])
def test_a_request_with_documents_comes_back_with_their_bytes(own: Stores, api: str) -> None:
    chat = own.hot.conversation(KEY)
    chat.user("Look", documents=[PNG])
    wishes: dict[str, Any] = {
        "capability_override": onrecord.CapabilityOverride(user=("text", "image"))
    }
    rendered = chat.request(api, **wishes)
    found: list[onrecord.Request] = []
    assert own.renders(lambda: found.append(chat.request(api, **wishes))) == 0
    assert same(found[0], rendered)


def test_a_request_from_redis_is_known_again_when_it_is_sent(own: Stores) -> None:
    api = "anthropic-messages"
    own.hot.conversation(KEY).user("And? " + "At length. " * 20)
    own.hot.conversation(KEY).request(api)
    chat = own.hot.conversation(KEY)
    with DemoServer((Answer(({"type": "text", "text": "All is well."},)),)) as server:
        plain = anthropic.Anthropic(base_url=server.url, api_key="x", max_retries=0)
        with chat.record(plain) as client:
            assert own.renders(lambda: chat.request(api, model="claude-sonnet-5")) == 1
            chat = own.hot.conversation(KEY)
            assert own.renders(lambda: chat.request(api, model="claude-sonnet-5")) == 0
            request = chat.request(api, model="claude-sonnet-5")
            client.messages.create(model="claude-sonnet-5", max_tokens=64, **request)
    (sent,) = [
        event for found in chat.log.read() if isinstance(event := found.event(), RequestSent)
    ]
    assert sent.recipe is not None
    assert any(isinstance(span, ContentSpan) for span in sent.template.spans)


# -- what is never kept, and how long the rest is ----------------------------------------------


def test_what_is_kept_goes_by_itself(own: Stores) -> None:
    own.request()
    (key,) = kept(own.beside, backend_of(own.hot))
    answers = own.beside.ask(("TTL", key))
    assert answers is not None
    assert 0 < answers[0] <= hot_windows.KEPT_SECONDS


def test_what_is_kept_goes_no_later_for_what_is_kept_after_it(own: Stores) -> None:
    own.request()
    (key,) = kept(own.beside, backend_of(own.hot))
    own.beside.ask(("EXPIRE", key, 20))
    own.hot.conversation(KEY).user("And?")
    own.request()
    answers = own.beside.ask(("HLEN", key), ("TTL", key))
    assert answers is not None
    assert answers[0] == 2
    assert 0 < answers[1] <= 20


def test_of_a_conversation_few_requests_are_kept(own: Stores) -> None:
    chat = own.hot.conversation(KEY)
    for number in range(3 * hot_windows.MOST):
        chat.user(f"More {number}")
        own.request()
        (key,) = kept(own.beside, backend_of(own.hot))
        answers = own.beside.ask(("HLEN", key))
        assert answers is not None
        assert 0 < answers[0] <= hot_windows.MOST
    assert own.is_hot()


def test_a_large_request_is_not_kept(own: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hot_windows, "LARGEST", 64)
    own.request()
    assert kept(own.beside, backend_of(own.hot)) == []
    assert not own.is_hot()


def test_a_fork_is_not_kept(stores: Stores) -> None:
    stores.hot.conversation(KEY).fork("fork")
    stores.request("fork")
    assert stores.renders(lambda: stores.request("fork")) == 1


def test_what_cannot_be_sent_is_an_error_each_time(own: Stores) -> None:
    own.hot.conversation("empty").instruct("Be brief.")
    for _ in range(2):
        with pytest.raises(onrecord.NothingToSend):
            own.hot.conversation("empty").request(API)


# -- what was erased ---------------------------------------------------------------------------


def test_a_forgotten_conversation_is_deleted_from_redis(stores: Stores) -> None:
    stores.request()
    chat = stores.hot.conversation(KEY)
    chat.head()
    stores.hot.forget(KEY, **BECAUSE)
    assert kept(stores.beside, backend_of(stores.hot)) == []
    with pytest.raises(onrecord.NothingToSend):
        chat.request(API)


def test_what_another_process_forgot_without_redis_is_not_served(stores: Stores) -> None:
    stores.request()
    chat = stores.hot.conversation(KEY)
    chat.head()
    stores.cold.forget(KEY, **BECAUSE)
    assert len(kept(stores.beside, backend_of(stores.hot))) == 1
    with pytest.raises(onrecord.NothingToSend):
        chat.request(API)


def test_after_an_erasure_what_else_is_kept_is_rendered_again_and_then_hot(stores: Stores) -> None:
    said(stores.hot.conversation("other"))
    stores.request()
    stores.hot.forget("other", **BECAUSE)
    assert not stores.is_hot()
    assert stores.is_hot()


def test_a_fork_of_what_was_forgotten_says_nothing_of_it(stores: Stores) -> None:
    fork = stores.hot.conversation(KEY).fork("fork")
    fork.user("And?")
    stores.request("fork")
    stores.hot.forget(KEY, **BECAUSE)
    assert "Question" not in str(dict(stores.request("fork")))


def test_a_fork_of_what_is_redacted_is_what_rendering_gives(stores: Stores) -> None:
    fork = stores.hot.conversation(KEY).fork("fork")
    fork.user("And?")
    stores.request("fork")
    stores.hot.conversation(KEY).redact(2)
    stores.request("fork")


def test_what_is_erased_while_it_is_rendered_does_not_stay(
    own: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    def erased_meanwhile(*given: Any) -> RenderedRequest:
        asked = rendering.ask(*given)
        own.cold.forget(KEY, **BECAUSE)
        return asked

    monkeypatch.setattr(hot_windows, "ask", erased_meanwhile)
    own.hot.conversation(KEY).request(API)
    assert kept(own.beside, backend_of(own.hot)) == []


def test_an_erasure_that_redis_could_not_be_told_of_is_said(
    own: Stores, own_server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    own.request()
    own_server.kill()
    assert own.hot.forget(KEY, **BECAUSE).events > 0
    assert "could not be told of an erasure" in caplog.text
