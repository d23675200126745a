"""Requests of strangers: no other host is reached, no other path, and no key is kept or told."""

import json
import logging
from collections.abc import Generator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from onrecord import InvalidInput, Store
from onrecord.adapters.proxy.address import has_odd_segment
from onrecord.adapters.proxy.upstreams import BUILT_IN, Upstream, upstreams_given
from onrecord.adapters.recording.spool import Spool
from onrecord.adapters.storage.sqlite.sqlite import open_sqlite
from onrecord.domain.errors import StorageFull
from tests.adapters.demo.demo_client import HELLO, MODEL
from tests.adapters.proxy.proxied import KEY, PROVIDER_KEY, at, proxied
from tests.adapters.proxy.raw_provider import STREAM, chunk, exchanged, raw_provider, replied
from tests.factories import TENANT

BODY = json.dumps({"model": MODEL, "max_tokens": 64, "messages": HELLO}).encode()

ODD = (
    "../v1/messages",
    "v1/../../admin",
    "v1/messages/..",
    "v1/./messages",
    "%2e%2e/v1/messages",
    "v1/%2E%2e%2fadmin",
    "v1/%252e%252e/admin",
    "v1/%25252e%25252e/admin",
    "/v1/messages",
    "v1//messages",
    "v1/..%5cadmin",
    "v1/x%5Cadmin",
    "v1/messages%00",
    "v1/messages%0d%0aX-Evil:%201",
    "v1/%0a",
    "v1/messages%09",
)
PLAIN = (
    "",
    "v1/messages",
    "v1/",
    "model/us.anthropic.claude-x-v1%3A0/converse",
    "model/arn%3Aaws%3Abedrock%3Aeu-west-1%3A1%3Ainference-profile%2Fx/converse",
    "v1beta/models/gemini-3:streamGenerateContent",
    "v1/files/a..b/content",
)


def sent(line: str, *headers: str, body: bytes = b"") -> bytes:
    length = [f"Content-Length: {len(body)}"] if body else []
    lines = [line, "Host: proxy.example", "Connection: close", *length, *headers, "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


@pytest.mark.parametrize("path", ODD)
def test_a_path_that_may_be_read_as_another_one_reaches_no_provider(
    store: Store, path: str
) -> None:
    with raw_provider() as there, proxied(store, at(there.url)) as p:
        line = f"POST /proxy/{KEY}/anthropic/{path} HTTP/1.1"
        answer = exchanged(p.origin, sent(line, body=BODY))
        assert answer.split(b" ")[1] == b"400"
        assert there.requests == []


@pytest.mark.parametrize("path", PLAIN)
def test_a_path_of_a_provider_is_none_of_these(path: str) -> None:
    assert not has_odd_segment(path)


@pytest.mark.parametrize(
    "target",
    [
        "http://evil.example/v1/messages",
        "//evil.example/proxy/x/anthropic/v1",
        f"/proxy/{KEY}",
        f"/proxy/{KEY}/",
        "/proxy//anthropic/v1/messages",
        f"/{KEY}/anthropic/v1/messages",
        f"/proxyx/{KEY}/anthropic/v1/messages",
        f"/proxy/{KEY}/http:/evil.example/v1/messages",
        f"/proxy/{KEY}/in/a",
        f"/proxy/{KEY}/in/%ff/anthropic/v1/messages",
    ],
)
def test_a_target_that_names_no_provider_is_not_found(store: Store, target: str) -> None:
    with raw_provider() as there, proxied(store, at(there.url)) as p:
        answer = exchanged(p.origin, sent(f"GET {target} HTTP/1.1"))
        assert answer.split(b" ")[1] in (b"404", b"401", b"400")
        assert there.requests == []


def test_a_target_with_a_host_of_its_own_reaches_the_provider_and_no_other(store: Store) -> None:
    with raw_provider((replied(b"{}"),)) as there, proxied(store, at(there.url)) as p:
        line = f"GET http://evil.example/proxy/{KEY}/anthropic/v1/models HTTP/1.1"
        exchanged(p.origin, sent(line))
        (request,) = there.requests
        assert request.startswith(b"GET /v1/models HTTP/1.1\r\n")
        assert there.url.removeprefix("http://").encode() in request
        assert b"evil" not in request


@pytest.mark.parametrize(
    "headers",
    [
        (f"Content-Length: {len(BODY)}", "Content-Length: 3"),
        (f"Content-Length: {len(BODY)}", "Transfer-Encoding: chunked"),
        ("Content-Length: 3, 3",),
        ("Content-Length: -1",),
        ("Transfer-Encoding: chunked, identity", "Content-Length: 3"),
    ],
)
def test_a_smuggled_request_reaches_no_provider(store: Store, headers: tuple[str, ...]) -> None:
    with raw_provider() as there, proxied(store, at(there.url)) as p:
        line = f"POST /proxy/{KEY}/anthropic/v1/messages HTTP/1.1"
        lines = [line, "Host: x", "Connection: close", *headers, "", ""]
        answer = exchanged(p.origin, "\r\n".join(lines).encode() + BODY)
        assert answer[:12] in (b"", b"HTTP/1.1 400")
        assert there.requests == []
        assert p.keys() == []


def test_headers_of_one_connection_and_of_the_proxy_stay_behind(store: Store) -> None:
    answered = replied(
        b"{}",
        b"Connection: close, X-Hop",
        b"X-Hop: 1",
        b"Keep-Alive: timeout=5",
        b"Set-Cookie: a=1",
        b"Set-Cookie: b=2",
        b"X-Kept: yes",
    )
    with raw_provider((answered,)) as there, proxied(store, at(there.url)) as p:
        line = f"GET /proxy/{KEY}/anthropic/v1/models HTTP/1.1"
        lines = (
            "Connection: close, X-Mine",
            "X-Mine: 1",
            "TE: trailers",
            "Proxy-Authorization: Basic eDp5",
            "Keep-Alive: timeout=5",
            "X-Onrecord-Conversation: a",
            "X-Onrecord-Anything: b",
            "Cookie: c=3",
            "X-Kept: yes",
        )
        answer = exchanged(p.origin, sent(line, *lines)).lower()
        (request,) = (each.lower() for each in there.requests)
    for gone in (b"x-mine", b"te: ", b"proxy-", b"keep-alive: ", b"onrecord", KEY.encode()):
        assert gone not in request
    assert b"cookie: c=3" in request
    assert b"x-kept: yes" in request
    assert b"user-agent" not in request
    for gone in (b"x-hop", b"keep-alive: "):
        assert gone not in answer
    assert answer.count(b"set-cookie: ") == 2
    assert b"x-kept: yes" in answer


# -- canaries --------------------------------------------------------------------------------


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> Generator[pytest.LogCaptureFixture]:
    with caplog.at_level(logging.DEBUG):
        yield caplog


def echoing(status: bytes) -> bytes:
    """An error that quotes the key, as providers have it."""
    error = {"type": "authentication_error", "message": f"invalid x-api-key: {PROVIDER_KEY}"}
    body = json.dumps({"type": "error", "error": error}).encode()
    return replied(body, b"content-type: application/json", status=status)


def test_no_key_is_in_any_file_or_log(
    tmp_path: Path, told: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys: Any = {
        "x-api-key": PROVIDER_KEY,
        "authorization": f"Bearer {PROVIDER_KEY}",
        "x-goog-api-key": PROVIDER_KEY,
    }
    backend = open_sqlite(tmp_path / "log.db")
    answers = [
        (echoing(b"401 Unauthorized"),),
        (STREAM + chunk(b"event: error\ndata: " + echoing(b"200 OK").split(b"\r\n\r\n")[1]),),
        (replied(b"{}"),),
        (replied(b"{}"),),
        (replied(b'{"message": "Hello"}'),),
    ]
    with (
        Store(backend, "a store", spool=Spool(tmp_path / "spool"), tenant=TENANT) as store,
        raw_provider(*answers) as there,
        proxied(store, {**at(there.url), "gone": Upstream("gone", "http://127.0.0.1:1")}) as p,
        httpx2.Client(headers=keys) as client,
    ):
        turn = p.base("anthropic", f"/v1/messages?key={PROVIDER_KEY}")
        client.post(turn, content=BODY)
        with client.stream("POST", turn, content=BODY) as answer:
            next(answer.iter_raw())
        client.post(p.base("anthropic", f"/v1/dreams?key={PROVIDER_KEY}"), content=BODY)
        client.get(p.base("anthropic", f"/v1/models?key={PROVIDER_KEY}"))
        client.post(p.base("gone", f"/v1/messages?key={PROVIDER_KEY}"), content=BODY)
        client.post(p.base("anthropic", "/v1/messages/../x"), content=BODY)
        client.post(p.base("anthropic").replace(KEY, f"{KEY}x") + "/v1/messages", content=BODY)

        def full(*_: Any) -> Any:
            raise StorageFull("no room")

        monkeypatch.setattr(backend, "append", full)
        client.post(turn, content=BODY)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(b"Hello" in path.read_bytes() for path in files)  # The search would find a key.
    own = [record for record in told.records if not record.name.startswith(("httpx", "httpcore"))]
    logged = "\n".join(logging.Formatter().format(record) for record in own).encode()
    assert b"could not be recorded" in logged
    for canary in (PROVIDER_KEY.encode(), KEY.encode()):
        assert canary not in logged
        assert [path for path in files if canary in path.read_bytes()] == []


# -- the table of providers ------------------------------------------------------------------


def test_a_provider_may_be_added_or_put_elsewhere() -> None:
    table = upstreams_given(
        [
            "bedrock=https://bedrock-runtime.eu-central-1.amazonaws.com",
            "groq:openai-chat=https://api.groq.com/openai",
        ]
    )
    assert table["bedrock"].apis == BUILT_IN["bedrock"].apis
    assert table["bedrock"].url.endswith("eu-central-1.amazonaws.com")
    assert table["groq"] == Upstream("groq", "https://api.groq.com/openai", ("openai-chat",))
    assert table["anthropic"] is BUILT_IN["anthropic"]


@pytest.mark.parametrize(
    "text",
    [
        "groq",
        "=https://api.groq.com",
        "in=https://api.groq.com",
        "a/b=https://api.groq.com",
        "GROQ=https://api.groq.com",
        "groq=api.groq.com",
        "groq=ftp://api.groq.com",
        "groq=https://key@api.groq.com",
        "groq=https://api.groq.com?key=1",
        "groq=https://api.groq.com#x",
        "groq=https://api.groq.com/../x",
        "groq=https://",
        "groq=https://api.groq.com:port",
        "groq:speech=https://api.groq.com",
    ],
)
def test_what_is_no_provider_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        upstreams_given([text])
