"""What operators ask over HTTP: does the record hold, what is erased, how does the service do."""

from __future__ import annotations

import asyncio
import socket
from contextlib import closing
from urllib.parse import urlsplit

import pytest
import urllib3
from urllib3.util import Timeout

import onrecord
from onrecord.adapters.asynchronous.store import AsyncStore
from onrecord.adapters.service.access import Access
from onrecord.adapters.service.bodies import Limits
from onrecord.adapters.service.routes import operations
from onrecord.adapters.storage.postgres.postgres import migrate
from onrecord.domain.log import Cursor
from tests.adapters.service.keys import KEYS, TENANT, Keys
from tests.adapters.service.served import Served, served
from tests.patience import PATIENCE, until
from tests.postgres_server import carried_server

CHAT = "/v1/conversations/a"
ACTING = {"onrecord-actor": "ana"}


def say(service: Served, text: str = "Hallo", key: str = "a") -> None:
    path = f"/v1/conversations/{key}/prompts"
    assert service.ask("POST", path, {"text": text}).status == 201


def test_a_conversation_and_the_log_are_verified(each_service: Served) -> None:
    say(each_service)
    one = each_service.ask("GET", f"{CHAT}/verification").json()
    assert (one["is_whole"], one["events"], one["faults"]) == (True, 2, [])
    whole = each_service.ask("GET", "/v1/verification").json()
    assert (whole["is_whole"], whole["conversations"]) == (True, 1)
    assert whole["roots"]


def test_the_log_is_verified_however_long_that_takes() -> None:
    with served(limits=Limits(answer_seconds=0.0)) as service:
        assert service.ask("GET", "/v1/verification").json()["is_whole"] is True
        assert service.ask("GET", CHAT).status == 503


def test_a_probe_does_not_wait_for_a_store_that_does_not_answer(
    service: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(self: AsyncStore) -> list[Cursor]:
        await asyncio.Event().wait()
        raise AssertionError

    monkeypatch.setattr(operations, "READY_SECONDS", 0.05)
    monkeypatch.setattr(AsyncStore, "cursors", never)
    answer = service.ask("GET", "/ready")
    assert answer.status == 503
    assert "retry-after" in answer.headers


def test_only_a_key_for_all_tenants_verifies_the_log_of_all() -> None:
    keys = KEYS | {"own": Access(TENANT, "operate", "own", TENANT)}

    class Ring:
        def access(self, token: str) -> Access | None:
            return keys.get(token)

        def is_used(self) -> bool:
            return True

        def record_uses(self) -> int:
            return 0

    with served(keyring=Ring()) as service:
        assert service.ask("GET", "/v1/verification", key="own").status == 403
        assert service.ask("GET", "/v1/verification", key="operator").status == 200


def test_what_is_erased_is_gone_for_everybody(each_service: Served) -> None:
    say(each_service, "secret")
    tag = each_service.ask("GET", f"{CHAT}/events/2").headers["etag"]
    wanted = {"conversation": "a", "reason": "asked for"}
    unnamed = each_service.ask("POST", "/v1/erasures", wanted)
    assert unnamed.status == 422
    done = each_service.ask("POST", "/v1/erasures", wanted, headers=ACTING)
    assert (done.status, done.json()["events"]) == (201, 2)
    known = {"if-none-match": tag}
    assert each_service.ask("GET", f"{CHAT}/events/2", headers=known).status == 404
    (erasure,) = each_service.ask("GET", "/v1/erasures").json()["erasures"]
    assert (erasure["actor"], erasure["reason"], erasure["is_finished"]) == (
        *("ana", "asked for"),
        True,
    )
    again = each_service.ask("POST", "/v1/erasures", wanted, headers=ACTING)
    assert again.status == 404


def test_metrics_count_answers_by_route_and_status(service: Served) -> None:
    say(service)
    service.ask("GET", "/v1/conversations/nobody")
    answer = service.ask("GET", "/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = answer.data.decode().splitlines()
    assert 'onrecord_http_answers_total{route="prompt",status="201"} 1.0' in lines
    assert 'onrecord_http_answers_total{route="position",status="404"} 1.0' in lines
    assert any(line.startswith("onrecord_view_lag_events") for line in lines)
    assert "nobody" not in answer.data.decode()


def test_metrics_are_for_operators() -> None:
    with served(keyring=Keys()) as service:
        assert service.ask("GET", "/metrics", key="writer").status == 403


def test_a_request_under_way_is_finished_when_the_server_is_told_to_end(service: Served) -> None:
    host, port = urlsplit(service.url).hostname, urlsplit(service.url).port
    assert host is not None
    body = b'{"text": "Hallo"}'
    head = (
        b"POST /v1/conversations/a/prompts HTTP/1.1\r\nhost: localhost\r\n"
        b"content-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body)
    )
    with closing(socket.create_connection((host, port or 0), PATIENCE)) as connection:
        connection.sendall(head + body[:5])
        until(lambda: service.service.open_requests.total == 1, "the request")
        service.end()
        until(lambda: service.service.tails.hub.is_over, "the end")
        assert service.ask("GET", CHAT).status == 503
        connection.sendall(body[5:])
        assert connection.recv(65536).startswith(b"HTTP/1.1 201")


def test_a_database_that_is_away_is_told_and_comes_back() -> None:
    server = carried_server("18")
    url = server.create("log", migrate)
    with served(url) as service:
        say(service, "before")
        server.stop()
        try:
            for method, path, body in (
                ("GET", CHAT, None),
                ("GET", "/ready", None),
                ("POST", f"{CHAT}/prompts", {"text": "lost"}),
            ):
                answer = service.ask(method, path, body)
                assert (answer.status, answer.json()["type"]) == (503, "/problems/unavailable")
                assert int(answer.headers["retry-after"]) > 0
                assert "postgres" not in answer.data.decode()
            assert service.ask("GET", "/health").status == 200
        finally:
            server.restart()
        until(lambda: service.ask("GET", "/ready").status == 200, "the database")
        say(service, "after")
        events = service.ask("GET", f"{CHAT}/events").json()["events"]
        texts = [each["body"]["content"][0]["text"] for each in events[1:]]
        assert texts == ["before", "after"]


def test_a_document_counts_as_an_open_request_until_its_client_has_it(service: Served) -> None:
    size = 32 << 20
    kept = service.ask(
        "POST",
        f"{CHAT}/documents?name=a.pdf",
        body=b"x" * size,
        headers={"content-type": "application/pdf"},
    ).json()
    part = {"kind": "stored_document", **kept}
    assert service.ask("POST", f"{CHAT}/prompts", {"parts": [part]}).status == 201
    path = f"{service.url}{CHAT}/documents/{kept['sha256']}"
    with urllib3.PoolManager() as pool:
        answer = pool.request("GET", path, preload_content=False, timeout=Timeout(PATIENCE))
        assert answer.status == 200
        assert answer.read(1) == b"x"
        assert service.service.open_requests.total == 1
        assert len(answer.read()) == size - 1
        until(lambda: service.service.open_requests.total == 0, "the end")


def test_what_a_hold_keeps_is_a_problem_that_names_the_hold(each_service: Served) -> None:
    say(each_service)
    with onrecord.connect(each_service.url) as store:
        hold = store.retention.place_hold(
            "a", matter="Smith v. Example", reason="claim", actor="ana"
        )
    wanted = {"conversation": "a", "reason": "asked for"}
    refused = each_service.ask("POST", "/v1/erasures", wanted, headers=ACTING)
    assert (refused.status, refused.json()["type"]) == (409, "/problems/on-hold")
    assert str(hold.hold_id) in refused.json()["detail"]
    assert each_service.ask("GET", CHAT).status == 200
