"""The service by its first routes: what is said and read over HTTP is what the store has."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import onrecord
from onrecord.adapters.service.bodies import Limits
from onrecord.adapters.service.route import Route
from onrecord.adapters.service.routes.table import ROUTES
from tests.adapters.service.keys import OTHER, TENANT, Keys
from tests.adapters.service.served import Served, path_of, served


@pytest.fixture
def keyed() -> Iterator[Served]:
    with served(keyring=Keys()) as answering:
        yield answering


def test_what_is_said_over_http_is_in_the_store(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'log.db'}"
    with served(url) as service:
        answer = service.ask("POST", "/v1/conversations/support%2F4711/prompts", {"text": "Hallo"})
        assert (answer.status, answer.json()) == (201, {"first": 1, "last": 2, "is_new": True})
    with onrecord.connect(url) as store:
        chat = store.get("support/4711")
        assert [turn.text for turn in chat.history()] == ["Hallo"]


def test_the_same_message_again_changes_nothing(service: Served) -> None:
    said = {"text": "Hallo", "message_id": "m1"}
    service.ask("POST", "/v1/conversations/a/prompts", said)
    again = service.ask("POST", "/v1/conversations/a/prompts", said).json()
    assert again == {"first": 2, "last": 2, "is_new": False}
    other = service.ask("POST", "/v1/conversations/a/prompts", said | {"text": "Anders"})
    assert (other.status, other.json()["type"]) == (409, "/problems/idempotency-mismatch")


def test_a_writer_who_believed_another_version_is_told_the_present_one(service: Served) -> None:
    service.ask("POST", "/v1/conversations/a/prompts", {"text": "Hallo"})
    stale = {"text": "und", "expected_version": 1}
    answer = service.ask("POST", "/v1/conversations/a/prompts", stale)
    assert answer.status == 409
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert (problem["type"], problem["current"]) == ("/problems/version-conflict", 2)


def test_events_come_in_pages_without_a_gap(service: Served) -> None:
    for number in range(5):
        service.ask("POST", "/v1/conversations/a/prompts", {"text": str(number)})
    versions, after = list[int](), 0
    while True:
        page = service.ask("GET", f"/v1/conversations/a/events?after={after}&limit=4").json()
        versions += [event["version"] for event in page["events"]]
        if page["next"] is None:
            break
        after = page["next"]
    assert versions == list(range(1, 7))


def test_an_event_that_is_known_is_not_sent_again(service: Served) -> None:
    service.ask("POST", "/v1/conversations/a/prompts", {"text": "Hallo"})
    first = service.ask("GET", "/v1/conversations/a/events/2")
    assert first.json()["body"]["content"] == [{"kind": "text", "text": "Hallo"}]
    known = {"if-none-match": first.headers["etag"]}
    again = service.ask("GET", "/v1/conversations/a/events/2", headers=known)
    assert (again.status, again.data) == (304, b"")


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/v1/conversations/nobody", None, 404),
        ("GET", "/nowhere", None, 404),
        ("PUT", "/v1/conversations/a", b"{}", 405),
        ("POST", "/v1/conversations/a/prompts", b"{", 400),
        ("POST", "/v1/conversations/a/prompts", b'{"text": "\xff"}', 400),
        ("POST", "/v1/conversations/a/prompts", b'{"text": 7}', 422),
        ("POST", "/v1/conversations/a/prompts", b'{"text": "a", "more": 1}', 422),
        ("GET", "/v1/conversations/%FF", None, 400),
        ("GET", "/v1/conversations/a/events/0", None, 422),
        ("GET", "/v1/conversations/a/events?limit=0", None, 422),
        ("GET", "/v1/conversations/a/events?limit=1&limit=2", None, 422),
    ],
)
def test_what_cannot_be_answered_is_a_problem(
    service: Served, method: str, path: str, body: bytes | None, status: int
) -> None:
    answer = service.ask(method, path, body=body)
    assert answer.status == status
    problem = json.loads(answer.data)
    assert problem["status"] == status
    meaning = service.ask("GET", problem["type"]).json()
    assert meaning["title"] == problem["title"]


def test_a_problem_tells_nothing_of_what_was_given(service: Served) -> None:
    answer = service.ask("POST", "/v1/conversations/a/prompts", {"text": ["canary"]})
    assert answer.status == 422
    assert answer.json()["errors"] == [
        {"pointer": "/text", "detail": "Input should be a valid string"}
    ]


def test_a_body_that_is_too_large_is_refused() -> None:
    with served(limits=Limits(body=100)) as service:
        answer = service.ask("POST", "/v1/conversations/a/prompts", {"text": "x" * 100})
        assert answer.status == 413
        assert service.ask("GET", "/v1/conversations/a").status == 404


@pytest.mark.parametrize("route", [route for route in ROUTES if route.role], ids=lambda r: r.name)
def test_each_route_needs_a_key_that_is_good(keyed: Served, route: Route[Any, Any]) -> None:
    path = path_of(route)
    assert keyed.ask(route.method, path).status == 401
    assert keyed.ask(route.method, path, key="unknown").status == 401


def test_a_key_to_read_writes_nothing(keyed: Served) -> None:
    said = {"text": "Hallo"}
    assert keyed.ask("POST", "/v1/conversations/a/prompts", said, key="reader").status == 403
    assert keyed.ask("GET", "/v1/conversations/a", key="reader").status == 404


def test_a_key_is_for_its_tenant_alone(keyed: Served) -> None:
    keyed.ask("POST", "/v1/conversations/a/prompts", {"text": "Hallo"}, key="writer")
    assert keyed.ask("GET", "/v1/conversations/a", key="stranger").status == 404
    named = {"onrecord-tenant": str(TENANT)}
    assert keyed.ask("GET", "/v1/conversations/a", key="stranger", headers=named).status == 403
    other = {"onrecord-tenant": str(OTHER)}
    assert keyed.ask("GET", "/v1/conversations/a", key="operator").status == 200
    assert keyed.ask("GET", "/v1/conversations/a", key="operator", headers=other).status == 404


def test_without_keys_only_programs_of_this_machine_come_in(service: Served) -> None:
    assert service.ask("GET", "/v1/conversations/a").status == 404
    rebound = service.ask("GET", "/v1/conversations/a", headers={"host": "evil.example"})
    assert rebound.status == 401


@pytest.mark.parametrize(
    "forwarded",
    [
        {"forwarded": "for=1.2.3.4"},
        {"x-forwarded-for": "127.0.0.1"},
        {"x-forwarded-host": "localhost"},
        {"x-real-ip": "127.0.0.1"},
        {"via": "1.1 nearby"},
    ],
)
def test_who_comes_through_another_server_needs_a_key(
    service: Served, forwarded: dict[str, str]
) -> None:
    assert service.ask("GET", "/v1/conversations/a", headers=forwarded).status == 401


@pytest.mark.parametrize(
    "sent_by",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_a_web_page_writes_and_erases_nothing_without_a_key(
    service: Served, sent_by: dict[str, str]
) -> None:
    service.ask("POST", "/v1/conversations/a/prompts", {"text": "Hallo"})
    erasure = b'{"conversation": "a", "reason": "none"}'
    for path, body in (
        ("/v1/conversations/a/prompts", b'{"text": "forged"}'),
        ("/v1/erasures", erasure),
        ("/proxy/local/anthropic/v1/messages", b"{}"),
    ):
        assert service.ask("POST", path, body=body, headers=sent_by).status == 401
    assert service.ask("GET", "/v1/conversations/a").json()["version"] == 2


def test_a_page_of_the_service_itself_needs_no_key_either(service: Served) -> None:
    # A form's Origin is null where no page says what it came from.
    for origin in (service.url, "null"):
        own = {"origin": origin, "sec-fetch-site": "same-origin"}
        said = service.ask("POST", "/v1/conversations/a/prompts", {"text": "Hallo"}, headers=own)
        assert said.status == 201


def test_a_service_with_names_answers_to_no_other() -> None:
    with served(hosts=("log.example",)) as service:
        assert (
            service.ask("GET", "/v1/conversations/a", headers={"host": "b.example"}).status == 421
        )


def test_who_acts_is_named_in_a_header(service: Served) -> None:
    acting = {"onrecord-actor": "Jos%C3%A9", "onrecord-on-behalf-of": "Ana"}
    service.ask("POST", "/v1/conversations/a/prompts", {"text": "Hallo"}, headers=acting)
    event = service.ask("GET", "/v1/conversations/a/events/2").json()
    assert (event["actor_name"], event["on_behalf_of_name"]) == ("José", "Ana")


def test_the_rules_in_force_are_named_in_headers_and_found(service: Served) -> None:
    ruled = {"onrecord-policy": "2026-11", "x-onrecord-deployment": "eu-1"}
    service.ask("POST", "/v1/conversations/a/prompts", {"text": "Hallo"}, headers=ruled)
    service.ask("POST", "/v1/conversations/a/prompts", {"text": "Und nun?"})
    event = service.ask("GET", "/v1/conversations/a/events/2").json()
    assert (event["policy"], event["deployment"]) == ("2026-11", "eu-1")
    (found,) = service.ask("GET", "/v1/in-force?policy=2026-11").json()["entries"]
    assert (found["key"], found["events"], found["last_version"]) == ("a", 2, 2)
    entries = service.ask("GET", "/v1/audit?deployment=eu-1").json()["entries"]
    assert {(entry["policy"], entry["sha256"]) for entry in entries} == {("2026-11", None)}
    assert service.ask("GET", "/v1/in-force").status == 422
    no_version = {"onrecord-policy": "of Zoe"}
    said = service.ask("POST", "/v1/conversations/a/prompts", {"text": "x"}, headers=no_version)
    assert said.status == 422


def test_the_document_has_each_route_and_only_schemas_that_are_there(service: Served) -> None:
    document = service.ask("GET", "/openapi.json").json()
    assert document["openapi"] == "3.1.0"
    described = {
        (method.upper(), path) for path, methods in document["paths"].items() for method in methods
    }
    assert described == {(route.method, route.path) for route in ROUTES}
    schemas = document["components"]["schemas"]
    text = json.dumps(document)
    named = set(re.findall('"#/components/schemas/(\\w+)"', text))
    assert named <= schemas.keys()
    assert {"EventPage", "Prompt", "ProblemDetails"} <= named
