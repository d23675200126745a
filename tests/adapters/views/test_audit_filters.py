"""The audit by document, text, outcome and label: all of them combine, and page."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any, Final
from uuid import UUID, uuid4

import pytest

import onrecord
from onrecord.adapters.storage.memory.memory import Memory
from onrecord.adapters.store import backend_of
from onrecord.domain.content import Native, Text, ToolResult
from onrecord.domain.events import (
    AttemptFailed,
    ContentRedacted,
    ResponseCompleted,
    ResponseInterrupted,
    ServerToolResultRecorded,
    ToolResultRecorded,
    ToolResultRejected,
)
from onrecord.domain.tools import ApprovalDecided
from onrecord.projections.views.audit import AUDIT
from onrecord.projections.views.audit_facts import OUTCOMES
from onrecord.projections.views.registry import VIEWS
from tests.adapters.views.row_stores import RowStore, everything
from tests.adapters.views.workers import caught_up
from tests.databases import url_of
from tests.factories import TENANT, appending, prompt, started, tool_call

PDF: Final = b"%PDF-1.4 what the report says"
DIGEST: Final = sha256(PDF).hexdigest()
SHORT: Final = DIGEST[:8]
READ: Final = {"audit": VIEWS["audit"], "search": VIEWS["search"]}


def converse(store: onrecord.Store, folder: Path) -> None:
    """A report that is asked about twice, in a conversation about health; and one about parcels."""
    report = folder / "report.pdf"
    report.write_bytes(PDF)
    ill = store.conversation("ill", actor="ana")
    ill.user("What does the report say?", report)
    ill.record_request(
        {"model": "claude", "max_tokens": 9, **ill.request("anthropic-messages")},
        api="anthropic-messages",
    )
    ill.user("And what of the parcel?")
    ill.record_request(
        {"model": "claude", "max_tokens": 9, **ill.request("anthropic-messages")},
        api="anthropic-messages",
    )
    ill.annotate({"category": "parcels"})
    ill.annotate({"category": "health", "note": "urgent"})
    ill.annotate({"category": "remark"}, version=2)
    parcel = store.conversation("parcel", actor="ben")
    parcel.user("Where is the parcel?")
    parcel.annotate({"category": "parcels"})


@pytest.fixture(params=["sqlite", "memory", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[onrecord.Store]:
    for url in url_of(request.param, tmp_path):
        with closing(onrecord.connect(url)) as opened:
            converse(opened, tmp_path)
            follow(opened)
            yield opened


def follow(store: onrecord.Store) -> None:
    """Let the views of a server have all that the log has."""
    if store.url.startswith("postgres"):
        caught_up(store.url, READ)


def found(store: onrecord.Store, **filters: Any) -> list[tuple[str | None, int]]:
    return [(each.key, each.version) for each in store.views.audit(**filters)]


def test_a_document_finds_what_holds_it_and_each_request_that_was_sent_with_it(
    store: onrecord.Store,
) -> None:
    types = [(each.type, each.documents) for each in store.views.audit(document=SHORT)]
    assert types == [
        ("request.sent", (DIGEST,)),
        ("request.sent", (DIGEST,)),
        ("message.recorded", (DIGEST,)),
    ]
    for name in (DIGEST, DIGEST.upper(), f"{SHORT}-{DIGEST[8:]}"):
        assert len(store.views.audit(document=name)) == len(types)
    assert not store.views.audit(document="0" * 8)
    (held,) = store.conversation("ill").documents()
    assert held.short_id == SHORT


def test_a_text_finds_the_events_that_say_all_its_words(store: onrecord.Store) -> None:
    assert found(store, text="parcel") == [("parcel", 2), ("ill", 4)]
    assert found(store, text="parcel -where") == [("ill", 4)]
    assert found(store, text='"the parcel"', actor="ben") == [("parcel", 2)]
    assert found(store, text="report", type="message.recorded", document=SHORT) == [("ill", 2)]
    assert found(store, text="report", type="request.sent") == []
    assert all("parcel" not in repr(each) for each in store.views.audit(text="report"))


def test_several_types_are_found_together_and_page_by_their_cursor(store: onrecord.Store) -> None:
    types = ["request.sent", "annotation.added"]
    every = [(each.key, each.version) for each in store.views.audit() if each.type in types]
    first = store.views.audit(type=types, limit=2)
    rest = store.views.audit(type=types, after=first.after)
    assert [(each.key, each.version) for each in (*first, *rest)] == every
    assert found(store, type=[]) == []


def test_a_label_finds_the_conversations_that_have_it_now(store: onrecord.Store) -> None:
    everything_of_ill = {(each.key, each.version) for each in store.views.audit(conversation="ill")}
    assert set(found(store, label="category", label_value="health")) == everything_of_ill
    assert set(found(store, label="note")) == everything_of_ill
    assert {key for key, _ in found(store, label="category", label_value="parcels")} == {"parcel"}
    assert not found(store, label="category", label_value="remark")
    assert not found(store, label="category", label_value="%")
    store.conversation("ill").redact(7, reason="not so")
    follow(store)
    assert {key for key, _ in found(store, label="category", label_value="parcels")} == {
        *("ill", "parcel")
    }
    store.retention.place_hold("parcel", reason="asked to", matter="a suit", actor="eve")
    follow(store)
    held = store.views.audit(label="category", label_value="parcels", type="hold.placed")
    assert len(held) == 1


def test_filters_combine_and_page_by_their_cursor(store: onrecord.Store) -> None:
    assert found(store, text="parcel", label="category", actor="ana", limit=1) == [("ill", 4)]
    each: tuple[dict[str, Any], ...] = (
        {"text": "parcel"},
        {"document": SHORT},
        {"label": "category"},
    )
    for filters in each:
        paged: list[tuple[str | None, int]] = []
        after = None
        while True:
            page = store.views.audit(**filters, limit=1, after=after)
            paged += [(each.key, each.version) for each in page]
            if (after := page.after) is None:
                break
        assert paged == found(store, **filters)
    first = store.views.audit(text="parcel", limit=1)
    with pytest.raises(onrecord.InvalidInput, match="other filters"):
        store.views.audit(text="report", limit=1, after=first.after)


def test_what_is_forgotten_is_found_by_none_of_them(store: onrecord.Store) -> None:
    store.forget("ill", reason="asked to", actor="eve")
    follow(store)
    assert not store.views.audit(document=SHORT)
    assert not store.views.audit(label="category", label_value="health")
    assert found(store, text="parcel") == [("parcel", 2)]
    assert [each.type for each in store.views.audit(outcome="completed")] == ["erasure.completed"]
    assert store.verify(views=True).faults == ()


def test_the_rows_follow_from_the_events(store: onrecord.Store) -> None:
    store.conversation("ill").redact(2, reason="personal")
    follow(store)
    assert store.verify(views=True).faults == ()
    assert found(store, text="report") == []
    # That a request was sent with it is no content of what was redacted.
    assert {each.type for each in store.views.audit(document=SHORT)} == {"request.sent"}


@pytest.mark.parametrize(
    ("filters", "complaint"),
    [
        ({"document": "report.pdf"}, "short id"),
        ({"document": "%"}, "short id"),
        ({"text": "-parcel"}, "nothing to look for"),
        ({"outcome": "well"}, "outcome is one of completed, interrupted, done"),
        ({"label_value": "health"}, "give `label` too"),
        ({"label": 1}, "a label is a text"),
    ],
)
def test_a_filter_that_asks_for_nothing_is_refused(filters: Any, complaint: str) -> None:
    with (
        onrecord.connect("memory://") as store,
        pytest.raises(onrecord.OnrecordError, match=complaint),
    ):
        store.views.audit(**filters)


def test_a_text_is_refused_where_nobody_keeps_the_search(tmp_path: Path) -> None:
    for url in url_of("postgres", tmp_path):
        with closing(onrecord.connect(url)) as store:
            store.conversation("a").user("Where is the parcel?")
            caught_up(url, {"audit": VIEWS["audit"]})
            assert len(store.views.audit(type="message.recorded")) == 1
            with pytest.raises(onrecord.InvalidInput, match="by the view `search`"):
                store.views.audit(text="parcel")


def test_hits_beyond_a_page_are_looked_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onrecord.adapters.views.audit_filters.MOST_ENTRIES", 2)
    with onrecord.connect("memory://") as store:
        for number in range(5):
            actor = "ana" if number in (0, 3) else "ben"
            store.conversation("a", actor=actor).user(f"parcel {number}")
        assert found(store, text="parcel", actor="ana") == [("a", 5), ("a", 2)]
        page = store.views.audit(text="parcel", actor="ana", limit=1)
        assert page.after is not None
        assert found(store, text="parcel", actor="ana", limit=1, after=page.after) == [("a", 2)]


def failed() -> Native:
    value: Any = {"functionResponse": {"name": "look_up", "response": {"error": "no"}}}
    return Native(api="gemini", value=value)


def test_each_outcome_is_a_word_of_its_own(rows: RowStore) -> None:
    log, conversation, request = Memory(), uuid4(), uuid4()
    of_call: Any = {"call_id": "c1", "call": 3, "at": 0}
    given = ToolResult(call_id="c1", content=(Text(text="x"),))
    closed: Any = {"response": request, "api": "a"}
    server: Any = {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}
    told = (
        ResponseCompleted(**closed, envelope={}),
        ResponseInterrupted(response=uuid4(), api="a", reason="cut"),
        AttemptFailed(request=request, status=500),
        ToolResultRecorded(call_id="c1", content=given),
        ToolResultRecorded(call_id="c2", content=given, is_error=True),
        ToolResultRecorded(call_id="c3", content=failed()),
        ToolResultRecorded(call_id="c4", content=given, cancelled=True),
        ToolResultRejected(call_id="c1", content=given, reason="duplicate"),
        ApprovalDecided(**of_call, number=0, decision="granted"),
        ApprovalDecided(**of_call, number=1, decision="denied"),
        ServerToolResultRecorded(
            response=request,
            index=0,
            call_id="s",
            content=Native(api="anthropic-messages", value=server),
        ),
    )
    log.append([appending(conversation, started(), prompt(), tool_call("c1"), *told)])
    assert rows.step(AUDIT, everything(log)) == []
    outcomes = [row["outcome"] for row in reversed(rows.page(AUDIT, TENANT))]
    assert outcomes == [
        *(None, None, None, "completed", "interrupted", "failed", "done", "failed", "failed"),
        *("cancelled", "rejected", "granted", "denied", "done"),
    ]
    assert {*outcomes, "refused"} - {None} == set(OUTCOMES)
    assert [row["version"] for row in rows.page(AUDIT, TENANT, outcome="failed")] == [9, 8, 6]
    log.append([appending(conversation, ContentRedacted(version=13))])
    assert rows.step(AUDIT, everything(log)[14:]) == []
    assert not rows.page(AUDIT, TENANT, outcome="denied")


def test_one_step_and_a_step_an_event_give_the_same_documents(
    rows: RowStore, tmp_path: Path
) -> None:
    with onrecord.connect("memory://") as store:
        converse(store, tmp_path)
        store.conversation("ill").redact(2, reason="personal")
        events = everything(backend_of(store))
        tenant: UUID = store.tenant
    for event in events:
        assert rows.step(AUDIT, [event]) == []
    one_by_one = rows.page(AUDIT, tenant)
    assert rows.step(AUDIT, events, generation=2) == []
    assert rows.page(AUDIT, tenant, generation=2) == one_by_one
    assert sum(bool(row["documents"]) for row in one_by_one) == 2
