"""A batch records many facts at once, an entry whole or not at all, and the same again changes nothing."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any, Final

import pytest

from tests.adapters.service.served import Served
from tests.patience import PATIENCE

SENDERS: Final = 8


@pytest.fixture
def service(each_service: Served) -> Served:
    return each_service


def appended(service: Served, *entries: Any, status: int = 200) -> Any:
    answer = service.ask("POST", "/v1/append", {"entries": entries})
    assert answer.status == status, answer.data
    return answer.json()["entries"] if status == 200 else answer.json()


def version(service: Served, key: str) -> int:
    answer = service.ask("GET", f"/v1/conversations/{key}")
    return answer.json()["version"] if answer.status == 200 else 0


def prompt(text: str, message_id: str | None = None) -> Any:
    return {"kind": "prompt", "text": text, "message_id": message_id}


def test_facts_of_many_conversations_are_recorded_by_one_request(service: Served) -> None:
    call = {"name": "track", "arguments": {"id": 1}, "id": "c1"}
    told = [
        {"kind": "instructions", "text": "Be kind."},
        prompt("Where is it?"),
        {"kind": "answer", "text": "I look.", "calls": [call]},
        {"kind": "tool_result", "call_id": "c1", "content": {"at": "Bremen"}},
        {"kind": "answer", "text": "In Bremen."},
        {"kind": "signal", "content": "late", "name": "timer"},
    ]
    outcomes = appended(service, {"key": "a", "facts": told}, {"key": "b", "facts": [prompt("Hi")]})
    assert [(each["key"], each["outcome"], each["first"]) for each in outcomes] == [
        ("a", "recorded", 1),
        ("b", "recorded", 1),
    ]
    history = service.ask("GET", "/v1/conversations/a/history").json()["turns"]
    assert [(turn["role"], turn["text"]) for turn in history] == [
        ("user", "Where is it?"),
        ("assistant", "I look."),
        ("user", ""),
        ("assistant", "In Bremen."),
        ("user", "late"),
    ]


def test_the_same_entry_under_its_id_again_changes_nothing(service: Served) -> None:
    call = {"name": "track"}
    entry = {
        "key": "a",
        "id": "e1",
        "facts": [
            prompt("Hi"),
            {"kind": "answer", "calls": [call]},
            {"kind": "answer", "text": "x"},
        ],
    }
    first = appended(service, entry)[0]
    again = appended(service, entry)[0]
    assert (first["outcome"], again["outcome"]) == ("recorded", "duplicate")
    assert (again["last"], version(service, "a")) == (first["last"], first["last"])
    other = appended(service, entry | {"facts": [prompt("Other")]})[0]
    assert (other["outcome"], other["problem"]["type"]) == (
        "refused",
        "/problems/idempotency-mismatch",
    )
    assert version(service, "a") == first["last"]


def test_a_message_of_a_known_id_is_recorded_once_by_whichever_route(service: Served) -> None:
    service.ask("POST", "/v1/conversations/a/prompts", {"text": "Hi", "message_id": "m1"})
    assert (
        appended(service, {"key": "a", "facts": [prompt("Hi", "m1")]})[0]["outcome"] == "duplicate"
    )
    answer = {"text": "Yes", "message_id": "m2"}
    service.ask("POST", "/v1/conversations/a/answers", answer)
    fact = {"kind": "answer", **answer}
    assert appended(service, {"key": "a", "facts": [fact]})[0]["outcome"] == "duplicate"


def test_an_entry_of_which_one_fact_is_refused_records_none(service: Served) -> None:
    service.ask("POST", "/v1/conversations/a/prompts", {"text": "Hi", "message_id": "m1"})
    before = version(service, "a")
    outcomes = appended(
        service,
        {"key": "a", "facts": [prompt("New"), prompt("Other", "m1")]},
        {"key": "b", "facts": [prompt("New"), prompt(" ")]},
        {"key": "c", "facts": [prompt("New")]},
    )
    assert [each["outcome"] for each in outcomes] == ["refused", "refused", "recorded"]
    assert (version(service, "a"), version(service, "b")) == (before, 0)


def test_an_entry_for_another_version_is_told_the_present_one(service: Served) -> None:
    appended(service, {"key": "a", "facts": [prompt("Hi")], "expected_version": 0})
    stale = {"key": "a", "facts": [prompt("Hi")], "expected_version": 1}
    good = {"key": "b", "facts": [prompt("Hi")]}
    outcomes = appended(service, stale, good)
    assert [each["outcome"] for each in outcomes] == ["refused", "recorded"]
    assert outcomes[0]["problem"]["type"] == "/problems/version-conflict"
    assert outcomes[0]["problem"]["status"] == 409
    late = {"key": "c", "facts": [prompt("Hi")], "expected_version": 3}
    assert appended(service, late)[0]["outcome"] == "refused"
    assert version(service, "c") == 0


def test_a_closed_conversation_takes_no_entry_and_others_do(service: Served) -> None:
    appended(service, {"key": "a", "facts": [prompt("Hi")]})
    service.ask("POST", "/v1/conversations/a/end", {})
    outcomes = appended(
        service, {"key": "a", "facts": [prompt("Hi")]}, {"key": "b", "facts": [prompt("Hi")]}
    )
    assert [each["outcome"] for each in outcomes] == ["refused", "recorded"]
    assert outcomes[0]["problem"]["type"] == "/problems/closed"


def test_a_conversation_stands_once_in_a_batch(service: Served) -> None:
    entry = {"key": "a", "facts": [prompt("Hi")]}
    assert appended(service, entry, entry, status=422)["status"] == 422
    assert version(service, "a") == 0


def test_a_malformed_fact_refuses_the_whole_batch(service: Served) -> None:
    good = {"key": "a", "facts": [prompt("Hi")]}
    bad = {"key": "b", "facts": [{"kind": "nothing"}]}
    problem = appended(service, good, bad, status=422)
    assert problem["errors"][0]["pointer"].startswith("/entries/1/facts/0")
    assert version(service, "a") == 0


def test_of_the_same_entry_sent_at_once_one_is_recorded_and_none_refused(service: Served) -> None:
    entry = {"id": "e1", "facts": [prompt("Hi"), {"kind": "answer", "text": "Yes?"}]}
    for number in range(5):
        key = f"new{number}"
        together = Barrier(SENDERS)

        def send(_: int, key: str = key, together: Barrier = together) -> str:
            together.wait(PATIENCE)
            return str(appended(service, entry | {"key": key})[0]["outcome"])

        with ThreadPoolExecutor(SENDERS) as pool:
            outcomes = sorted(pool.map(send, range(SENDERS)))
        assert outcomes == ["duplicate"] * (SENDERS - 1) + ["recorded"]
        assert version(service, key) == 4
