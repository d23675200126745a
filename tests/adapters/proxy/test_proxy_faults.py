"""What goes wrong between a program, the proxy, its store and a provider: nothing is hidden or lost."""

import gzip
import json
import socket
from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from threading import Event
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from onrecord import Store
from onrecord.adapters.demo.services.scenes import Answer, Cut, HttpError, Stall
from onrecord.adapters.demo.services.server import DemoServer
from onrecord.adapters.proxy.upstreams import Upstream
from onrecord.adapters.recording.spool import RecordingWarning, Spool
from onrecord.domain.errors import StorageUnavailable
from tests.adapters.demo.demo_client import GREETING, HELLO, MODEL
from tests.adapters.proxy.proxied import KEY, PROVIDER_KEY, Proxied, at, proxied
from tests.adapters.proxy.raw_provider import STREAM, chunk, raw_provider, replied
from tests.adapters.recorded_calls import Counting
from tests.factories import TENANT
from tests.patience import PATIENCE, until

BODY = {"model": MODEL, "max_tokens": 64, "messages": HELLO, "stream": True}
HEADERS = {"x-api-key": PROVIDER_KEY, "anthropic-version": "2023-06-01"}
STARTED = b"""event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m",\
"content":[],"stop_reason":null,"usage":{"input_tokens":1,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Half of"}}

"""


@pytest.fixture
def counting(tmp_path: Path) -> Generator[tuple[Store, Counting]]:
    backend = Counting()
    with Store(backend, "a store", spool=Spool(tmp_path / "spool"), tenant=TENANT) as store:
        yield store, backend


def posted(proxy: Proxied, provider: str = "anthropic", path: str = "/v1/messages") -> Any:
    return httpx2.stream(
        "POST", proxy.base(provider, path), headers=HEADERS, json=BODY, timeout=PATIENCE
    )


def asked(client: anthropic.Anthropic) -> None:
    create: Any = client.messages.create
    create(**{**BODY, "stream": False})


def types(proxy: Proxied) -> list[str]:
    return [event.type for event in proxy.only().events()]


def interruption(proxy: Proxied) -> Any:
    return json.loads(list(proxy.only().events())[-1].body or b"")


# -- the program goes ------------------------------------------------------------------------


def test_a_program_that_hangs_up_ends_the_call_and_what_came_is_kept(store: Store) -> None:
    with (
        raw_provider((STREAM + chunk(STARTED),)) as provider,
        proxied(store, at(provider.url)) as p,
    ):
        with posted(p) as answer:
            next(answer.iter_raw())
        assert provider.left.wait(PATIENCE)
        until(lambda: types(p)[-1] == "response.interrupted", "the interruption")
        told = interruption(p)
        assert told["reason"] == "abandoned"
        assert "Half of" in json.dumps(told)


def test_a_program_that_hangs_up_before_an_answer_ends_the_call(store: Store) -> None:
    with raw_provider((b"",)) as provider, proxied(store, at(provider.url)) as p:
        host, _, port = p.origin.removeprefix("http://").partition(":")
        body = json.dumps(BODY).encode()
        request = (
            f"POST /proxy/{KEY}/anthropic/v1/messages HTTP/1.1\r\nHost: x\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        with socket.create_connection((host, int(port)), PATIENCE) as connection:
            connection.sendall(request.encode() + body)
            until(lambda: provider.requests, "the request")
        assert provider.left.wait(PATIENCE)
        until(lambda: types(p)[-1] == "attempt.failed", "the failure")


def test_a_program_that_goes_amid_its_request_reaches_no_provider(store: Store) -> None:
    with raw_provider((replied(b"{}"),)) as provider, proxied(store, at(provider.url)) as p:
        host, _, port = p.origin.removeprefix("http://").partition(":")
        head = f"POST /proxy/{KEY}/anthropic/v1/messages HTTP/1.1\r\nHost: x\r\n"
        with socket.create_connection((host, int(port)), PATIENCE) as connection:
            connection.sendall(f'{head}Content-Length: 99\r\n\r\n{{"model"'.encode())
        with posted(p) as answer:  # The server is there for others.
            assert answer.status_code == 200
        assert len(provider.requests) == 1
        assert p.only().history()[0].text == "Hello"


# -- the provider fails ----------------------------------------------------------------------


def test_a_provider_that_stalls_amid_a_stream_is_waited_for(store: Store) -> None:
    release = Event()
    stalling = Answer(content=GREETING.content, faults=(Stall(400, release),))
    with DemoServer([stalling]) as server, proxied(store, at(server.url)) as p:
        with posted(p) as answer:
            pieces = answer.iter_raw()
            first = next(pieces)
            release.set()
            rest = b"".join(pieces)
        assert (first + rest).endswith(b'data: {"type":"message_stop"}\n\n')
        assert p.only().history()[-1].text == GREETING.content[0]["text"]


@pytest.mark.parametrize("resets", [False, True])
def test_a_stream_that_breaks_off_breaks_off_for_the_program(store: Store, *, resets: bool) -> None:
    parts = (STREAM + chunk(STARTED),)
    with raw_provider(parts, resets=resets) as provider, proxied(store, at(provider.url)) as p:
        with posted(p) as answer:
            pieces = answer.iter_raw()
            assert b"Half of" in next(pieces)
            if resets:
                provider.go_on.set()
            else:
                provider.close_open()
            with pytest.raises(httpx2.RemoteProtocolError):
                list(pieces)
        until(lambda: types(p)[-1] == "response.interrupted", "the interruption")
        assert interruption(p)["reason"] == "cut"


def test_an_answer_that_is_shorter_than_it_says_is_not_ended_as_if_whole(store: Store) -> None:
    cut = Answer(content=GREETING.content, faults=(Cut(30),))
    with DemoServer([cut]) as server, proxied(store, at(server.url)) as p:
        with pytest.raises(httpx2.RemoteProtocolError):
            httpx2.post(
                p.base("anthropic", "/v1/messages"), headers=HEADERS, json={**BODY, "stream": False}
            )
        until(lambda: types(p)[-1] == "response.interrupted", "the interruption")


def test_a_provider_that_is_not_there_is_said_so_as_its_sdk_reads_it(store: Store) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    with (
        proxied(store, at(url)) as p,
        anthropic.Anthropic(
            api_key=PROVIDER_KEY, base_url=p.base("anthropic"), max_retries=0
        ) as client,
        pytest.raises(anthropic.InternalServerError, match="could not be reached") as caught,
    ):
        client.messages.create(
            model=MODEL, max_tokens=9, messages=[{"role": "user", "content": "Hello"}]
        )
    assert caught.value.status_code == 502
    assert caught.value.body == {
        "type": "error",
        "error": {"type": "api_error", "message": "Onrecord: anthropic could not be reached"},
    }
    assert url.rpartition(":")[2] not in str(caught.value)


def test_an_error_passes_word_for_word(store: Store) -> None:
    error = HttpError(529, "overloaded_error", "Overloaded", retry_after=3)
    with DemoServer([error]) as server, proxied(store, at(server.url)) as p:
        answer = httpx2.post(p.base("anthropic", "/v1/messages"), headers=HEADERS, json=BODY)
    assert answer.status_code == 529
    assert answer.headers["retry-after"] == "3"
    assert answer.json()["error"] == {"type": "overloaded_error", "message": "Overloaded"}


def test_a_redirect_is_handed_back_and_not_followed(store: Store) -> None:
    elsewhere = b"location: http://127.0.0.1:1/elsewhere"
    moved = replied(b"", elsewhere, status=b"307 Temporary Redirect")
    with raw_provider((moved,)) as provider, proxied(store, at(provider.url)) as p:
        answer = httpx2.post(p.base("anthropic", "/v1/messages"), headers=HEADERS, json=BODY)
        assert (answer.status_code, answer.headers["location"]) == (307, elsewhere[10:].decode())


# -- the store fails -------------------------------------------------------------------------


@pytest.mark.parametrize("api", ["anthropic", "openai"])
def test_what_cannot_be_recorded_first_is_not_sent(
    counting: tuple[Store, Counting], api: str
) -> None:
    store, backend = counting
    backend.broken = StorageUnavailable("postgresql://db.internal is away")
    with raw_provider() as provider, proxied(store, at(provider.url)) as p:
        options: Any = {"api_key": PROVIDER_KEY, "base_url": p.base(api), "max_retries": 0}
        if api == "anthropic":
            with (
                anthropic.Anthropic(**options) as client,
                pytest.raises(anthropic.InternalServerError, match="not sent") as caught,
            ):
                asked(client)
            answer = caught.value.response
        else:
            with (
                openai.OpenAI(**options) as client,
                pytest.raises(openai.InternalServerError, match="not sent") as refused,
            ):
                client.responses.create(model="m", input="Hello")
            answer = refused.value.response
        assert answer.status_code == 503
        assert answer.headers["retry-after"] == "5"
        assert "db.internal" not in answer.text
        assert provider.requests == []


def test_an_answer_that_the_store_cannot_take_reaches_the_program_and_waits(
    counting: tuple[Store, Counting],
) -> None:
    store, backend = counting
    release = Event()
    stalling = Answer(content=GREETING.content, faults=(Stall(400, release),))
    with DemoServer([stalling]) as server, proxied(store, at(server.url)) as p:
        with posted(p) as answer:
            pieces = answer.iter_raw()
            told = next(pieces)
            backend.broken = StorageUnavailable("away")
            release.set()
            told += b"".join(pieces)
        assert told.endswith(b'data: {"type":"message_stop"}\n\n')
        backend.broken = None
        chat = p.only()
        with pytest.warns(RecordingWarning, match="recorded late"):
            history = chat.history()
        assert history[-1].text == GREETING.content[0]["text"]


# -- what cannot be recorded -----------------------------------------------------------------

EMBEDDING = ("openai", "/v1/embeddings", {"model": "m", "input": "Hello"})
UNKNOWN = ("anthropic", "/v1/dreams", {"model": "m"})
FOREIGN = ("anthropic", "/v1/chat/completions", {"model": "m", "messages": HELLO})


@pytest.mark.parametrize(("provider", "path", "body"), [EMBEDDING, UNKNOWN, FOREIGN])
def test_what_is_no_turn_and_asks_a_model_passes_with_a_warning(
    store: Store, provider: str, path: str, body: Any
) -> None:
    with raw_provider((replied(b"{}"),)) as there, proxied(store, at(there.url)) as p:
        answer = httpx2.post(p.base(provider, path), headers=HEADERS, json=body)
        assert answer.headers["x-onrecord-warning"].startswith("not recorded: ")
        assert p.keys() == []
        assert len(there.requests) == 1


@pytest.mark.parametrize(("provider", "path", "body"), [EMBEDDING, UNKNOWN, FOREIGN])
def test_it_is_refused_where_only_what_is_recorded_passes(
    store: Store, provider: str, path: str, body: Any
) -> None:
    with raw_provider() as there, proxied(store, at(there.url), unrecorded="refuse") as p:
        answer = httpx2.post(p.base(provider, path), headers=HEADERS, json=body)
        assert (answer.status_code, there.requests) == (403, [])


@pytest.mark.parametrize("is_chunked", [False, True])
def test_a_turn_that_is_too_long_to_be_held_passes_with_a_warning_or_is_refused(
    store: Store, *, is_chunked: bool
) -> None:
    body = json.dumps({**BODY, "system": "x" * 100_000}).encode()
    content: Any = iter((body[:50_000], body[50_000:])) if is_chunked else body
    again: Any = iter((body[:50_000], body[50_000:])) if is_chunked else body
    with raw_provider((replied(b"{}"),)) as there:
        with proxied(store, at(there.url), longest=10_000) as p:
            url = p.base("anthropic", "/v1/messages")
            answer = httpx2.post(url, headers=HEADERS, content=content)
            assert "longer than 10000 bytes" in answer.headers["x-onrecord-warning"]
            sent = there.requests[0]
            assert len(sent) > len(body)
        with proxied(store, at(there.url), longest=10_000, unrecorded="refuse") as p:
            url = p.base("anthropic", "/v1/messages")
            assert httpx2.post(url, headers=HEADERS, content=again).status_code == 413
        assert len(there.requests) == 1


@pytest.mark.parametrize("body", [b"{", b"[]", b""])
def test_a_turn_that_is_no_json_passes_with_a_warning_or_is_refused(
    store: Store, body: bytes
) -> None:
    with raw_provider((replied(b"{}"),)) as there:
        for unrecorded, status in (("refuse", 400), ("pass", 200)):
            with proxied(store, at(there.url), unrecorded=unrecorded) as p:
                url = p.base("anthropic", "/v1/messages")
                answer = httpx2.post(url, headers=HEADERS, content=body)
                assert answer.status_code == status
        assert len(there.requests) == 1


def test_a_packed_request_is_unpacked_for_the_record_alone(store: Store) -> None:
    packed = gzip.compress(json.dumps({**BODY, "stream": False}).encode())
    with raw_provider((replied(b"{}"),)) as there, proxied(store, at(there.url)) as p:
        headers = {**HEADERS, "content-encoding": "gzip"}
        httpx2.post(p.base("anthropic", "/v1/messages"), headers=headers, content=packed)
        assert there.requests[0].endswith(packed)
        assert p.only().history()[0].text == "Hello"


def test_a_coding_that_is_not_known_passes_with_a_warning(store: Store) -> None:
    with raw_provider((replied(b"{}"),)) as there, proxied(store, at(there.url)) as p:
        headers = {**HEADERS, "content-encoding": "rot13"}
        answer = httpx2.post(p.base("anthropic", "/v1/messages"), headers=headers, content=b"{}")
        assert "coding" in answer.headers["x-onrecord-warning"]


# -- who may come in -------------------------------------------------------------------------


def test_a_wrong_key_is_refused_as_the_sdk_reads_it(store: Store) -> None:
    with raw_provider() as there, proxied(store, at(there.url)) as p:
        base_url = p.base("anthropic").replace(KEY, "ork_wrong")
        with (
            anthropic.Anthropic(api_key=PROVIDER_KEY, base_url=base_url) as client,
            pytest.raises(anthropic.AuthenticationError, match="key in the path"),
        ):
            asked(client)
        assert there.requests == []


def test_a_provider_that_is_not_named_is_not_found(store: Store) -> None:
    table = {"anthropic": Upstream("anthropic", "http://127.0.0.1:1")}
    with proxied(store, table) as p:
        assert httpx2.post(p.base("example.org", "/v1/messages"), json=BODY).status_code == 404
        assert httpx2.get(p.origin + "/proxy/").status_code == 404


def test_a_conversation_that_is_no_key_is_refused(store: Store) -> None:
    with raw_provider() as there, proxied(store, at(there.url)) as p:
        url = p.base("in/%20/anthropic", "/v1/messages")
        answer = httpx2.post(url, headers=HEADERS, json=BODY)
        assert (answer.status_code, there.requests) == (400, [])


def test_a_binding_that_was_forged_is_refused(store: Store) -> None:
    with raw_provider() as there, proxied(store, at(there.url)) as p:
        headers = {**HEADERS, "onrecord-conversation": "0b1f6c1e-7f0a-4c55-9a64-1f2e6f0d9a11.beef"}
        answer = httpx2.post(p.base("anthropic", "/v1/messages"), headers=headers, json=BODY)
        assert (answer.status_code, there.requests) == (400, [])


# -- websockets ------------------------------------------------------------------------------

UPGRADE = (
    "GET /proxy/%s/openai/v1/responses HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n"
    "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


@pytest.mark.parametrize("ws", ["auto", "none"])
def test_a_websocket_is_refused_by_the_status_that_has_programs_fall_back(
    store: Store, ws: str
) -> None:
    with raw_provider() as there, proxied(store, at(there.url), server={"ws": ws}) as p:
        host, _, port = p.origin.removeprefix("http://").partition(":")
        with closing(socket.create_connection((host, int(port)), PATIENCE)) as connection:
            connection.sendall((UPGRADE % KEY).encode())
            assert connection.recv(65536).startswith(b"HTTP/1.1 426 ")
        assert there.requests == []


def test_a_head_of_the_base_url_is_answered_by_the_provider(store: Store) -> None:
    head = replied(b"", b"x-served-by: provider")
    with raw_provider((head,), (head,)) as there, proxied(store, at(there.url)) as p:
        for path in ("", "/"):
            answer = httpx2.head(p.base("anthropic", path))
            assert answer.headers["x-served-by"] == "provider"
        assert all(request.startswith(b"HEAD / HTTP/1.1") for request in there.requests)
