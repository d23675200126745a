"""A program that calls models itself records what it sent and what came, byte for byte."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.adapters.service.served import Served
from tests.adapters.service.test_edits import said, turns

CHAT = "/v1/conversations/a"
SENT = {"model": "m", "messages": [{"role": "user", "content": "Hallo"}]}
RECEIVED: dict[str, Any] = {
    "id": "r1",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [
        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Ja?"}}
    ],
    "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
}
OPENAI = {"api": "openai-chat"}


def test_a_request_and_its_answer_are_the_history(each_service: Served) -> None:
    sent = said(each_service, "POST", f"{CHAT}/requests", OPENAI | {"request": SENT})
    answer = OPENAI | {"request": sent["last"], "response": RECEIVED}
    assert said(each_service, "POST", f"{CHAT}/responses", answer)["is_new"]
    assert turns(each_service) == [("user", "Hallo"), ("assistant", "Ja?")]
    assert not said(each_service, "POST", f"{CHAT}/responses", answer)["is_new"]
    assert said(each_service, "GET", f"{CHAT}/next", status=200) == {"next": "nothing"}
    standing = said(each_service, "GET", CHAT, status=200)
    assert (standing["input_tokens"], standing["output_tokens"]) == (3, 2)


def test_an_answer_brings_its_request_along(each_service: Served) -> None:
    answer = OPENAI | {"request": json.dumps(SENT), "response": json.dumps(RECEIVED)}
    said(each_service, "POST", f"{CHAT}/responses", answer)
    assert turns(each_service) == [("user", "Hallo"), ("assistant", "Ja?")]


def test_the_chunks_of_a_stream_are_an_answer(service: Served) -> None:
    common = {"id": "r1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    deltas: list[tuple[Any, str | None]] = [
        ({"role": "assistant", "content": "Ja"}, None),
        ({"content": "?"}, None),
        ({}, "stop"),
    ]
    chunks = [
        common | {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
        for delta, reason in deltas
    ]
    said(service, "POST", f"{CHAT}/responses", OPENAI | {"request": SENT, "response": chunks})
    assert turns(service) == [("user", "Hallo"), ("assistant", "Ja?")]


def test_a_runtime_is_told_whether_to_ask_the_model(service: Served) -> None:
    said(service, "GET", f"{CHAT}/next", None, 404)
    said(service, "POST", f"{CHAT}/prompts", {"text": "Hallo"})
    assert said(service, "GET", f"{CHAT}/next", status=200) == {"next": "ready"}
    said(service, "POST", f"{CHAT}/answers", {"calls": [{"name": "track", "id": "c1"}]})
    assert said(service, "GET", f"{CHAT}/next", status=200) == {"next": "deferred"}


REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("requests", {"api": "unknown", "request": SENT}),
    ("requests", OPENAI | {"request": {"model": "m"}}),
    ("requests", OPENAI | {"request": "no JSON"}),
    ("requests", OPENAI | {"request": SENT, "model": "other"}),
    ("requests", {"api": "gemini", "request": {"contents": []}}),
    ("responses", OPENAI | {"request": 7, "response": RECEIVED}),
    ("responses", OPENAI | {"request": SENT, "response": {"object": "list"}}),
    ("responses", OPENAI | {"request": SENT, "response": []}),
    ("responses", OPENAI | {"response": RECEIVED}),
]


@pytest.mark.parametrize(("path", "body"), REFUSED)
def test_what_is_none_of_its_api_is_not_recorded(service: Served, path: str, body: Any) -> None:
    said(service, "POST", f"{CHAT}/{path}", body, 422)
    said(service, "GET", CHAT, None, 404)
