"""What is read over HTTP is what the store has; what is erased is not kept by anybody's cache."""

from __future__ import annotations

import json
from typing import Any

import pytest

from onrecord.adapters.service.document import document
from onrecord.adapters.service.routes.table import ROUTES
from tests.adapters.service.served import Served

CHAT = "/v1/conversations/a"


def got(service: Served, path: str, status: int = 200) -> Any:
    answer = service.ask("GET", path)
    assert answer.status == status, answer.data
    return answer.json()


def tell(service: Served, key: str = "a") -> None:
    """A conversation with a round of a tool in it."""
    call = {"name": "track", "arguments": {"id": 4711}, "id": "c1"}
    facts = [
        {"kind": "instructions", "text": "Be kind."},
        {"kind": "prompt", "text": "Where is my parcel?"},
        {"kind": "answer", "text": "I look.", "calls": [call]},
        {"kind": "tool_result", "call_id": "c1", "content": "Bremen"},
        {"kind": "answer", "text": "In Bremen."},
    ]
    answer = service.ask("POST", "/v1/append", {"entries": [{"key": key, "facts": facts}]})
    assert answer.json()["entries"][0]["outcome"] == "recorded", answer.data


def test_a_request_is_what_the_library_makes(each_service: Served) -> None:
    tell(each_service)
    made = got(each_service, f"{CHAT}/requests/openai-chat")
    assert [message["role"] for message in made["request"]["messages"]] == [
        *("system", "user", "assistant", "tool", "assistant")
    ]
    assert (made["api"], made["secrets"]) == ("openai-chat", [])
    early = got(each_service, f"{CHAT}/requests/openai-chat?at=3")
    assert [message["content"] for message in early["request"]["messages"]] == [
        *("Be kind.", "Where is my parcel?")
    ]


def test_a_window_keeps_the_last_exchanges(service: Served) -> None:
    for number in range(3):
        service.ask("POST", f"{CHAT}/prompts", {"text": f"question {number}"})
        service.ask("POST", f"{CHAT}/answers", {"text": f"answer {number}"})
    path = f"{CHAT}/requests/anthropic-messages?exchanges=1&step=1"
    made = got(service, path)
    texts = json.dumps(made["request"]["messages"])
    assert "question 0" not in texts
    assert "question 2" in texts
    assert "window" in [note["rule"] for note in made["report"]]
    both = f"{CHAT}/requests/anthropic-messages?exchanges=1&messages=1"
    assert got(service, both, 422)["status"] == 422


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("requests/nobodys-api", 422),
        ("requests/openai-chat?at=99", 422),
        ("requests/openai-chat?thinking=maybe", 422),
        ("requests/openai-chat?exchanges=0", 422),
        ("requests/openai-chat/diff?a=1", 422),
        ("events/99/why", 422),
        (f"documents/{'0' * 64}", 404),
        ("documents/zz", 422),
    ],
)
def test_what_cannot_be_told_is_a_problem(service: Served, path: str, status: int) -> None:
    tell(service)
    assert got(service, f"{CHAT}/{path}", status)["status"] == status


def test_two_requests_are_compared_by_events(service: Served) -> None:
    tell(service)
    diff = got(service, f"{CHAT}/requests/openai-chat/diff?a=3&b=7")
    assert {change["change"] for change in diff["events"]} == {"added"}
    assert (diff["a"], diff["b"], diff["instructions"], diff["tools"]) == (3, 7, None, None)


def test_it_is_told_why_a_result_is_there(service: Served) -> None:
    tell(service)
    events = got(service, f"{CHAT}/events")["events"]
    (result,) = [each for each in events if each["type"] == "tool_result.recorded"]
    explained = got(service, f"{CHAT}/events/{result['version']}/why")
    assert (explained["kind"], explained["call"]["text"]) == ("result", explained["call"]["text"])
    assert explained["call"]["type"] == "tool_call.recorded"


TAGGED = ["", "/history", "/events/2", "/requests/openai-chat", "/documents"]


@pytest.mark.parametrize("path", TAGGED)
def test_what_is_known_is_not_sent_again_until_it_changes(service: Served, path: str) -> None:
    tell(service)
    first = service.ask("GET", CHAT + path)
    assert first.headers["cache-control"] == "private, no-cache"
    known = {"if-none-match": first.headers["etag"]}
    assert service.ask("GET", CHAT + path, headers=known).status == 304
    # What never changes keeps its tag, whatever is said next.
    service.ask("POST", f"{CHAT}/prompts", {"text": "Thank you."})
    later = service.ask("GET", CHAT + path, headers=known)
    assert later.status == (304 if path in ("/events/2", "/documents") else 200)


def test_documents_are_stored_said_listed_and_read(each_service: Served) -> None:
    data = b"%PDF-1.4\n" + b"x" * 3_000_000
    kind = {"content-type": "application/octet-stream"}
    sent = each_service.ask("POST", f"{CHAT}/documents?name=a%20b.pdf", body=data, headers=kind)
    assert sent.status == 201, sent.data
    stored = sent.json()
    assert (stored["size"], stored["media_type"]) == (len(data), "application/pdf")
    assert got(each_service, f"{CHAT}/documents/{stored['sha256']}", 404)
    part = {"kind": "stored_document", **stored}
    said = each_service.ask("POST", f"{CHAT}/prompts", {"parts": [part]})
    assert said.status == 201, said.data
    (held,) = got(each_service, f"{CHAT}/documents")["documents"]
    assert (held["name"], held["sha256"], held["origin"]) == ("a b.pdf", stored["sha256"], "user")
    answer = each_service.ask("GET", f"{CHAT}/documents/{stored['sha256']}")
    assert (answer.status, answer.data) == (200, data)
    assert answer.headers["content-type"] == "application/pdf"
    assert answer.headers["content-disposition"] == "inline; filename*=UTF-8''a%20b.pdf"
    known = {"if-none-match": answer.headers["etag"]}
    again = each_service.ask("GET", f"{CHAT}/documents/{stored['sha256']}", headers=known)
    assert again.status == 304


def test_what_a_document_holds_never_runs_in_a_browser(service: Served) -> None:
    page = b"<script>alert(1)</script>"
    query = "name=a.html&media_type=text/html"
    stored = service.ask("POST", f"{CHAT}/documents?{query}", body=page).json()
    service.ask("POST", f"{CHAT}/prompts", {"parts": [{"kind": "stored_document", **stored}]})
    answer = service.ask("GET", f"{CHAT}/documents/{stored['sha256']}")
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"].startswith("attachment")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-security-policy"].startswith("sandbox; default-src 'none'")


def test_a_document_of_a_redacted_prompt_is_given_to_nobody(service: Served) -> None:
    stored = service.ask("POST", f"{CHAT}/documents?name=a.txt", body=b"secret").json()
    service.ask("POST", f"{CHAT}/prompts", {"parts": [{"kind": "stored_document", **stored}]})
    path = f"{CHAT}/documents/{stored['sha256']}"
    tag = service.ask("GET", path).headers["etag"]
    assert service.ask("POST", f"{CHAT}/events/2/redact", {}).status == 201
    assert service.ask("GET", path, headers={"if-none-match": tag}).status == 404


def test_views_are_read_page_by_page_without_a_gap(service: Served) -> None:
    for number in range(5):
        tell(service, f"chat/{number}")
    keys, after = list[str](), ""
    while True:
        page = got(service, f"/v1/conversations?limit=2{after}")
        keys += [entry["key"] for entry in page["entries"]]
        if page["after"] is None:
            break
        after = f"&after={page['after']}"
    assert keys == [f"chat/{number}" for number in reversed(range(5))]


def test_each_view_is_read_with_its_filters(service: Served) -> None:
    tell(service, "a")
    tell(service, "b")
    hits = got(service, "/v1/search?text=parcel&conversation=a")["entries"]
    assert [(hit["key"], hit["role"]) for hit in hits] == [("a", "user")]
    calls = got(service, "/v1/tool-calls?name=track&status=done&conversation=b")["entries"]
    assert [(call["key"], call["result"]) for call in calls] == [("b", "Bremen")]
    deeds = got(service, "/v1/audit?type=tool_call.recorded")["entries"]
    assert [deed["key"] for deed in deeds] == ["b", "a"]
    assert got(service, "/v1/usage")["entries"] == got(service, "/v1/usage/total")["entries"] == []
    assert got(service, "/v1/search?text=parcel&conversation=nobody", 404)
    said = got(service, "/v1/audit?text=parcel&conversation=a")["entries"]
    assert [(deed["key"], deed["type"]) for deed in said] == [("a", "message.recorded")]
    done = got(service, "/v1/audit?outcome=done")["entries"]
    assert [(deed["key"], deed["outcome"]) for deed in done] == [("b", "done"), ("a", "done")]
    assert got(service, "/v1/audit?label=category&label_value=health")["entries"] == []
    assert got(service, f"/v1/audit?document={'0' * 64}")["entries"] == []
    for refused in ("outcome=well", "document=report.pdf", "text=-parcel", "label_value=health"):
        assert got(service, f"/v1/audit?{refused}", 422)
    assert got(service, "/v1/audit?since=2024-01-01T00:00:00", 422)
    assert got(service, "/v1/audit?after=forged", 422)


def test_the_document_says_of_each_route_and_member_what_it_is() -> None:
    described = document(ROUTES, "1")
    for path, operations in described["paths"].items():
        for operation in operations.values():
            assert operation["summary"], path
            assert all(each.get("description") for each in operation["parameters"]), path
    unsaid = [
        f"{name}.{member}"
        for name, schema in described["components"]["schemas"].items()
        for member, about in schema.get("properties", {}).items()
        if not about.get("description")
    ]
    assert unsaid == []
