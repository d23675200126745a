"""Canaries in requests of each API, and in all that repeats them: no file of the store holds one.

Whatever client sends them: what it sends is given to the recorder as it stands on the wire.
"""

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from onrecord.adapters.storage.sqlite.sqlite import open_sqlite
from onrecord.adapters.wire.clients.exchange_recorder import ExchangeRecorder
from onrecord.adapters.wire.clients.sending import Sending
from onrecord.adapters.wire.eventstream import FRAMES
from onrecord.adapters.wire.stream_reader import EVENT_STREAM
from tests.adapters.recorded_calls import Recorded
from tests.bedrock_wire import body as converse_body
from tests.bedrock_wire import chunked, error, events, exception, text

JsonObject = dict[str, Any]


def canary(place: str) -> str:
    return f"canary-{place}-0123456789"


SIGNED = {
    "authorization": (
        f"AWS4-HMAC-SHA256 Credential={canary('id')}/20261121/us-east-1/bedrock/aws4_request, "
        f"SignedHeaders=host;x-amz-date, Signature={canary('signature')}"
    ),
    "x-amz-security-token": canary("session"),
}
BEARER = {"authorization": f"Bearer {canary('bearer')}"}
QUERY = f"?key={canary('query')}&access_token={canary('access')}&alt=sse"
PRESIGNED = f"?X-Amz-Credential={canary('query')}%2F2026&X-Amz-Signature={canary('access')}"
PLANTED: JsonObject = {"gateway": {"api_key": canary("body"), "headers": {"X-Token": canary("x")}}}
SAID = "The password: hunter2hunter2 is what I said."
PLACES = ("query", "access", "body", "x")


@dataclass(frozen=True, slots=True)
class Case:
    """A request of an API as it stands on the wire, and how its streams begin."""

    name: str
    target: str
    headers: JsonObject
    body: JsonObject
    whole: JsonObject
    kind: str
    begun: bytes
    places: tuple[str, ...]

    def __str__(self) -> str:
        return self.name


def line(value: JsonObject) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\r\n\r\n"


def nested(value: JsonObject) -> bytes:
    return json.dumps(value).encode() + b"\n"


HELLO: JsonObject = {"role": "user", "content": SAID}
MESSAGE: JsonObject = {
    "type": "message",
    "id": "m",
    "role": "assistant",
    "model": "m",
    "content": [{"type": "text", "text": "Hi"}],
    "stop_reason": "end_turn",
}
ANTHROPIC: JsonObject = {"anthropic_version": "v", "max_tokens": 9, "messages": [HELLO]}
STARTED: JsonObject = {"type": "message_start", "message": {**MESSAGE, "content": []}}
CONTENT: JsonObject = {"role": "user", "parts": [{"text": SAID}]}
TALKED: JsonObject = {"message": {"role": "assistant", "content": "Hi"}, "done": True}
GENERATED: JsonObject = {
    "candidates": [
        {"content": {"role": "model", "parts": [{"text": "Hi"}]}, "finishReason": "STOP"}
    ]
}
CASES = [
    Case(
        "bedrock-converse",
        f"/model/us.amazon.nova-v1%3A0/converse{PRESIGNED}",
        SIGNED,
        {
            "messages": [{"role": "user", "content": [text(SAID)]}],
            "additionalModelRequestFields": {"mcp": {"authorization_token": canary("lent")}},
        },
        converse_body(text("Hi")),
        FRAMES,
        events({"messageStart": {"role": "assistant"}}),
        ("id", "signature", "session", "lent"),
    ),
    Case(
        "anthropic-messages on Bedrock",
        f"/model/us.anthropic.claude-x-v1:0/invoke{PRESIGNED}",
        SIGNED,
        ANTHROPIC,
        MESSAGE,
        FRAMES,
        chunked(STARTED),
        ("id", "signature", "session"),
    ),
    Case(
        "anthropic-messages on Vertex",
        f"/v1/projects/p/locations/eu/publishers/anthropic/models/c:rawPredict{QUERY}",
        BEARER,
        ANTHROPIC,
        MESSAGE,
        EVENT_STREAM,
        line(STARTED),
        ("bearer",),
    ),
    Case(
        "gemini",
        f"/v1beta/models/gemini-3:generateContent{QUERY}",
        {"x-goog-api-key": canary("goog"), **BEARER},
        {"contents": [CONTENT]},
        GENERATED,
        EVENT_STREAM,
        line(GENERATED),
        ("goog", "bearer"),
    ),
    Case(
        "ollama",
        f"/api/chat{QUERY}",
        BEARER,
        {"model": "m", "messages": [HELLO]},
        TALKED,
        "application/x-ndjson",
        nested({**TALKED, "done": False}),
        ("bearer",),
    ),
]


def told_back(case: Case) -> str:
    """All that the request says, as a service may repeat it in words."""
    headers = [f"{name}: {value}" for name, value in case.headers.items()]
    return "\n".join([case.target, *headers, json.dumps(case.body)])


def failed(case: Case) -> JsonObject:
    sent = {**case.body, **PLANTED, "headers": case.headers, "target": case.target}
    return {"type": "refused", "message": told_back(case), "request": sent}


def in_stream(case: Case) -> Iterator[bytes]:
    """The errors that may come in a stream, whole."""
    told: JsonObject = {"type": "error", "error": failed(case)}
    match case.kind:
        case kind if kind == FRAMES:
            yield exception("accessDeniedException", **failed(case))
            yield error("InternalFailure", told_back(case))
            yield chunked(told)
        case kind if kind == EVENT_STREAM:
            yield line(told)
        case _:
            yield nested({"error": failed(case)})
            yield nested({"error": told_back(case)})


def answers(case: Case) -> Iterator[tuple[int, str, bytes]]:
    """All the ways in which a request may be answered: status, content type, body."""
    refused = json.dumps({"error": failed(case)}).encode()
    plain = json.dumps({"message": told_back(case), **PLANTED}).encode()
    yield 200, "application/json", json.dumps({**case.whole, "debug": failed(case)}).encode()
    for status in (403, 200):
        yield status, "application/json", refused
        yield status, "application/json", plain
    yield 502, "text/html", f"<html>{told_back(case)}</html>".encode()
    yield 200, "application/json", json.dumps({**case.whole, "error": failed(case)}).encode()[:-9]
    for whole in in_stream(case):
        yield 200, case.kind, case.begun + whole
        for lost in (1, 4, 9):
            yield 200, case.kind, case.begun + whole[:-lost]


def play(case: Case, recorded: Recorded) -> int:
    """Send a request for each of the answers, which come in pieces."""
    turns = ExchangeRecorder(recorded.binding)
    played = list(answers(case))
    for status, kind, body in played:
        sending = Sending("POST", case.target, case.headers)
        bound = recorded.binding.of({})
        request = json.dumps({**case.body, **PLANTED}).encode()
        attempt = turns.attempt(bound, sending, request)
        assert attempt is not None
        attempt.answered(status, {"content-type": kind})
        for at in range(0, len(body), 11):
            attempt.feed(body[at : at + 11])
        attempt.finish()
    return len(played)


def holds(data: bytes, planted: str) -> bool:
    """Whether data hold a text, plain or in base64, wherever in that it begins."""
    return any(spelled in data for spelled in (planted.encode(), *in_base64(planted.encode())))


def in_base64(planted: bytes) -> Iterator[bytes]:
    for before in range(3):
        spelled = base64.b64encode(b"-" * before + planted)
        yield spelled[before and before + 1 : -4]


def test_a_text_in_base64_is_found_wherever_it_begins() -> None:
    for before in range(6):
        data = base64.b64encode(b"." * before + canary("x").encode() + b"and more of it")
        assert holds(data, canary("x"))
        assert not holds(data, canary("y"))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_no_file_holds_what_was_planted(case: Case, tmp_path: Path) -> None:
    store = open_sqlite(tmp_path / "talks.db")
    recorded = Recorded(tmp_path, store)
    count = play(case, recorded)
    sent = recorded.requests()
    store.close()
    assert len(sent) == count
    assert {one.api for one in sent} == {case.name.partition(" ")[0]}
    files = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for place in (*PLACES, *case.places):
        assert canary(place) in told_back(case) + json.dumps(PLANTED), place
        held = [path.name for path, data in files.items() if holds(data, canary(place))]
        assert (place, held) == (place, [])
    assert any(SAID.encode() in data for data in files.values())
