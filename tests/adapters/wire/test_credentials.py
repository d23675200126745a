"""What a request went out with does not reach the store by what it is answered."""

import base64
import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import pytest

from onrecord.adapters.storage.sqlite.sqlite import open_sqlite
from onrecord.adapters.wire.bodies.credentials import Credentials, credentials_of
from onrecord.adapters.wire.clients.record import record
from onrecord.adapters.wire.secrets import PLACEHOLDER
from onrecord.adapters.wire.wires import WIRES
from tests.adapters.recorded_calls import HELLO, MODEL, Recorded

API = "anthropic-messages"
KEY = "sk-ant-canary/key-0001"
SENT = {
    "x-api-key": KEY,
    "x-auth-token": "canary-header-01",
    "proxy-authorization": "Basic " + base64.b64encode(b"canary:user-0001").decode(),
    "cookie": "theme=dark; session=canary-cookie-01",
}
BODY = {
    "model": MODEL,
    "mcp_servers": [
        {
            "url": "https://mcp.example/sse?key=canary-url-0001",
            "authorization": {"type": "bearer", "token": "canary-mcp-0001"},
            "headers": {
                "X-Goog-Api-Key": "canary-goog-001",
                "Ocp-Apim-Subscription-Key": "canary2",
            },
            "password": 4815162342,
        }
    ],
    "tools": [{"type": "x", "name": "call", "private_key": "canary-pem-0001"}],
}
ECHOED = (
    KEY,
    "canary-header-01",
    "canary:user-0001",
    "canary-cookie-01",
    "canary-url-0001",
    "canary-mcp-0001",
    "canary-goog-001",
    "canary-pem-0001",
    "canary-query-01",
)
NAMED: dict[str, Any] = {
    "authorization": "Bearer canary",
    "env": {"GITHUB_TOKEN": "canary"},
    "credentials": {"user": "canary"},
    "pin": {"password": 2718281828},
}
ERROR: dict[str, Any] = {
    "type": "error",
    "error": {"type": "api_error", "message": "the wire refused " + " ".join(ECHOED), **NAMED},
}
SPELLED = json.dumps(ERROR).encode()
START = (
    b'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_1","type":"message",'
    b'"role":"assistant","model":"m","content":[],"stop_reason":null,"usage":{}}}\n\n'
)
STREAM = {"content-type": "text/event-stream"}


def digest(text: str) -> bytes:
    return bytes([len(text)] * 16)


def known() -> Credentials:
    target = "/v1/messages?api_key=canary-query-01"
    return credentials_of(SENT, target, json.dumps(BODY).encode(), WIRES[API], digest)


@pytest.mark.parametrize("secret", ECHOED)
def test_every_credential_of_a_request_is_looked_for(secret: str) -> None:
    mark = PLACEHOLDER + digest(secret).hex()
    assert known().out_of_text(f"<{secret}>") == f"<{mark}>"
    assert known().out_of_bytes(f"<{secret}>".encode()) == f"<{mark}>".encode()
    assert known().out_of_error({secret: [secret, 1]}) == {mark: [mark, 1]}


@pytest.mark.parametrize("spelled", [r"sk-ant-canary\/key-0001", "sk-ant-canary%2Fkey-0001"])
def test_a_credential_is_found_in_other_spellings(spelled: str) -> None:
    assert "canary" not in known().out_of_text(spelled)
    assert b"canary" not in known().out_of_bytes(spelled.encode())


def test_what_is_too_short_to_be_told_from_other_words_is_not_looked_for() -> None:
    assert Credentials(["demo", PLACEHOLDER + "00"], digest).out_of_text("a demo") == "a demo"


@pytest.mark.parametrize("key", ["hunter2", "sk-test", "a1b2c3", "1234-56"])
def test_a_short_key_is_cut_out_of_errors_where_it_stands_alone(key: str) -> None:
    sought = Credentials([key], digest)
    mark = PLACEHOLDER + digest(key).hex()
    assert sought.out_of_text(f"Incorrect API key provided: {key}.") == (
        f"Incorrect API key provided: {mark}."
    )
    assert sought.out_of_error({"message": f"no '{key}'"}) == {"message": f"no '{mark}'"}
    page = sought.out_of_answer(f"<p>refused {key}</p>".encode(), streamed=False)
    assert page == f"<p>refused {mark}</p>".encode()
    assert sought.out_of_text(f"x{key}") == f"x{key}"
    said = f'{{"content":[{{"text":"it is {key}"}}]}}'.encode()
    assert sought.out_of_answer(said, streamed=False) == said


def test_a_plain_word_that_serves_as_a_key_stays_in_errors() -> None:
    assert Credentials(["ollama"], digest).out_of_text("ollama is down") == "ollama is down"


@pytest.mark.parametrize("text", ["password: hunter2", "token=a1b2c3 x", "Bearer s3cret"])
def test_a_short_secret_that_an_error_names_is_cut(text: str) -> None:
    said = Credentials([], digest).out_of_error(text)
    assert PLACEHOLDER in said
    assert not {"hunter2", "a1b2c3", "s3cret"} & set(said.replace(":", " ").split())


def test_bytes_that_end_amid_a_long_secret_take_no_longer_for_it() -> None:
    secret = "sk-" + "0123456789abcdef" * 60_000
    sought = Credentials([secret], lambda _: bytes(16))
    body = b"refused " + secret[:-7].encode()
    assert sought.out_of_answer(body, streamed=False).startswith(b"refused " + PLACEHOLDER.encode())


def test_what_is_no_error_is_kept_word_for_word() -> None:
    said = b'data: {"type":"content_block_delta","delta":{"text":"password: hunter2hunter2"}}'
    for kept in (said, said[:-9], b'{"id":"msg_1","content":[{"text":"token=abcdefgh12345678"}]}'):
        for streamed in (True, False):
            whole = kept.removeprefix(b"data: ")
            piece = kept if streamed else whole
            assert known().out_of_answer(piece, streamed=streamed) == piece


PAGE = b"<p>the wire refused x-api-key: " + " ".join(ECHOED).encode()
OTHER = b" Authorization: Bearer canary-0001-other"
PACKED = gzip.compress(START + b"data: " + SPELLED + b"\n\n" + b"-" * 99)
ANSWERS: dict[str, tuple[int, bytes, dict[str, str]]] = {
    "error": (401, SPELLED, {}),
    "error that is cut": (500, SPELLED[:-1], {}),
    "redirection": (307, SPELLED, {}),
    "page of an error": (502, PAGE + OTHER, {}),
    "long page": (502, b"the wire refused ".ljust(16 * 1024 - 15, b".") + KEY.encode(), {}),
    "page": (200, PAGE + OTHER, {}),
    "json": (200, SPELLED, {}),
    "stream": (200, START + b"event: error\ndata: " + SPELLED + b"\n\n", STREAM),
    "stream that is cut": (200, START + b"event: error\ndata: " + SPELLED[:-1], STREAM),
    "stream that goes on": (200, START + 2 * (b"data: " + SPELLED + b"\n\n"), STREAM),
    "packed stream": (200, PACKED[:-12] + b"\xff" * 12, {**STREAM, "content-encoding": "gzip"}),
}
"""Answers that repeat, in some way, what they were asked with: status, body, headers."""


class Body(httpx2.SyncByteStream):
    """A body that comes when it is read."""

    def __init__(self, body: bytes) -> None:
        self.body = body

    def __iter__(self) -> Iterator[bytes]:
        yield self.body


def call(recorded: Recorded, handler: Callable[[httpx2.Request], httpx2.Response]) -> None:
    """Make a call with canaries in all that goes out; what becomes of it does not matter."""
    headers = {name: value for name, value in SENT.items() if name != "x-api-key"}
    http = httpx2.Client(transport=httpx2.MockTransport(handler))
    with anthropic.Anthropic(
        api_key=KEY, base_url="http://x", max_retries=0, http_client=http, default_headers=headers
    ) as client:
        wrapped: Any = record(client, recorded.binding)
        try:
            stream = wrapped.messages.create(
                max_tokens=9,
                messages=HELLO,
                stream=True,
                extra_body=BODY,
                extra_query={"api_key": "canary-query-01"},
                model=MODEL,
            )
            list(stream)
        except (anthropic.AnthropicError, httpx2.HTTPError):
            return


@pytest.mark.parametrize("kind", ANSWERS)
def test_no_file_of_the_store_holds_a_secret_that_an_answer_repeats(
    tmp_path: Path, kind: str
) -> None:
    store = open_sqlite(tmp_path / "talks.db")
    recorded = Recorded(tmp_path, store)
    status, body, headers = ANSWERS[kind]
    call(recorded, lambda _: httpx2.Response(status, headers=headers, stream=Body(body)))
    events = "".join(recorded.types())
    store.close()
    files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert "attempt.failed" in events or "response.interrupted" in events
    assert any(b"the wire refused" in content for content in files)
    for canary in (b"canary", b"4815162342", b"2718281828"):
        assert not any(canary in content for content in files)


@pytest.mark.parametrize("streamed", [True, False])
def test_what_broke_off_amid_an_answer_without_an_error_keeps_the_tokens_of_its_logprobs(
    streamed: bool,
) -> None:
    answer = b'{"error": null,"output":[{"logprobs":[{"token":"Hel","bytes":[72]},{"token":"lo'
    told = b"data: " + answer if streamed else answer
    assert known().out_of_answer(told, streamed=streamed) == told
    refused = told.replace(b"null", b'{"code":1}')
    assert b"Hel" not in known().out_of_answer(refused, streamed=streamed)
