r"""Half a surrogate pair is a text that JSON has: each answer says it by its escape, and none fails.

Programs send one where they cut a text between the two halves of an emoji.
"""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import pytest

from onrecord.adapters.service.model import Model, json_bytes
from onrecord.adapters.storage.http.forms import Form
from tests.adapters.service.served import Served
from tests.adapters.service.test_tails import say, tail, texts

CHAT = "/v1/conversations/a"
HALF = "half \ud83d"


def record_half(service: Served) -> None:
    """A program's own request, recorded byte for byte as the proxy does."""
    request = json.dumps({"model": "m", "messages": [{"role": "user", "content": HALF}]})
    sent = {"api": "openai-chat", "request": request}
    answer = service.ask("POST", f"{CHAT}/requests", sent)
    assert answer.status == 201, answer.data


@pytest.mark.parametrize(
    "path",
    [
        CHAT,
        f"{CHAT}/events",
        f"{CHAT}/history",
        f"{CHAT}/requests/openai-chat",
        "/v1/conversations",
    ],
)
def test_half_a_surrogate_pair_is_read_as_it_was_said(service: Served, path: str) -> None:
    record_half(service)
    answer = service.ask("GET", path)
    assert answer.status == 200, answer.data
    if path not in (CHAT, "/v1/conversations"):
        assert json.dumps(HALF)[1:-1].encode() in answer.data


def test_half_a_surrogate_pair_stops_no_tail(service: Served) -> None:
    with tail(service) as following, tail(service) as another:
        record_half(service)
        say(service, "after it", "b")
        for each in (following, another):
            said = list[Any]()
            while "after it" not in texts(said):
                said += each.events(1)
            assert HALF in texts(said)
    with tail(service, "/v1/tail?after=start") as resumed:
        said = list[Any]()
        while HALF not in texts(said):
            said += resumed.events(1)


def test_half_a_surrogate_pair_stops_no_batch(service: Served) -> None:
    record_half(service)
    prompt = json.dumps({"entries": [{"key": "a", "facts": [{"kind": "prompt", "text": "more"}]}]})
    answer = service.ask(
        "POST",
        "/v1/append",
        body=prompt.encode(),
        headers={"content-type": "application/json"},
    )
    assert answer.json()["entries"][0]["outcome"] == "recorded", answer.data


class _Named(Model):
    by_name: dict[str, Any]
    anything: Any


class _Raw(Form):
    data: bytes
    text: str
    owner: UUID


def test_the_names_of_members_may_have_a_half_too() -> None:
    names = _Named(by_name={HALF: 1}, anything=[{HALF: (1.5, None)}])
    assert json.loads(json_bytes(names)) == {
        "by_name": {HALF: 1},
        "anything": [{HALF: [1.5, None]}],
    }


@pytest.mark.parametrize("text", ["plain", "\U0001f600", "\ufffd\ufffd\ufffd"])
def test_what_has_no_half_is_written_as_it_was(text: str) -> None:
    raw = _Raw(data=b"\xff\xfb", text=text, owner=UUID(int=7))
    assert json_bytes(raw) == raw.model_dump_json().encode()
    half = raw.model_copy(update={"text": HALF})
    assert json.loads(json_bytes(half)) == json.loads(raw.model_dump_json()) | {"text": HALF}
