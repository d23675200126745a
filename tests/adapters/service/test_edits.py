"""What changes a history over HTTP does what the verbs of a conversation do, and no more than once."""

from __future__ import annotations

from typing import Any

import pytest

from tests.adapters.service.served import Served

CHAT = "/v1/conversations/a"
EDITS: dict[str, Any] = {
    "events/2/edit": {"text": "Else"},
    "retractions": {},
    "compactions": {"summary": "Short"},
    "annotations": {"labels": {"reviewed": "yes"}},
    "forks": {"key": "b"},
}


def said(service: Served, method: str, path: str, json: Any = None, status: int = 201) -> Any:
    answer = service.ask(method, path, json)
    assert answer.status == status, answer.data
    return answer.json()


def turns(service: Served, key: str = "a") -> list[tuple[str, str]]:
    history = said(service, "GET", f"/v1/conversations/{key}/history", status=200)
    return [(turn["role"], turn["text"]) for turn in history["turns"]]


def begin(service: Served) -> None:
    """Two exchanges: prompts at versions 2 and 4, answers at 3 and 5."""
    for number in ("first", "second"):
        said(service, "POST", f"{CHAT}/prompts", {"text": number})
        said(service, "POST", f"{CHAT}/answers", {"text": f"answer to {number}"})


def version(service: Served) -> int:
    return int(said(service, "GET", CHAT, status=200)["version"])


def test_a_prompt_is_edited_and_what_followed_it_is_given_up(each_service: Served) -> None:
    begin(each_service)
    (prompt,) = (
        event["version"]
        for event in said(each_service, "GET", f"{CHAT}/events", status=200)["events"]
        if "second" in str(event["body"]) and event["body"].get("role") == "user"
    )
    said(each_service, "POST", f"{CHAT}/events/{prompt}/edit", {"text": "otherwise"})
    assert turns(each_service) == [
        ("user", "first"),
        ("assistant", "answer to first"),
        ("user", "otherwise"),
    ]


def test_an_answer_is_given_up_and_asked_for_again(each_service: Served) -> None:
    begin(each_service)
    said(each_service, "POST", f"{CHAT}/retractions", {})
    assert turns(each_service)[-1] == ("user", "second")
    assert said(each_service, "GET", f"{CHAT}/next", status=200) == {"next": "ready"}
    refused = said(each_service, "POST", f"{CHAT}/retractions", {}, 422)
    assert "not answered yet" in refused["detail"]


def test_a_summary_stands_for_what_was_said(each_service: Served) -> None:
    begin(each_service)
    said(each_service, "POST", f"{CHAT}/compactions", {"summary": "They met."})
    said(each_service, "POST", f"{CHAT}/prompts", {"text": "third"})
    told = turns(each_service)
    assert "They met." in told[0][1]
    assert "third" in told[-1][1]
    assert all("second" not in text for _, text in told)


def test_a_remark_is_put_beside_an_event_by_who_acts(each_service: Served) -> None:
    begin(each_service)
    before = version(each_service)
    remark = {"labels": {"reviewed": "yes"}, "version": 2}
    answer = each_service.ask(
        "POST", f"{CHAT}/annotations", remark, headers={"onrecord-actor": "ana"}
    )
    assert answer.json() == {"first": before + 1, "last": before + 1, "is_new": True}
    event = said(each_service, "GET", f"{CHAT}/events/{before + 1}", status=200)
    assert (event["type"], event["actor_name"]) == ("annotation.added", "ana")
    assert (event["body"]["labels"], event["body"]["version"]) == ({"reviewed": "yes"}, 2)


def test_a_fork_goes_on_from_a_version_and_leaves_the_rest(each_service: Served) -> None:
    begin(each_service)
    forked = said(each_service, "POST", f"{CHAT}/forks", {"key": "b/1", "at": 3, "reason": "why"})
    said(each_service, "POST", "/v1/conversations/b%2F1/prompts", {"text": "otherwise"})
    assert turns(each_service, "b%2F1") == [
        *[("user", "first"), ("assistant", "answer to first")],
        ("user", "otherwise"),
    ]
    assert turns(each_service)[-1] == ("assistant", "answer to second")
    there = said(each_service, "GET", "/v1/conversations/b%2F1", status=200)
    assert there["conversation_id"] == forked["conversation_id"]
    assert (forked["key"], there["version"] > forked["version"]) == ("b/1", True)


def test_a_fork_is_made_once(each_service: Served) -> None:
    begin(each_service)
    said(each_service, "POST", f"{CHAT}/forks", {"key": "b"})
    before = said(each_service, "GET", "/v1/conversations/b", status=200)
    said(each_service, "POST", f"{CHAT}/forks", {"key": "b"}, 422)
    assert said(each_service, "GET", "/v1/conversations/b", status=200) == before


@pytest.mark.parametrize("path", EDITS)
def test_nothing_is_edited_in_what_never_began(service: Served, path: str) -> None:
    said(service, "POST", f"{CHAT}/{path}", EDITS[path], 404)
    said(service, "GET", CHAT, None, 404)
    said(service, "GET", "/v1/conversations/b", None, 404)


@pytest.mark.parametrize("path", ["events/2/edit", "retractions", "compactions"])
def test_an_edit_of_what_moved_meanwhile_is_refused(service: Served, path: str) -> None:
    begin(service)
    before = version(service)
    stale = EDITS[path] | {"expected_version": before - 1}
    refused = said(service, "POST", f"{CHAT}/{path}", stale, 409)
    assert (refused["type"], refused["current"]) == ("/problems/version-conflict", before)
    assert version(service) == before
    said(service, "POST", f"{CHAT}/{path}", EDITS[path] | {"expected_version": before})


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("events/3/edit", {"text": "no prompt"}),
        ("events/99/edit", {"text": "not there"}),
        ("events/2/edit", {}),
        ("events/2/edit", {"text": "a", "parts": []}),
        ("compactions", {"summary": " "}),
        ("compactions", {"summary": "a", "until": 99}),
        ("annotations", {"labels": {"a": 1}}),
        ("annotations", {"labels": {"a": "b"}, "version": 99}),
        ("forks", {"key": "b", "at": 99}),
        ("forks", {"key": "a"}),
        ("forks", {"key": ""}),
    ],
)
def test_an_edit_that_cannot_be_changes_nothing(service: Served, path: str, body: Any) -> None:
    begin(service)
    before = said(service, "GET", f"{CHAT}/events", status=200)
    said(service, "POST", f"{CHAT}/{path}", body, 422)
    assert said(service, "GET", f"{CHAT}/events", status=200) == before
    said(service, "GET", "/v1/conversations/b", None, 404)


def test_the_name_of_an_actor_is_erased_and_that_is_told(each_service: Served) -> None:
    each_service.ask(
        "POST", f"{CHAT}/prompts", {"text": "Hallo"}, headers={"onrecord-actor": "ana"}
    )
    wanted = {"name": "ana", "reason": "asked for"}
    said(each_service, "POST", "/v1/actor-erasures", wanted, 422)
    acting = {"onrecord-actor": "operator"}
    done = each_service.ask("POST", "/v1/actor-erasures", wanted, headers=acting)
    assert (done.status, done.json()["events"]) == (201, 0)
    (event, *_) = said(each_service, "GET", f"{CHAT}/events", status=200)["events"]
    assert (event["actor_name"], bool(event["actor"])) == (None, True)
    (erasure,) = said(each_service, "GET", "/v1/erasures", status=200)["erasures"]
    assert (erasure["actor"], erasure["reason"]) == ("operator", "asked for")
    again = each_service.ask("POST", "/v1/actor-erasures", wanted, headers=acting)
    assert again.status == 422
