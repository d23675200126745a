"""Calls at the same time, and calls that are cancelled: each is recorded once, and waits for no other."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event
from typing import Any
from uuid import uuid4

import pytest

from onrecord import Store
from onrecord.adapters.proxy import call, signing
from onrecord.adapters.proxy.asgi import Message, Scope
from onrecord.adapters.proxy.binding import Tenant
from onrecord.adapters.proxy.known_histories import KnownHistories
from onrecord.adapters.proxy.proxy import Guest, Proxy
from onrecord.adapters.proxy.refusals import Refusal
from onrecord.adapters.proxy.signing import BedrockSigner
from onrecord.adapters.store import tenancy_of
from onrecord.domain.log import Cursor
from tests.adapters.demo.demo_client import HELLO, MODEL
from tests.adapters.proxy.proxied import KEY, PROVIDER_KEY, at, proxied
from tests.adapters.proxy.raw_provider import exchanged, raw_provider, replied
from tests.patience import PATIENCE


def turn(*headers: str, target: str = "v1/messages", messages: Any = HELLO) -> bytes:
    body = json.dumps({"model": MODEL, "max_tokens": 64, "messages": messages}).encode()
    line = f"POST /proxy/{KEY}/anthropic/{target} HTTP/1.1"
    length = f"Content-Length: {len(body)}"
    lines = [line, "Host: x", "Connection: close", length, *headers, "", ""]
    return "\r\n".join(lines).encode() + body


def test_two_first_calls_of_an_agent_say_once_which_one_began_it(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    both, is_new = Barrier(2), vars(Tenant)["_is_new"]

    def is_new_to_both(self: Tenant, key: str | None) -> bool:
        answer: bool = is_new(self, key)
        both.wait(PATIENCE)
        return answer

    monkeypatch.setattr(Tenant, "_is_new", is_new_to_both)
    agent = turn("x-claude-code-session-id: 5e55", "x-claude-code-agent-id: a1")
    answers = (replied(b"{}"),) * 2
    with (
        raw_provider(*[(answer,) for answer in answers]) as there,
        proxied(store, at(there.url)) as p,
        ThreadPoolExecutor(2) as threads,
    ):
        list(threads.map(exchanged, [p.origin] * 2, [agent] * 2))
    events = store.get("claude-code/5e55/a1").events()
    assert sum(event.type == "annotation.added" for event in events) == 1


def test_a_call_that_names_its_conversation_waits_for_no_lookup(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    tenancy, is_noted = tenancy_of(store), Event()
    known = KnownHistories(tenancy)

    def cursors() -> list[Cursor]:
        with ThreadPoolExecutor(1) as other:
            other.submit(known.note, uuid4()).result(PATIENCE)
        is_noted.set()
        return []

    monkeypatch.setattr(tenancy.backend, "cursors", cursors, raising=False)
    assert known.of_response("resp_1") is None
    assert is_noted.is_set()


def test_a_proxy_that_closes_waits_for_what_calls_still_record(store: Store) -> None:
    steps: list[str] = []

    class Slow:
        """A door at which a call is cancelled, and has something to finish."""

        async def opened(self, token: str, scope: Scope) -> Guest | None:
            try:
                steps.append("called")
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                for _ in range(100):
                    await asyncio.sleep(0)
                steps.append("recorded")
                raise
            return None

    async def run() -> None:
        proxy = Proxy(Slow())
        scope: Scope = {
            "type": "http",
            "method": "POST",
            "path": f"/{KEY}/anthropic/v1/messages",
            "raw_path": f"/{KEY}/anthropic/v1/messages".encode(),
            "query_string": b"",
            "headers": [],
            "root_path": "",
        }
        calling = asyncio.ensure_future(proxy(scope, _nothing, _drop))
        while not steps:
            await asyncio.sleep(0)
        calling.cancel()
        await proxy.close()
        steps.append("closed")

    asyncio.run(run())
    assert steps == ["called", "recorded", "closed"]


async def _nothing() -> Message:
    return {"type": "http.disconnect"}


async def _drop(message: Message) -> None:
    del message


def test_a_refusal_keeps_nothing_of_the_requests_before() -> None:
    """An exception that is raised again has all the frames of its raising: with headers and keys."""
    assert call.upgrade_refused() is not call.upgrade_refused()
    assert signing.unsigned() is not signing.unsigned()


def test_no_other_provider_is_signed_for_whatever_a_query_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAOWN")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "own")
    url = "https://api.openai.com/v1/x?at=https://bedrock-runtime.us-east-1.amazonaws.com"
    with pytest.raises(Refusal):
        BedrockSigner().signed("POST", url, [("authorization", "AWS4-HMAC-SHA256 x")], b"")


OURS = f"ork_{'0' * 32}_{'x' * 43}"


@pytest.mark.parametrize(
    ("header", "target"),
    [
        (f"x-api-key: {OURS}", "v1/messages"),
        (f"authorization: Bearer {OURS}", "v1/messages"),
        ("x-api-key: sk-1", f"v1/messages?key={OURS}"),
    ],
)
def test_a_key_of_the_record_reaches_no_provider(store: Store, header: str, target: str) -> None:
    with raw_provider() as there, proxied(store, at(there.url)) as p:
        answer = exchanged(p.origin, turn(header, target=target))
        assert answer.startswith(b"HTTP/1.1 400")
        assert there.requests == []
        assert p.keys() == []


def test_a_turn_of_too_many_values_passes_and_says_that_it_is_not_recorded(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(call, "_MOST_VALUES", 1000)
    many = [{"role": "user", "content": [{"type": "text", "text": "x"}] * 1000}]
    with raw_provider((replied(b"{}"),)) as there, proxied(store, at(there.url)) as p:
        answer = exchanged(p.origin, turn(f"x-api-key: {PROVIDER_KEY}", messages=many))
        assert answer.startswith(b"HTTP/1.1 200")
        assert b"x-onrecord-warning: not recorded: the request has more than 1,000 values" in answer
        assert len(there.requests) == 1
        assert p.keys() == []
