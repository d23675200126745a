"""What is said over HTTP is recorded as the verbs of a conversation record it."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from tests.adapters.service.served import Served

PDF = b"%PDF-1.4\n%%EOF\n"
CHAT = "/v1/conversations/a"


def said(service: Served, method: str, path: str, json: Any = None, status: int = 201) -> Any:
    answer = service.ask(method, path, json)
    assert answer.status == status, answer.data
    return answer.json()


def turns(service: Served, key: str = "a") -> list[tuple[str, str]]:
    history = said(service, "GET", f"/v1/conversations/{key}/history", status=200)
    return [(turn["role"], turn["text"]) for turn in history["turns"]]


def test_a_round_of_a_tool_is_recorded_from_the_prompt_to_the_answer(service: Served) -> None:
    said(service, "POST", f"{CHAT}/instructions", {"text": "Be kind."})
    tool = {"kind": "tool", "name": "track", "input_schema": {"type": "object"}}
    said(service, "POST", f"{CHAT}/tools", {"tools": [tool]})
    said(service, "POST", f"{CHAT}/prompts", {"text": "Where is it?"})
    call = {"name": "track", "arguments": {"id": 4711}, "id": "c1"}
    said(service, "POST", f"{CHAT}/answers", {"text": "I look.", "calls": [call]})
    assert said(service, "GET", f"{CHAT}/calls", status=200)["calls"] == [call]
    given = said(service, "POST", f"{CHAT}/calls/c1/result", {"content": {"at": "Bremen"}})
    assert given["outcome"] == "recorded"
    said(service, "POST", f"{CHAT}/answers", {"text": "In Bremen."})
    assert said(service, "GET", f"{CHAT}/calls", status=200) == {"calls": []}
    assert said(service, "GET", f"{CHAT}/tools", status=200)["tools"][0]["name"] == "track"
    assert turns(service) == [
        ("user", "Where is it?"),
        ("assistant", "I look."),
        ("user", ""),
        ("assistant", "In Bremen."),
    ]


def test_a_call_has_one_result_and_another_is_kept_beside_it(service: Served) -> None:
    said(service, "POST", f"{CHAT}/answers", {"calls": [{"name": "track", "id": "c/1"}]})
    path = f"{CHAT}/calls/c%2F1/result"
    outcomes = [
        said(service, "POST", path, {"content": content})["outcome"]
        for content in ("here", "here", "there")
    ]
    assert outcomes == ["recorded", "duplicate", "rejected"]
    assert said(service, "POST", f"{CHAT}/calls/c2/result", {})["outcome"] == "unmatched"


def test_a_call_is_given_up_once(service: Served) -> None:
    said(service, "POST", f"{CHAT}/answers", {"calls": [{"name": "track", "id": "c1"}]})
    assert said(service, "POST", f"{CHAT}/calls/c1/cancel")["outcome"] == "recorded"
    assert said(service, "POST", f"{CHAT}/calls/c1/cancel")["outcome"] == "duplicate"


def test_a_signal_may_give_up_open_calls(service: Served) -> None:
    said(service, "POST", f"{CHAT}/answers", {"calls": [{"name": "track", "id": "c1"}]})
    waiting = {"content": {"late": True}, "name": "timer", "message_id": "s1"}
    said(service, "POST", f"{CHAT}/signals", waiting)
    assert not said(service, "POST", f"{CHAT}/signals", waiting)["is_new"]
    assert len(said(service, "GET", f"{CHAT}/calls", status=200)["calls"]) == 1
    said(service, "POST", f"{CHAT}/signals", {"content": "stop", "interrupts": True})
    assert said(service, "GET", f"{CHAT}/calls", status=200)["calls"] == []


def test_a_conversation_ends_once_and_takes_nothing_after(service: Served) -> None:
    said(service, "POST", f"{CHAT}/prompts", {"text": "Hallo"})
    assert said(service, "POST", f"{CHAT}/end", {"reason": "done"}, 200) == {"version": 3}
    assert said(service, "POST", f"{CHAT}/end", {}, 200) == {"version": None}
    refused = said(service, "POST", f"{CHAT}/prompts", {"text": "Hallo"}, 409)
    assert refused["type"] == "/problems/closed"


def test_what_never_began_is_not_ended_and_not_begun_by_it(service: Served) -> None:
    said(service, "POST", f"{CHAT}/end", {}, 404)
    said(service, "POST", f"{CHAT}/calls/c1/cancel", None, 404)
    said(service, "POST", f"{CHAT}/calls/c1/deny", {"reason": "no"}, 404)
    said(service, "GET", CHAT, None, 404)


def test_nobody_decides_about_a_call_of_which_nobody_is_asked(service: Served) -> None:
    said(service, "POST", f"{CHAT}/answers", {"calls": [{"name": "pay", "id": "c1"}]})
    assert said(service, "GET", f"{CHAT}/approvals", status=200) == {"approvals": []}
    refused = said(service, "POST", f"{CHAT}/calls/c1/approve", {}, 409)
    assert refused["type"] == "/problems/approval-not-asked"


def test_documents_go_with_a_prompt_by_their_bytes_or_their_address(service: Served) -> None:
    parts = [
        {"kind": "text", "text": "Read both."},
        {"kind": "document", "data": base64.b64encode(PDF).decode(), "name": "a.pdf"},
        {"kind": "linked_document", "url": "https://x.example/b.png", "media_type": "image/png"},
    ]
    said(service, "POST", f"{CHAT}/prompts", {"parts": parts})
    content = said(service, "GET", f"{CHAT}/events/2", status=200)["body"]["content"]
    assert [part["kind"] for part in content] == ["text", "document", "document"]
    assert (content[1]["media_type"], content[1]["blob"]["size"]) == ("application/pdf", len(PDF))
    assert content[2]["url"] == "https://x.example/b.png"


@pytest.mark.parametrize(
    "prompt",
    [
        {},
        {"text": "a", "parts": [{"kind": "text", "text": "a"}]},
        {"text": " "},
        {"parts": []},
        {"parts": [{"kind": "document", "data": "***"}]},
        {"parts": [{"kind": "document", "data": ""}]},
        {"parts": [{"kind": "linked_document", "url": "file:///etc/passwd", "media_type": "a/b"}]},
        {
            "parts": [
                {"kind": "stored_document", "sha256": "0" * 64, "size": 1, "media_type": "a/b"}
            ]
        },
        {"text": "a", "message_id": ""},
        {"text": "a", "expected_version": -1},
    ],
)
def test_a_prompt_that_cannot_be_recorded_begins_nothing(service: Served, prompt: Any) -> None:
    said(service, "POST", f"{CHAT}/prompts", prompt, 422)
    said(service, "GET", CHAT, None, 404)
