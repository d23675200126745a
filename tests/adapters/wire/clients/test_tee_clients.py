"""A recorded client is the client that was given, but for what it tells the record."""

import gc
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, cast

import anthropic
import httpx2
import pytest

from onrecord.adapters.demo.services.server import DemoServer
from onrecord.adapters.wire.clients.record import record
from onrecord.domain.errors import UnsupportedClient
from onrecord.domain.events import AttemptFailed, ResponseCompleted
from tests.adapters.recorded_calls import GREETING, HELLO, KEY, MODEL, Recorded, calling

MESSAGES = cast("list[anthropic.types.MessageParam]", HELLO)


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    return Recorded(tmp_path)


@pytest.fixture
def server() -> Iterator[DemoServer]:
    with DemoServer([GREETING] * 8) as running:
        yield running


def ask(client: anthropic.Anthropic) -> None:
    client.messages.create(model=MODEL, max_tokens=9, messages=MESSAGES)


class Support(anthropic.Anthropic):
    """A client that somebody made their own."""


@pytest.mark.parametrize("kind", [anthropic.Anthropic, Support, anthropic.AsyncAnthropic])
def test_the_same_type_comes_back(recorded: Recorded, kind: type[Any]) -> None:
    client = kind(api_key=KEY, max_retries=5, timeout=12.5, default_headers={"x-team": "support"})
    wrapped = record(client, recorded.binding)
    assert type(wrapped) is kind
    assert (wrapped.max_retries, wrapped.timeout, wrapped.api_key) == (5, 12.5, KEY)
    assert wrapped.default_headers["x-team"] == "support"
    assert wrapped.base_url == client.base_url


@pytest.mark.parametrize(
    "thing",
    [
        object(),
        "client",
        httpx2.Client(),
    ],
    ids=["object", "text", "http client"],
)
def test_what_is_no_client_of_the_sdk_is_refused(recorded: Recorded, thing: object) -> None:
    with pytest.raises(UnsupportedClient, match=r"give an anthropic\.Anthropic"):
        record(thing, recorded.binding)


def test_no_sdk_is_imported_for_what_is_none_of_its_clients() -> None:
    program = """
import sys
from onrecord.adapters.wire.clients.record import record
from onrecord.domain.errors import UnsupportedClient
try:
    record(object(), None)
except UnsupportedClient:
    print(sorted({"anthropic", "httpx2", "openai"} & sys.modules.keys()))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_a_client_is_wrapped_once_for_a_conversation(
    recorded: Recorded, server: DemoServer
) -> None:
    with anthropic.Anthropic(api_key=KEY, base_url=server.url) as client:
        once = record(client, recorded.binding)
        assert record(once, recorded.new_binding()) is once
        ask(once)
    assert recorded.types().count("request.sent") == 1


def test_another_conversation_takes_a_recorded_client_over(
    recorded: Recorded, server: DemoServer, tmp_path: Path
) -> None:
    other = Recorded(tmp_path / "other")
    with anthropic.Anthropic(api_key=KEY, base_url=server.url) as client:
        ask(record(record(client, recorded.binding), other.binding))
    assert recorded.types() == []
    assert other.types().count("request.sent") == 1


def test_the_client_that_was_given_stays_unrecorded(recorded: Recorded) -> None:
    with calling(recorded, [GREETING]) as calls:
        ask(calls.plain)
    assert recorded.types() == []


class Watched(httpx2.HTTPTransport):
    """A transport of a caller's own, which says what goes through it."""

    def __init__(self) -> None:
        super().__init__()
        self.paths: list[str] = []
        self.closed = 0

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        self.paths.append(request.url.path)
        return super().handle_request(request)

    def close(self) -> None:
        self.closed += 1
        super().close()


def test_connections_are_shared(recorded: Recorded, server: DemoServer) -> None:
    pool = Watched()
    with anthropic.Anthropic(
        api_key=KEY, base_url=server.url, http_client=httpx2.Client(transport=pool)
    ) as client:
        ask(client)
        ask(record(client, recorded.binding))
        ask(record(client, recorded.new_binding()))
        opened = vars(pool)["_pool"].connections
        assert len(opened) == 1
    assert pool.paths == ["/v1/messages"] * 3


def test_a_dropped_recorded_client_leaves_the_connections_open(
    recorded: Recorded, server: DemoServer
) -> None:
    with anthropic.Anthropic(api_key=KEY, base_url=server.url) as client:
        ask(record(client, recorded.binding))
        gc.collect()
        assert not client.is_closed()
        ask(client)


def test_a_recorded_client_keeps_the_connections_of_one_that_was_dropped(
    recorded: Recorded, server: DemoServer
) -> None:
    client = record(anthropic.Anthropic(api_key=KEY, base_url=server.url), recorded.binding)
    gc.collect()
    with client:
        ask(client)
    assert recorded.types()[-1] == "response.completed"


def test_closing_either_client_closes_what_they_share(
    recorded: Recorded, server: DemoServer
) -> None:
    pool = Watched()
    client = anthropic.Anthropic(
        api_key=KEY, base_url=server.url, http_client=httpx2.Client(transport=pool), max_retries=0
    )
    wrapped = record(client, recorded.binding)
    client.close()
    with pytest.raises(anthropic.APIConnectionError):
        ask(wrapped)
    wrapped.close()
    assert client.is_closed()
    assert pool.closed == 1
    assert recorded.types() == []


def test_proxies_are_kept_and_recorded(recorded: Recorded, server: DemoServer) -> None:
    proxy, direct = Watched(), Watched()
    http = httpx2.Client(transport=direct, mounts={"http://127.0.0.1": proxy, "all://x": None})
    with anthropic.Anthropic(api_key=KEY, base_url=server.url, http_client=http) as client:
        ask(record(client, recorded.binding))
    assert (proxy.paths, direct.paths) == (["/v1/messages"], [])
    assert recorded.types()[-1] == "response.completed"


def test_hooks_timeouts_and_limits_are_the_callers(recorded: Recorded, server: DemoServer) -> None:
    seen: list[str] = []

    def asked(request: httpx2.Request) -> None:
        seen.append(f"> {request.url.path}")

    def answered(response: httpx2.Response) -> None:
        seen.append(f"< {response.status_code}")

    http = httpx2.Client(
        timeout=7.5,
        max_redirects=3,
        event_hooks={"request": [asked], "response": [answered]},
        headers={"x-from": "caller"},
    )
    with anthropic.Anthropic(api_key=KEY, base_url=server.url, http_client=http) as client:
        wrapped = record(client, recorded.binding)
        ask(wrapped)
        made = vars(wrapped)["_client"]
        assert (made.timeout, made.max_redirects) == (http.timeout, 3)
    assert seen == ["> /v1/messages", "< 200"]
    assert server.requests[0].headers["x-from"] == "caller"


class Redirecting(BaseHTTPRequestHandler):
    """Sends every request on to another place."""

    target = ""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(307)
        self.send_header("location", self.target + "/elsewhere/v1/messages")
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def test_a_redirected_request_is_one_request(recorded: Recorded) -> None:
    class Onward(Redirecting):
        pass

    with (
        calling(recorded, [GREETING]) as calls,
        ThreadingHTTPServer(("127.0.0.1", 0), Onward) as gate,
    ):
        Onward.target = calls.server.url.replace("/elsewhere", "")
        Thread(target=gate.serve_forever, args=(0.02,)).start()
        client = calls.client.with_options(base_url=f"http://127.0.0.1:{gate.server_port}")
        with pytest.raises(anthropic.NotFoundError):
            ask(client)
        gate.shutdown()
        arrived = [received.path for received in calls.server.requests]
    assert arrived == ["/elsewhere/v1/messages"]
    assert recorded.types() == ["message.recorded", "request.sent", *["attempt.failed"] * 2]
    assert statuses(recorded) == [307, 404]


def statuses(recorded: Recorded) -> list[int | None]:
    return [event.status for event in recorded.events() if isinstance(event, AttemptFailed)]


@pytest.mark.parametrize("status", [302, 304, 307])
@pytest.mark.parametrize("streamed", [True, False])
def test_a_redirection_that_nobody_follows_ends_the_attempt(
    recorded: Recorded, status: int, streamed: bool
) -> None:
    def answer(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(status, headers={"content-type": "text/event-stream"})

    http = httpx2.Client(transport=httpx2.MockTransport(answer))
    with (
        anthropic.Anthropic(api_key=KEY, base_url="http://x", http_client=http) as client,
        pytest.raises(anthropic.APIStatusError),
    ):
        record(client, recorded.binding).messages.create(
            model=MODEL, max_tokens=9, messages=MESSAGES, stream=streamed
        )
    assert recorded.types()[-2:] == ["request.sent", "attempt.failed"]
    assert statuses(recorded) == [status]


def test_a_request_that_was_redirected_once_is_not_taken_for_a_later_one(
    recorded: Recorded,
) -> None:
    scenes = iter([307, 200, 500, 200])

    def answer(_: httpx2.Request) -> httpx2.Response:
        status = next(scenes)
        body: Any = {"type": "message", "id": "m", "content": [], "stop_reason": "end_turn"}
        return httpx2.Response(
            status, headers={"location": "/v1/messages"}, json=body if status == 200 else {}
        )

    http = httpx2.Client(transport=httpx2.MockTransport(answer), follow_redirects=True)
    with anthropic.Anthropic(
        api_key=KEY, base_url="http://x", http_client=http, max_retries=1
    ) as client:
        wrapped = record(client, recorded.binding)
        ask(wrapped)
        ask(wrapped)
    first, second = [
        event.event_id for event in recorded.chat.events(after=0) if event.type == "request.sent"
    ]
    events = recorded.events()
    failed = [event.request for event in events if isinstance(event, AttemptFailed)]
    completed = [event.request for event in events if isinstance(event, ResponseCompleted)]
    assert (failed, completed) == ([first, second], [first, second])


def test_other_endpoints_pass_through(recorded: Recorded) -> None:
    with calling(recorded, [GREETING]) as calls:
        calls.client.messages.count_tokens(model=MODEL, messages=MESSAGES)
        with pytest.raises(anthropic.NotFoundError):
            calls.client.models.list()
    assert recorded.counting.appends == []


def test_foundry_speaks_the_same_wire(recorded: Recorded, server: DemoServer) -> None:
    with anthropic.AnthropicFoundry(
        api_key=KEY, base_url=f"{server.url}/anthropic", max_retries=0
    ) as client:
        wrapped = record(client, recorded.binding)
        assert type(wrapped) is anthropic.AnthropicFoundry
        with pytest.raises(anthropic.NotFoundError):
            ask(wrapped)
    assert recorded.types() == ["message.recorded", "request.sent", "attempt.failed"]
    assert recorded.requests()[0].endpoint == "/anthropic/v1/messages"
