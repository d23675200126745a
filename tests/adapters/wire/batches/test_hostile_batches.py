"""What servers and other programs may say of batches costs little, and no answer of the others."""

from __future__ import annotations

import gzip
import json
import logging
import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from time import process_time
from typing import Any

import httpx2
import openai
import pytest

import onrecord
from onrecord.adapters.conversation.conversation import Conversation, tenancy_of
from onrecord.adapters.recording import batch_records as batch_answers
from onrecord.adapters.storage.sqlite.sqlite import open_sqlite
from onrecord.adapters.wire.answer import events_of
from onrecord.adapters.wire.clients import unrecorded
from onrecord.adapters.wire.clients.record import record
from onrecord.domain.jsontext import JsonObject
from tests.adapters.openai_clients import KEY
from tests.adapters.recorded_calls import Recorded
from tests.adapters.wire.batches.batch_events import answers, texts
from tests.adapters.wire.batches.openai_batch_server import (
    ANSWERED,
    BATCH,
    CHAT,
    GIVEN,
    OUTPUT,
    answered,
    completion,
    ended,
    lines,
)
from tests.adapters.wire.batches.openai_batches import asking, create

GZIP = {"content-encoding": "gzip"}
HALF = "\ud800"
"""Half of a character: JSON may spell it, UTF-8 may not."""


@pytest.fixture(autouse=True)
def _nothing_was_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unrecorded, "_warned_of", set[str]())


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    return Recorded(tmp_path)


def plain(handler: Callable[[httpx2.Request], httpx2.Response]) -> openai.OpenAI:
    return openai.OpenAI(
        api_key=KEY,
        base_url="http://x.test/v1",
        max_retries=0,
        http_client=httpx2.Client(transport=httpx2.MockTransport(handler)),
    )


def client(
    recorded: Recorded,
    results: bytes = b"",
    headers: Mapping[str, str] | None = None,
    status: JsonObject | None = None,
) -> openai.OpenAI:
    def said(request: httpx2.Request) -> httpx2.Response:
        request.read()
        if request.url.path.endswith("/content"):
            return httpx2.Response(200, headers=dict(headers or {}), content=results)
        if request.url.path.endswith("/files"):
            return httpx2.Response(200, json={"id": GIVEN, "object": "file", "bytes": 1})
        return httpx2.Response(200, json=status or ended().made())

    return record(plain(said), recorded.binding)


def read(
    recorded: Recorded,
    results: bytes,
    headers: Mapping[str, str] | None = None,
    names: tuple[str, ...] = ("a", "b"),
) -> bytes:
    """What a program reads that makes a batch and collects what it was answered."""
    own = client(recorded, results, headers)
    create(own, asking(*names))
    own.batches.retrieve(BATCH)
    return own.files.content(OUTPUT).read()


def test_half_of_a_character_in_a_name_costs_no_answer(recorded: Recorded) -> None:
    results = lines(answered(HALF, completion("Odd.", 3)), *ANSWERED)
    assert read(recorded, results, names=("a", "b", HALF)) == results
    assert answers(recorded.events()) == [(HALF, "said"), ("a", "said"), ("b", "said")]
    again = client(recorded, results)
    again.files.content(OUTPUT).read()
    assert len(answers(recorded.events())) == 3


def test_a_line_that_cannot_be_recorded_costs_no_other_answer(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def failing(answer: Any, event_of: Any, **more: Any) -> object:
        if more["request_id"] == "req_a":
            raise ValueError("a fault of the recorder")
        return events_of(answer, event_of, **more)

    monkeypatch.setattr(batch_answers, "events_of", failing)
    assert read(recorded, lines(*ANSWERED)) == lines(*ANSWERED)
    assert answers(recorded.events()) == [("b", "said")]
    assert "1 result of a batch could not be recorded" in caplog.text
    monkeypatch.setattr(batch_answers, "events_of", events_of)
    client(recorded, lines(*ANSWERED)).files.content(OUTPUT).read()
    assert sorted(answers(recorded.events())) == [("a", "said"), ("b", "said")]


def test_the_first_line_of_a_name_is_its_answer(recorded: Recorded) -> None:
    read(recorded, lines(*(answered("a", completion(text)) for text in ("First.", "Second."))))
    assert texts(recorded.events())[2:] == [("assistant", "First.")]


def test_a_key_for_an_id_of_a_request_is_not_stored(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, open_sqlite(tmp_path / "log.db"))
    line = answered("a", completion("Blue."))
    line["response"]["request_id"] = KEY
    read(recorded, lines(line))
    assert answers(recorded.events()) == [("a", "said")]
    recorded.store.close()
    held = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"What of a?" in held
    assert KEY.encode() not in held


def test_blank_lines_cost_next_to_nothing(recorded: Recorded) -> None:
    blank = gzip.compress(b"\n" * 30_000_000 + lines(*ANSWERED))
    began = process_time()
    assert len(read(recorded, blank, GZIP)) > 30_000_000
    assert process_time() - began < 5
    assert answers(recorded.events()) == [("a", "said"), ("b", "said")]


def test_lines_that_are_no_results_cost_little_and_are_said_once(
    recorded: Recorded, caplog: pytest.LogCaptureFixture
) -> None:
    results = lines(*ANSWERED) + b"x\n" * 3_000_000
    began = process_time()
    with caplog.at_level(logging.WARNING, "onrecord"):
        assert read(recorded, gzip.compress(results), GZIP) == results
    assert process_time() - began < 5
    assert len(caplog.records) == 1
    assert "is taken for none" in caplog.text
    assert answers(recorded.events()) == [("a", "said"), ("b", "said")]


def test_how_many_lines_could_not_be_read_is_said_once(
    recorded: Recorded, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "onrecord"):
        read(recorded, b"x\n" * 3 + lines(*ANSWERED) + b"{}\n")
    assert [log.getMessage() for log in caplog.records] == [
        "4 lines of a batch's results could not be read: they are not recorded"
    ]
    assert answers(recorded.events()) == [("a", "said"), ("b", "said")]


def test_many_odd_lines_amid_more_answers_cost_no_answer(recorded: Recorded) -> None:
    names = [f"n{at}" for at in range(1500)]
    one = json.dumps({"custom_id": "n", "response": None, "error": {"code": "late"}})
    results = b"".join(b"x\n" + one.replace('"n"', f'"{name}"').encode() + b"\n" for name in names)
    read(recorded, results)
    assert len(answers(recorded.events())) == 1500


@pytest.mark.parametrize("labels", [{"conversation": "nope"}, {"conversation": ""}])
def test_a_conversation_that_is_named_like_ours_costs_no_call(
    recorded: Recorded, labels: dict[str, str]
) -> None:
    for key in (OUTPUT, GIVEN, BATCH):
        chat = Conversation(tenancy_of(recorded.chat), f"batch/{key}")
        chat.annotate(labels={**labels, "batch": BATCH, "requests": GIVEN})
    assert read(recorded, lines(*ANSWERED)) == lines(*ANSWERED)
    assert answers(recorded.events()) == [("a", "said"), ("b", "said")]


def test_a_fault_of_the_recorder_costs_no_call(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    own = client(recorded, lines(*ANSWERED))

    def broken(*_: object) -> None:
        raise ValueError("a fault of the recorder")

    monkeypatch.setattr(type(recorded.binding.recorders), "find", broken)
    assert own.files.content(OUTPUT).read() == lines(*ANSWERED)
    with pytest.warns(onrecord.RecordingWarning, match="a batch is not recorded"):
        own.batches.create(input_file_id=GIVEN, endpoint=CHAT, completion_window="24h")
    assert "could not be found out" in caplog.text


def test_a_list_of_many_batches_makes_few_conversations(recorded: Recorded) -> None:
    made = {**ended().made(), "output_file_id": None}
    many = [{**made, "id": f"batch_{n}", "output_file_id": f"file-{n}"} for n in range(5000)]
    own = client(recorded, lines(*ANSWERED), status={"object": "list", "data": many})
    create(client(recorded), asking("a", "b"))
    tenant = tenancy_of(recorded.chat).tenant
    before = len(list(recorded.store.conversations(tenant)))
    own.batches.list()
    assert 0 < len(list(recorded.store.conversations(tenant))) - before <= 64
    assert own.files.content("file-4999").read() == lines(*ANSWERED)
    assert answers(recorded.events()) == [("a", "said"), ("b", "said")]


def form(purpose: str, content: bytes) -> bytes:
    fields = (
        f'--B\r\nContent-Disposition: form-data; name="purpose"\r\n\r\n{purpose}\r\n'
        '--B\r\nContent-Disposition: form-data; name="file"; filename="a.jsonl"\r\n\r\n'
    )
    return fields.encode() + content + b"\r\n--B--\r\n"


@pytest.mark.parametrize("purpose", ["batch", "assistants"])
@pytest.mark.parametrize("kind", ["generator", "iterator", "file"])
def test_a_body_that_can_be_read_but_once_passes_untouched(
    recorded: Recorded, tmp_path: Path, purpose: str, kind: str
) -> None:
    body = form(purpose, lines(*asking("a", "b")) * 1000)
    given = tmp_path / "form"
    given.write_bytes(body)
    pieces = [body[at : at + 7000] for at in range(0, len(body), 7000)]
    received: list[bytes] = []

    def said(request: httpx2.Request) -> httpx2.Response:
        received.append(request.read())
        return httpx2.Response(200, json={"id": GIVEN, "object": "file", "bytes": 1})

    def post(made: openai.OpenAI) -> None:
        headers = {
            "content-type": "multipart/form-data; boundary=B",
            "content-length": str(len(body)),
        }
        with given.open("rb") as file:
            contents: dict[str, Iterable[bytes]] = {
                "generator": (piece for piece in pieces),
                "iterator": iter(pieces),
                "file": file,
            }
            made._client.post("http://x.test/v1/files", content=contents[kind], headers=headers)  # pyright: ignore[reportPrivateUsage] - the SDK sends no form of ours

    post(plain(said))
    own = record(plain(said), recorded.binding)
    with pytest.warns(onrecord.RecordingWarning, match="read but once"):
        post(own)
    with warnings.catch_warnings():  # It is said once.
        warnings.simplefilter("error")
        post(own)
    assert received == [body] * 3
    assert recorded.requests() == []


def test_blank_lines_in_an_upload_cost_next_to_nothing(recorded: Recorded) -> None:
    own = client(recorded)
    began = process_time()
    content = b"\n" * 30_000_000 + lines(*asking("a"))
    own.files.create(file=("a.jsonl", content), purpose="batch")
    assert process_time() - began < 5
    assert len(recorded.requests()) == 1
