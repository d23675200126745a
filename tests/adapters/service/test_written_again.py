"""What the service remembers of conversations that it wrote to: it saves questions, and decides nothing."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from onrecord.adapters.service.tenants import Written, WrittenConversations
from tests.adapters.service.served import Served

CHAT = "/v1/conversations/a"
ACTING = {"onrecord-actor": "ana"}


def prompt(service: Served, text: str, actor: str = "ana", **members: Any) -> tuple[int, Any]:
    answer = service.ask(
        "POST", f"{CHAT}/prompts", {"text": text, **members}, headers={"onrecord-actor": actor}
    )
    return answer.status, answer.json()


def batch(service: Served, *texts: str, **members: Any) -> Any:
    facts = [{"kind": "prompt", "text": text} for text in texts]
    entries = [{"key": "a", "facts": facts, **members}]
    answer = service.ask("POST", "/v1/append", {"entries": entries}, headers=ACTING)
    assert answer.status == 200
    return answer.json()["entries"][0]


def texts(service: Served) -> list[str]:
    events = service.ask("GET", f"{CHAT}/events").json()["events"]
    return [
        each["body"]["content"][0]["text"] for each in events if each["type"] == "message.recorded"
    ]


def end(service: Served) -> None:
    assert service.ask("POST", f"{CHAT}/end", {}, headers=ACTING).status == 200


def forget(service: Served) -> None:
    wanted = {"conversation": "a", "reason": "asked for"}
    assert service.ask("POST", "/v1/erasures", wanted, headers=ACTING).status == 201


def test_where_a_conversation_is_that_was_just_written_to_is_not_asked_again(
    service: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompt(service, "first")

    def asked(conversation_id: UUID) -> None:
        raise AssertionError(f"where {conversation_id} is was asked")

    with monkeypatch.context() as patched:
        patched.setattr(service.service.tenants.backend, "head", asked)
        assert prompt(service, "second")[0] == 201
        assert batch(service, "third", "fourth")["outcome"] == "recorded"
        assert prompt(service, "fifth")[0] == 201
    assert texts(service) == ["first", "second", "third", "fourth", "fifth"]


def test_what_others_said_meanwhile_comes_between(each_service: Served) -> None:
    for number in range(4):
        assert prompt(each_service, f"ana {number}", "ana")[0] == 201
        assert prompt(each_service, f"ben {number}", "ben")[0] == 201
        assert batch(each_service, f"batch {number}")["outcome"] == "recorded"
    said = [f"{who} {number}" for number in range(4) for who in ("ana", "ben", "batch")]
    assert texts(each_service) == said


def test_a_conversation_that_was_ended_since_takes_nothing(each_service: Served) -> None:
    prompt(each_service, "first")
    end(each_service)
    status, problem = prompt(each_service, "late")
    assert (status, problem["type"]) == (409, "/problems/closed")
    assert batch(each_service, "late")["problem"]["type"] == "/problems/closed"
    assert texts(each_service) == ["first"]


def test_a_batch_finds_that_a_conversation_was_ended_since(each_service: Served) -> None:
    batch(each_service, "first")
    end(each_service)
    assert batch(each_service, "late")["problem"]["type"] == "/problems/closed"


@pytest.mark.parametrize("again", ["prompt", "batch"])
def test_a_key_that_was_forgotten_since_begins_another_conversation(
    each_service: Served, again: str
) -> None:
    prompt(each_service, "first")
    old = each_service.ask("GET", CHAT).json()["conversation_id"]
    forget(each_service)
    done = prompt(each_service, "anew")[1] if again == "prompt" else batch(each_service, "anew")
    assert (done["first"], done["last"]) == (1, 2)
    assert each_service.ask("GET", CHAT).json()["conversation_id"] != old
    assert texts(each_service) == ["anew"]


def test_a_version_that_was_expected_counts_whatever_is_remembered(each_service: Served) -> None:
    prompt(each_service, "first")
    status, problem = prompt(each_service, "second", expected_version=1)
    assert (status, problem["current"]) == (409, 2)
    prompt(each_service, "second", expected_version=2)
    assert batch(each_service, "third", expected_version=2)["outcome"] == "refused"
    assert batch(each_service, "third", expected_version=3)["last"] == 4


def test_what_is_repeated_under_its_id_counts_once(each_service: Served) -> None:
    prompt(each_service, "first", message_id="1")
    prompt(each_service, "second", message_id="2")
    status, done = prompt(each_service, "first", message_id="1")
    assert (status, done["is_new"], done["last"]) == (201, False, 2)
    assert prompt(each_service, "other", message_id="1")[0] == 409
    assert batch(each_service, "third", id="3")["outcome"] == "recorded"
    assert batch(each_service, "third", id="3")["outcome"] == "duplicate"
    assert prompt(each_service, "fourth")[1]["last"] == 5
    assert texts(each_service) == ["first", "second", "third", "fourth"]


def test_so_many_conversations_are_remembered_at_most() -> None:
    written, last = WrittenConversations(), Written(None, 1)  # type: ignore[arg-type]
    for number in range(5_000):
        written.keep(last, number)
    assert written.take(0) is None
    assert written.take(4_999) is last
    assert sum(written.take(number) is not None for number in range(4_999)) == 4_095
