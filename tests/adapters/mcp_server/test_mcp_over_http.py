"""An agent reads over HTTP what its key may read, and the service takes on no more than it can bear."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit
from uuid import UUID

import pytest
from mcp.client.subscriptions import ResourceUpdated

import onrecord
from onrecord.adapters.mcp_server.scope import Scope
from onrecord.adapters.service import keyring
from onrecord.adapters.service.bodies import Limits
from onrecord.adapters.store import Store, backend_of
from onrecord.adapters.upkeep.keys import issue_key, revoke_key, service_keys
from onrecord.adapters.upkeep.verified import Verified
from tests.adapters.mcp_server.agents import agent, asked, content, refused
from tests.adapters.service.keys import OTHER, TENANT, Keys
from tests.adapters.service.served import Served, served
from tests.patience import PATIENCE, until

pytestmark = pytest.mark.anyio

OWN, ORIGIN, THEIRS = "support/4711", "support/origin", "support/theirs"
URI = "onrecord://conversations/support%2F4711"
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
READ = {**CALL, "params": {"name": "read_turns", "arguments": {"key": OWN}}}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'talks.db'}"


@pytest.fixture
def service(url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """A service of two tenants that have said something; the keys are those of `Keys`."""
    monkeypatch.setenv("ONRECORD_ACCESS_LOG", "on")
    with onrecord.connect(url, tenant=TENANT) as ours:
        ours.conversation(ORIGIN).user("The origin asks of a parcel")
        ours.get(ORIGIN).fork(OWN).user("Where is the parcel?")
    with onrecord.connect(url, tenant=OTHER) as others:
        others.conversation(THEIRS).user("Their parcel")
    with served(url, keyring=Keys()) as answering:
        yield answering


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_an_agent_reads_over_http(service: Served, mode: Literal["legacy", "auto"]) -> None:
    async with agent(service, "reader", conversation=OWN, mode=mode) as client:
        tools = (await client.list_tools()).tools
        turns = await asked(client, "read_turns")
        position = await content(client, "onrecord://conversations/support%2F4711")
        resources = (await client.list_resources()).resources
    assert "request_at" in {tool.name for tool in tools}
    assert [block["said"]["text"] for block in turns["blocks"]] == [
        "The origin asks of a parcel",
        "Where is the parcel?",
    ]
    assert position["version"] == turns["at"]
    assert len(resources) == 2


async def test_without_a_conversation_all_of_the_tenant_is_shown_to_each_key(
    service: Served,
) -> None:
    for key in ("reader", "writer", "operator"):
        async with agent(service, key) as client:
            found = await asked(client, "search_history", text="parcel")
        assert {hit["key"] for hit in found["hits"]} == {OWN, ORIGIN}


async def test_tenants_do_not_see_each_other(service: Served) -> None:
    async with agent(service, "stranger") as client:
        found = await asked(client, "search_history", text="parcel")
        other = await refused(client, "read_turns", key=OWN)
        assert other == await refused(client, "read_turns", key="no such key")
    assert [hit["key"] for hit in found["hits"]] == [THEIRS]
    async with agent(service, "stranger", conversation=OWN) as client:
        other = await refused(client, "read_turns")
    async with agent(service, "stranger", conversation="no such key") as client:
        assert other == await refused(client, "read_turns")
    headers = {"onrecord-tenant": str(TENANT)}
    assert asked_of(service, READ, key="stranger", headers=headers).status == 403
    answer = asked_of(service, READ, key="operator", headers={"onrecord-tenant": str(OTHER)})
    assert "no conversation has that key" in answer.data.decode()


async def test_a_key_that_is_none_or_was_revoked_is_refused(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keyring, "KEPT_FOR", 0.05)
    with onrecord.connect(url) as store, served(url) as service:
        log, tenant = backend_of(store), UUID(int=0)
        assert asked_of(service, READ).status == 200
        token = issue_key(log, tenant, "the agent", actor="ana").token
        until(lambda: asked_of(service, READ).status == 401)
        assert asked_of(service, READ, key=token).status == 200
        (key,) = service_keys(log, tenant)
        revoke_key(log, tenant, key.key_id, actor="ana", reason="it is over")
        until(lambda: asked_of(service, READ, key=token).status == 401)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"origin": "http://{host}"}, 200),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://{host}", "sec-fetch-site": "cross-site"}, 403),
        ({"origin": "http://evil.example", "sec-fetch-site": "none"}, 403),
        ({"origin": "http://evil.example", "host": "evil.example"}, 403),
    ],
)
async def test_no_web_page_of_another_origin_is_answered(
    service: Served, headers: dict[str, str], status: int
) -> None:
    host = urlsplit(service.url).netloc
    sent = {name: value.format(host=host) for name, value in headers.items()}
    assert asked_of(service, READ, key="reader", headers=sent).status == status


async def test_who_needs_no_key_comes_from_this_machine_by_a_name_of_it() -> None:
    with served() as service:
        assert asked_of(service, READ).status == 200
        assert asked_of(service, READ, headers={"host": "evil.example"}).status == 401
        assert asked_of(service, READ, headers={"x-forwarded-for": "10.0.0.1"}).status == 401
    with served(hosts=("log.example",)) as service:
        assert asked_of(service, READ, headers={"host": "evil.example"}).status == 421


@pytest.mark.parametrize(
    ("body", "kind", "status", "why"),
    [
        (b"[" * 200_000, "application/json", 400, "deep"),
        (b'{"a":' * 300 + b"1" + b"}" * 300, "application/json", 400, "deep"),
        (b"{" + b" " * (64 << 20) + b"}", "application/json", 413, "bytes"),
        (b"[" + b"1," * 300_000 + b"1]", "application/json", 413, "values"),
        (json.dumps([READ, READ]).encode(), "application/json", 400, "no batch"),
        (json.dumps(READ).encode(), "text/plain", 415, "application/json"),
        (b"", "application/json", 400, "not JSON"),
        (b"\xff\xfe{}", "application/json", 400, "not UTF-8"),
        (b'{"jsonrpc":"1.0","id":1}', "application/json", 400, "jsonrpc"),
    ],
)
async def test_a_hostile_body_gets_a_clear_answer_and_holds_nothing(
    service: Served, body: bytes, kind: str, status: int, why: str
) -> None:
    headers = {"content-type": kind, "accept": "application/json, text/event-stream"}
    answer = service.ask("POST", "/mcp", key="reader", body=body, headers=headers)
    assert answer.status == status
    assert why in answer.data.decode()
    until(lambda: service.service.open_requests.total == 0)
    assert service.service.bodies.total == 0


@pytest.mark.parametrize(
    ("message", "status", "why"),
    [
        ({**CALL, "params": {"name": "forget"}}, 200, "no tool of that name"),
        ({**CALL, "params": {"name": "read_turns", "arguments": {"a": 1}}}, 200, "Extra inputs"),
        ({**CALL, "params": 7}, 400, "params"),
        ({**CALL, "method": "no/such"}, 200, "not found"),
        ({**CALL, "method": "resources/subscribe", "params": {"uri": "a:b"}}, 200, "not found"),
    ],
)
async def test_a_wrong_message_is_told_so(
    service: Served, message: dict[str, Any], status: int, why: str
) -> None:
    answer = asked_of(service, message, key="reader")
    assert answer.status == status
    assert why in answer.data.decode()


async def test_there_are_no_sessions_and_no_streams(service: Served) -> None:
    for method in ("GET", "DELETE"):
        answer = service.ask(method, "/mcp", key="reader")
        assert (answer.status, answer.headers["allow"]) == (405, "POST")
    assert service.ask("POST", "/mcp?conversation=", READ, key="reader").status == 422


async def test_limits_of_the_service_hold() -> None:
    with served(limits=Limits(open_requests=0)) as service:
        assert asked_of(service, READ).status == 503
    with served(limits=Limits(bodies=10)) as service:
        assert asked_of(service, READ).status == 503
    with served() as service:
        service.end()
        until(lambda: asked_of(service, READ).status == 503)


async def test_a_client_that_hangs_up_ends_its_work(
    service: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, goes_on = threading.Event(), threading.Event()

    def waiting(scope: Scope) -> dict[str, UUID]:
        begun.set()
        assert goes_on.wait(PATIENCE)
        return {}

    monkeypatch.setattr(Scope, "conversations", waiting)
    await asyncio.to_thread(hung_up, service, {**CALL, "method": "resources/list"}, begun)
    until(lambda: service.service.open_requests.total == 0)
    goes_on.set()


async def test_a_verification_counts_until_its_thread_ends(
    service: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, goes_on = threading.Event(), threading.Event()

    def waiting(_store: Store, _conversation_id: UUID) -> Verified:
        begun.set()
        assert goes_on.wait(PATIENCE)
        raise onrecord.InvalidInput("enough")

    monkeypatch.setattr(Store, "verify", waiting)
    asks = {**CALL, "params": {"name": "verify", "arguments": {"key": OWN}}}
    await asyncio.to_thread(hung_up, service, asks, begun)
    until(lambda: service.service.open_requests.total == 0)
    kind = "application/x-www-form-urlencoded"
    form = {"content-type": kind, "sec-fetch-site": "same-origin"}
    try:
        answer = asked_of(service, asks, key="reader")
        button = service.ask(
            "POST", "/c/support%2F4711/proof", key="reader", headers=form, body=b"seal="
        )
    finally:
        goes_on.set()
    assert b"too many reads are under way" in answer.data
    assert button.status == 429
    until(lambda: b"enough" in asked_of(service, asks, key="reader").data)


async def test_an_answer_that_takes_too_long_is_given_up(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    goes_on = threading.Event()

    def waiting(scope: Scope) -> dict[str, UUID]:
        assert goes_on.wait(PATIENCE)
        return {}

    monkeypatch.setattr(Scope, "conversations", waiting)
    with served(url, limits=Limits(answer_seconds=0.05)) as service:
        assert asked_of(service, {**CALL, "method": "resources/list"}).status == 503
        goes_on.set()


async def test_an_agent_listens_until_its_key_counts_no_more(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keyring, "KEPT_FOR", 0.05)
    with onrecord.connect(url) as store, served(url, limits=Limits(tail_seconds=0.05)) as service:
        store.conversation(OWN).user("Where is the parcel?")
        store.conversation(ORIGIN).user("Of no concern")
        log, tenant = backend_of(store), UUID(int=0)
        token = issue_key(log, tenant, "the agent", actor="ana").token
        async with (
            agent(service, token) as client,
            client.listen(resource_subscriptions=[URI, URI + "x"]) as listening,
        ):
            assert listening.honored.resource_subscriptions == [URI]
            assert service.service.tails.open_tails.total == 1
            store.get(ORIGIN).user("Of no concern")
            store.get(OWN).user("Still there?")
            events = aiter(listening)
            assert await asyncio.wait_for(anext(events), PATIENCE) == ResourceUpdated(URI)
            (key,) = service_keys(log, tenant)
            revoke_key(log, tenant, key.key_id, actor="ana", reason="it is over")
            with pytest.raises(StopAsyncIteration):
                await asyncio.wait_for(anext(events), PATIENCE)
        until(lambda: service.service.tails.open_tails.total == 0)


async def test_the_end_of_the_service_ends_who_listens(service: Served) -> None:
    async with (
        agent(service, "reader") as client,
        client.listen(resource_subscriptions=[URI]) as listening,
    ):
        service.end()
        with pytest.raises(StopAsyncIteration):
            await asyncio.wait_for(anext(aiter(listening)), PATIENCE)
    until(lambda: service.service.tails.open_tails.total == 0)


async def test_who_listens_counts_as_a_tail_until_he_goes(service: Served, url: str) -> None:
    async with (
        agent(service, "reader") as client,
        client.listen(resource_subscriptions=[URI]),
    ):
        assert service.service.tails.open_tails.total == 1
        assert service.service.open_requests.total == 0
    until(lambda: service.service.tails.open_tails.total == 0)


async def test_each_read_is_in_the_access_log_under_its_key(service: Served, url: str) -> None:
    async with agent(service, "reader") as client:
        await asked(client, "read_turns", key=OWN)
        await asked(client, "search_history", text="parcel")
        await refused(client, "read_turns", key=THEIRS)
    headers = {"onrecord-actor": "ana"}
    assert asked_of(service, READ, key="operator", headers=headers).status == 200
    async with agent(service, "writer") as client:
        await asked(client, "read_turns", key=OWN)
    service.service.reads.flush()
    with onrecord.connect(url, tenant=TENANT) as store:
        entries = [(each.via, each.key, each.key_id) for each in store.access.entries()]
        actors = [each.actor_name for each in store.access.entries()]
        counts = [dict(each.reads) for each in store.access.entries(actor="writer")]
    assert entries[1:] == [
        ("POST /mcp read_turns", OWN, UUID(int=4)),
        ("POST /mcp search_history", None, UUID(int=1)),
        ("POST /mcp read_turns", OWN, UUID(int=1)),
    ]
    assert actors == ["writer", "ana", "reader", "reader"]
    assert counts == [{"POST /mcp read_turns": 1}]


async def test_without_the_extra_a_problem_names_it(
    service: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [each for each in sys.modules if each.partition(".")[0] == "mcp"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mcp", None)
    for name in ("http", "server"):
        monkeypatch.delitem(sys.modules, f"onrecord.adapters.mcp_server.{name}", raising=False)
        monkeypatch.delattr(f"onrecord.adapters.mcp_server.{name}", raising=False)
    answer = asked_of(service, READ, key="reader")
    assert answer.status == 501
    assert "pip install 'onrecord[mcp]'" in answer.data.decode()
    assert service.ask("POST", "/mcp", READ).status == 401


def test_the_service_imports_nothing_of_the_sdk_until_it_is_asked() -> None:
    program = "import sys, onrecord.adapters.gateway.gateway; assert 'mcp' not in sys.modules"
    root = Path(__file__).parents[3]
    subprocess.run([sys.executable, "-c", program], check=True, cwd=root / "src")


def asked_of(
    service: Served,
    message: dict[str, Any],
    *,
    key: str | None = None,
    headers: dict[str, str] | None = None,
) -> Any:
    """The answer to one message, as any program of HTTP gets it."""
    sent = {"accept": "application/json, text/event-stream", **(headers or {})}
    return service.ask("POST", "/mcp", message, key=key, headers=sent)


def hung_up(service: Served, message: dict[str, Any], begun: threading.Event) -> None:
    """Send a message, and hang up once the work for it has begun."""
    sent = json.dumps(message).encode()
    address = urlsplit(service.url)
    with socket.create_connection((address.hostname, address.port)) as client:
        client.sendall(
            b"POST /mcp HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer reader\r\n"
            b"content-type: application/json\r\naccept: application/json\r\n"
            b"content-length: %d\r\n\r\n%s" % (len(sent), sent)
        )
        assert begun.wait(PATIENCE)
        assert service.service.open_requests.total == 1
