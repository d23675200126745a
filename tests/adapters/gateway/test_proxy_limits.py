"""What is too much at once is refused by the proxy, in a way that the providers' SDKs read."""

from __future__ import annotations

import gzip
import json
import socket
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import anthropic
import httpx2
import openai
import pytest

from onrecord.adapters.gateway.gateway import Proxying
from onrecord.adapters.proxy import request_body
from onrecord.adapters.service.access import Keyring
from onrecord.adapters.service.bodies import Limits
from tests.adapters.proxy.proxied import PROVIDER_KEY, at
from tests.adapters.proxy.raw_provider import RawProvider, exchanged, raw_provider, replied
from tests.adapters.service.keys import Keys
from tests.adapters.service.served import Served, served
from tests.patience import PATIENCE, until

BODY = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hello"}]}
HEADERS = {"x-api-key": PROVIDER_KEY, "anthropic-version": "2023-06-01"}
HALVES = (b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{", b"}")


@contextmanager
def proxying(
    *answers: tuple[bytes, ...], keyring: Keyring | None = None, **limits: int
) -> Generator[tuple[Served, RawProvider]]:
    """Serve the gateway, before a provider, within limits."""
    with (
        raw_provider(*answers) as provider,
        served(
            keyring=keyring, limits=Limits(**limits), proxying=Proxying(at(provider.url))
        ) as service,
    ):
        yield service, provider


def base(service: Served, key: str = "local", provider: str = "anthropic") -> str:
    return f"{service.url}/proxy/{key}/{provider}"


def posted(service: Served, key: str = "local", **more: Any) -> httpx2.Response:
    url = f"{base(service, key)}/v1/messages"
    return httpx2.post(url, headers=HEADERS, json=BODY | more, timeout=PATIENCE)


@contextmanager
def open_call(service: Served, provider: RawProvider, key: str) -> Generator[httpx2.Response]:
    """Have a call open, half of whose answer came."""
    url = f"{base(service, key)}/v1/messages"
    with httpx2.stream("POST", url, headers=HEADERS, json=BODY, timeout=PATIENCE) as answer:
        yield answer
        provider.go_on.set()
        answer.read()


def test_a_key_with_too_much_open_is_told_so_as_its_sdk_reads_it() -> None:
    with (
        proxying(HALVES, (replied(b"{}"),), keyring=Keys(), open_requests=2) as (service, provider),
        open_call(service, provider, "writer"),
    ):
        options: Any = {"api_key": PROVIDER_KEY, "max_retries": 0}
        with (
            anthropic.Anthropic(base_url=base(service, "writer"), **options) as client,
            pytest.raises(anthropic.RateLimitError, match="too much open") as caught,
        ):
            client.messages.create(
                model="m", max_tokens=9, messages=[{"role": "user", "content": "Hello"}]
            )
        assert caught.value.response.headers["retry-after"] == "1"
        with (
            openai.OpenAI(base_url=base(service, "writer", "openai") + "/v1", **options) as other,
            pytest.raises(openai.RateLimitError, match="too much open"),
        ):
            other.responses.create(model="m", input="Hello")
        assert len(provider.requests) == 1
        assert posted(service, "stranger").status_code == 200


def test_a_call_counts_among_the_open_requests_until_its_answer_is_over() -> None:
    with proxying(HALVES, (replied(b"{}"),), open_requests=1) as (service, provider):
        with open_call(service, provider, "local"):
            refused = posted(service)
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
            assert refused.json()["error"]["type"] == "api_error"
            assert service.ask("GET", "/v1/conversations/a").status == 503
        until(lambda: service.service.open_requests.total == 0, "the end of the call")
        assert posted(service).status_code == 200


def test_what_is_refused_or_not_found_counts_no_more() -> None:
    with proxying((b"",), open_requests=1) as (service, _):
        for path in ("/proxy/local/nobody/v1", "/proxy/local/anthropic/v1/../x"):
            for _ in range(2):
                assert b" 40" in exchanged(service.url, asked(path))[:13]
        until(lambda: service.service.open_requests.total == 0, "the end of the calls")


def asked(path: str, *headers: str) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: 127.0.0.1", "Connection: close", *headers, "", ""]
    return "\r\n".join(lines).encode()


def test_a_server_that_ends_begins_no_call() -> None:
    with proxying() as (service, provider):
        service.end()
        until(lambda: service.service.tails.hub.is_over, "the end")
        refused = posted(service)
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")
        assert "ending" in refused.json()["error"]["message"]
        assert provider.requests == []


def test_the_bytes_of_all_requests_that_are_held_are_bounded() -> None:
    with proxying(HALVES, (replied(b"{}"),), bodies=1_000) as (service, provider):
        with open_call(service, provider, "local"):
            assert service.service.bodies.total > 0
            refused = posted(service, system="x" * 950)
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
            assert len(provider.requests) == 1
        until(lambda: service.service.bodies.total == 0, "the end of the call")
        assert posted(service, system="x" * 800).status_code == 200


def test_a_body_that_is_announced_is_counted_before_it_is_read() -> None:
    with proxying(bodies=1_000) as (service, provider):
        head = asked("/proxy/local/anthropic/v1/messages", "Content-Length: 1001")
        assert exchanged(service.url, head).startswith(b"HTTP/1.1 503 ")
        assert provider.requests == []


@pytest.mark.parametrize("is_packed", [False, True])
def test_a_body_that_announces_nothing_is_counted_as_it_comes(*, is_packed: bool) -> None:
    said = json.dumps(BODY | {"system": "x" * 2_000}).encode()
    data = gzip.compress(said) if is_packed else said
    coding = {"content-encoding": "gzip"} if is_packed else {}
    with proxying(bodies=1_000) as (service, provider):
        answer = httpx2.post(
            f"{base(service)}/v1/messages", headers=HEADERS | coding, content=iter([data])
        )
        assert answer.status_code == 503
        assert provider.requests == []
        until(lambda: service.service.bodies.total == 0, "the end of the call")


def test_a_body_that_does_not_come_is_waited_for_no_longer_than_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(request_body, "_PIECE_SECONDS", 0.05)
    with proxying() as (service, provider):
        parts = urlsplit(service.url)
        address = (parts.hostname or "", parts.port or 0)
        head = asked("/proxy/local/anthropic/v1/messages", "Content-Length: 99")
        with socket.create_connection(address, PATIENCE) as connection:
            connection.sendall(head + b'{"model"')
            assert connection.recv(65536).startswith(b"HTTP/1.1 408 ")
        assert provider.requests == []
        until(lambda: service.service.bodies.total == 0, "the end of the call")
