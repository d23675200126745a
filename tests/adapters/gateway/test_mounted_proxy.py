"""The proxy as a part of the gateway: who comes in by the service's door is recorded, nobody else."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import anthropic
import pytest

import onrecord
from onrecord.adapters.demo.services.server import DemoServer
from onrecord.adapters.gateway.gateway import Proxying
from tests.adapters.demo.demo_client import GREETING, MODEL
from tests.adapters.proxy.proxied import PROVIDER_KEY, at
from tests.adapters.proxy.raw_provider import exchanged
from tests.adapters.service.keys import Keys
from tests.adapters.service.served import Served, served

ASKED = {
    "model": MODEL,
    "max_tokens": 64,
    "messages": [{"role": "user", "content": "Hello"}],
}


@pytest.fixture
def provider() -> Generator[DemoServer]:
    with DemoServer([GREETING] * 4) as server:
        yield server


def asked(service: Served, key: str, **headers: str) -> int:
    own = {"x-api-key": PROVIDER_KEY, "anthropic-version": "2023-06-01"}
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    path = f"/proxy/{key}/anthropic/v1/messages"
    return service.ask("POST", path, ASKED, headers=own | given).status


def test_a_program_of_this_machine_is_recorded_without_a_key(
    provider: DemoServer, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path / 'log.db'}"
    with served(url, proxying=Proxying(at(provider.url))) as service:
        base_url = f"{service.url}/proxy/local/in/support%2F4711/anthropic"
        with anthropic.Anthropic(api_key=PROVIDER_KEY, base_url=base_url) as client:
            client.messages.create(
                model=MODEL, max_tokens=64, messages=[{"role": "user", "content": "Hello"}]
            )
    with onrecord.connect(url) as store:
        said = [turn.text for turn in store.get("support/4711").history()]
        assert said == ["Hello", GREETING.content[0]["text"]]


def test_no_web_page_and_nobody_who_is_forwarded_comes_in_without_a_key(
    provider: DemoServer,
) -> None:
    with served(proxying=Proxying(at(provider.url))) as service:
        assert asked(service, "local") == 200
        assert asked(service, "local", host="evil.example") == 401
        assert asked(service, "local", x_forwarded_for="1.2.3.4") == 401
        assert len(provider.requests) == 1


def test_a_key_to_write_is_recorded_for_its_tenant(provider: DemoServer) -> None:
    with served(keyring=Keys(), proxying=Proxying(at(provider.url))) as service:
        assert asked(service, "writer", x_onrecord_conversation="a") == 200
        assert service.ask("GET", "/v1/conversations/a", key="reader").status == 200
        assert service.ask("GET", "/v1/conversations/a", key="stranger").status == 404


def test_who_acts_is_the_key_unless_a_header_says_so(provider: DemoServer) -> None:
    with served(keyring=Keys(), proxying=Proxying(at(provider.url))) as service:
        asked(service, "writer", x_onrecord_conversation="a")
        asked(service, "writer", x_onrecord_conversation="b", x_onrecord_actor="Jos%C3%A9")
        for key, name in (("a", "writer"), ("b", "José")):
            events = service.ask("GET", f"/v1/conversations/{key}/events", key="reader").json()
            assert {event["actor_name"] for event in events["events"]} == {name}
        assert all("x-onrecord-actor" not in sent.headers for sent in provider.requests)


@pytest.mark.parametrize("key", ["reader", "unknown", "local"])
def test_who_may_not_write_reaches_no_provider(provider: DemoServer, key: str) -> None:
    with served(keyring=Keys(), proxying=Proxying(at(provider.url))) as service:
        assert asked(service, key) == 401
    assert provider.requests == ()


def test_keys_that_cannot_be_looked_up_are_no_failure_of_the_program(provider: DemoServer) -> None:
    with served(keyring=Keys(are_away=True), proxying=Proxying(at(provider.url))) as service:
        assert asked(service, "writer") == 503
        assert service.ask("GET", "/v1/conversations/a", key="reader").status == 503
    assert provider.requests == ()


@pytest.mark.parametrize("name", ["onrecord_actor", "x_onrecord_actor"])
def test_who_acts_is_said_by_the_same_headers_as_to_the_service(
    provider: DemoServer, name: str
) -> None:
    with served(keyring=Keys(), proxying=Proxying(at(provider.url))) as service:
        header = {name.replace("_", "-"): "Jos%C3%A9"}
        asked(service, "writer", x_onrecord_conversation="a", **{name: "Jos%C3%A9"})
        path = "/v1/conversations/b/prompts"
        service.ask("POST", path, {"text": "Hello"}, key="writer", headers=header)
        for key in ("a", "b"):
            events = service.ask("GET", f"/v1/conversations/{key}/events", key="reader").json()
            assert {event["actor_name"] for event in events["events"]} == {"José"}
        assert not any("actor" in name for sent in provider.requests for name in sent.headers)


def test_two_names_of_who_acts_are_refused(provider: DemoServer) -> None:
    both = {"onrecord_actor": "ana", "x_onrecord_actor": "bob"}
    with served(proxying=Proxying(at(provider.url))) as service:
        assert asked(service, "local", **both) == 400
        sent = {name.replace("_", "-"): value for name, value in both.items()}
        path = "/v1/conversations/b/prompts"
        assert service.ask("POST", path, {"text": "Hello"}, headers=sent).status == 400
    assert provider.requests == ()


HOSTILE = {
    "two lengths": ("POST {proxy}", "Content-Length: 2", "Content-Length: 3"),
    "a length and chunks": ("POST {proxy}", "Content-Length: 2", "Transfer-Encoding: chunked"),
    "chunks twice": ("POST {proxy}", "Transfer-Encoding: chunked", "Transfer-Encoding: identity"),
    "two hosts": ("GET {proxy}", "Host: 127.0.0.1"),
    "a host of its own": ("GET {proxy}", "X-Forwarded-Host: evil.example"),
    "a tunnel": ("CONNECT evil.example:443",),
    "a tunnel by a path": ("CONNECT {proxy}",),
    "a request for what was asked": ("TRACE {proxy}",),
    "a head without an end": ("GET {proxy}", "X-Long: " + "x" * 70_000),
    "many headers": ("GET {proxy}", *(f"X-{n}: {'y' * 900}" for n in range(80))),
    "a long path": ("GET {proxy}/" + "z" * 70_000,),
    "dots": ("GET {proxy}/../../admin",),
    "dots in code": ("GET {proxy}/%2e%2e%2fadmin",),
    "a slash in code": ("GET /proxy/local%2Fanthropic/v1/messages",),
    "a line in a header": ("GET {proxy}", "X-A: b\rX-C: d"),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_request_reaches_no_provider(provider: DemoServer, what: str) -> None:
    line, *headers = HOSTILE[what]
    target = line.format(proxy="/proxy/local/anthropic/v1/messages")
    with served(proxying=Proxying(at(provider.url))) as service:
        lines = [f"{target} HTTP/1.1", "Host: 127.0.0.1", "Connection: close", *headers, "", ""]
        answer = exchanged(service.url, "\r\n".join(lines).encode() + b"{}")
        assert answer == b"" or answer.split(b" ")[1].startswith(b"4")
        assert provider.requests == ()
        assert service.ask("GET", "/v1/conversations/a").status == 404  # It is there for others.
