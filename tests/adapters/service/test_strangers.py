"""Each route of the table, asked by those who may not: nothing is told, nothing is changed."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
import urllib3

from onrecord.adapters.service.access import Access
from onrecord.adapters.service.route import Route
from onrecord.adapters.service.routes.log_paths import LOG
from onrecord.adapters.service.routes.table import ROUTES
from tests.adapters.service.keys import KEYS, OTHER, TENANT
from tests.adapters.service.served import Served, path_of, served

CANARY = "canary-4711"
DATA = b"canary-4711 in a document"
GUARDED = [route for route in ROUTES if route.role is not None]
OF_ONE = [route for route in GUARDED if route.method == "GET" and "{" in route.path]
LOWER = {"write": "reader", "operate": "writer"}

SENT = {"model": "m", "messages": [{"role": "user", "content": "foreign"}]}
RECEIVED = {
    "id": "r1",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [
        {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": "foreign"},
        }
    ],
}
BODIES: dict[str, Any] = {
    "append": {"entries": [{"key": "a", "facts": [{"kind": "prompt", "text": "foreign"}]}]},
    "prompt": {"text": "foreign"},
    "answer": {"text": "foreign"},
    "signal": {"content": "foreign"},
    "instructions": {"text": "foreign"},
    "redact": {},
    "end": {},
    "declareTools": {"tools": []},
    "toolResult": {"content": "foreign"},
    "approveCall": {},
    "denyCall": {"reason": "foreign"},
    "edit": {"text": "foreign"},
    "retract": {},
    "compact": {"summary": "foreign"},
    "annotate": {"labels": {"by": "foreign"}},
    "fork": {"key": "foreign"},
    "recordRequest": {"api": "openai-chat", "request": SENT},
    "recordResponse": {"api": "openai-chat", "request": SENT, "response": RECEIVED},
    "forgetActor": {"name": "writer", "reason": "foreign"},
    "erase": {"conversation": "a", "reason": "foreign"},
}
QUERIES = {
    "search": f"text={CANARY}",
    "diff": "a=2&b=3",
    "log_new": "after=0",
    "log_pointed": "pointer=instructions&until=9",
    "log_exchange": "exchange=1",
    "log_get_blob": f"size={len(DATA)}",
}

ALL_KEYS = KEYS | {
    "foreign-operator": Access(OTHER, "operate", "foreign operator", KEYS["stranger"].key_id)
}


class Keys:
    def access(self, token: str) -> Access | None:
        return ALL_KEYS.get(token)

    def is_used(self) -> bool:
        return True

    def record_uses(self) -> int:
        return 0


@pytest.fixture(scope="module")
def keyed() -> Iterator[Served]:
    """A service with a conversation of one tenant, in which there is something of each kind."""
    with served(keyring=Keys()) as service:
        chat = "/v1/conversations/a"
        document = {"kind": "document", "data": base64.b64encode(DATA).decode(), "name": CANARY}
        said: list[tuple[str, Any]] = [
            ("instructions", {"text": CANARY}),
            ("prompts", {"parts": [{"kind": "text", "text": CANARY}, document]}),
            ("answers", {"text": CANARY, "calls": [{"name": CANARY, "id": "c1"}]}),
        ]
        for path, body in said:
            assert service.ask("POST", f"{chat}/{path}", body, key="writer").status == 201
        yield service


def asked(
    service: Served, route: Route[Any, Any], key: str | None, headers: dict[str, str] | None = None
) -> urllib3.BaseHTTPResponse:
    sha256 = ""
    if "{sha256}" in route.path:
        held = service.ask("GET", "/v1/conversations/a/documents", key="reader").json()
        sha256 = held["documents"][0]["sha256"]
    query = QUERIES.get(route.name, "")
    path = path_of(route, **({"sha256": sha256} if sha256 else {})) + (f"?{query}" if query else "")
    # A stream has no end: its headers say what becomes of it.
    method = "HEAD" if route.media_type == "text/event-stream" else route.method
    body = None
    if route.takes_bytes:
        body = b"foreign"
    json = BODIES.get(route.name, {}) if route.takes_body else None
    return service.ask(method, path, json, key=key, headers=headers, body=body)


def all_that_is_there(service: Served) -> list[Any]:
    paths = ("/v1/conversations/a/events", "/v1/conversations/a")
    deeds = service.ask("GET", "/v1/audit", key="reader").json()["entries"]
    return [*(service.ask("GET", path, key="reader").data for path in paths), deeds]


@pytest.mark.parametrize("route", GUARDED, ids=lambda route: route.name)
def test_who_has_no_good_key_is_told_nothing(keyed: Served, route: Route[Any, Any]) -> None:
    before = all_that_is_there(keyed)
    for key in (None, "unknown"):
        answer = asked(keyed, route, key)
        assert answer.status == 401
        assert CANARY.encode() not in answer.data
    assert all_that_is_there(keyed) == before


@pytest.mark.parametrize(
    "route", [route for route in GUARDED if route.role in LOWER], ids=lambda route: route.name
)
def test_a_key_of_a_lower_role_does_nothing(keyed: Served, route: Route[Any, Any]) -> None:
    before = all_that_is_there(keyed)
    assert asked(keyed, route, LOWER[str(route.role)]).status == 403
    assert all_that_is_there(keyed) == before


@pytest.mark.parametrize("route", GUARDED, ids=lambda route: route.name)
def test_the_names_of_another_tenant_find_nothing_of_it(
    keyed: Served, route: Route[Any, Any]
) -> None:
    before = all_that_is_there(keyed)
    answer = asked(keyed, route, "foreign-operator")
    assert CANARY.encode() not in answer.data
    assert answer.status < 500
    assert all_that_is_there(keyed) == before


@pytest.mark.parametrize("route", GUARDED, ids=lambda route: route.name)
def test_a_key_cannot_name_another_tenant(keyed: Served, route: Route[Any, Any]) -> None:
    before = all_that_is_there(keyed)
    answer = asked(keyed, route, "foreign-operator", {"onrecord-tenant": str(TENANT)})
    assert answer.status == 403
    assert CANARY.encode() not in answer.data
    assert all_that_is_there(keyed) == before


@pytest.mark.parametrize(
    "route",
    [route for route in OF_ONE if not route.path.startswith(LOG)],
    ids=lambda route: route.name,
)
def test_what_a_tenant_does_not_have_is_not_found(route: Route[Any, Any]) -> None:
    with served(keyring=Keys()) as service:
        service.ask("POST", "/v1/conversations/a/prompts", {"text": CANARY}, key="writer")
        query = QUERIES.get(route.name, "")
        path = path_of(route) + (f"?{query}" if query else "")
        method = "HEAD" if route.media_type == "text/event-stream" else "GET"
        assert service.ask(method, path, key="stranger").status == 404


@pytest.mark.parametrize(
    "route",
    [route for route in OF_ONE if route.path.startswith(LOG)],
    ids=lambda route: route.name,
)
def test_a_conversation_of_another_tenant_looks_as_one_that_never_began(
    keyed: Served, route: Route[Any, Any]
) -> None:
    events = keyed.ask("GET", "/v1/conversations/a/events", key="reader").json()["events"]
    documents = keyed.ask("GET", "/v1/conversations/a/documents", key="reader").json()["documents"]
    digest, query = documents[0]["sha256"], QUERIES.get(route.name, "")

    def answer(conversation_id: str, key: str) -> tuple[int, bytes]:
        path = path_of(route, conversation_id=conversation_id, sha256=digest)
        told = keyed.ask("GET", f"{path}?{query}", key=key)
        return told.status, told.data.replace(conversation_id.encode(), b"")

    theirs, nobodys = events[0]["conversation"], str(uuid4())
    assert answer(theirs, "stranger") == answer(nobodys, "stranger")
    assert answer(theirs, "reader") != answer(theirs, "stranger")
