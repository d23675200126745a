"""What an entry of the audit is about, in words: what operators did, and what a redaction says."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest

from onrecord.adapters.presentation.audit_entries import audit_cells, facts_document
from onrecord.adapters.presentation.redaction_entries import Redaction, RedactionEntry
from onrecord.projections.views.audit import AuditEntry, ErasureDeed, HoldDeed, RetentionDeed

CONVERSATION, FORK = UUID(int=1), UUID(int=2)
ENTRY = RedactionEntry(
    conversation_id=UUID(int=9),
    version=4,
    position=4,
    recorded_at=1,
    occurred_at=1,
    actor="0123456789abcdef",
    type="some.type",
    api=None,
    model=None,
    tool=None,
    on_behalf_of=None,
    policy=None,
    deployment=None,
    sha256=None,
    outcome=None,
    documents=(),
)


def redaction(version: int, reason: str | None) -> AuditEntry:
    return replace(ENTRY, type="content.redacted", redaction=Redaction(version, reason))


def erasure(erasure: ErasureDeed) -> AuditEntry:
    return replace(ENTRY, erasure=erasure)


def hold(matter: str | None) -> AuditEntry:
    return replace(ENTRY, hold=HoldDeed("ana", "claim", matter=matter))


def retention(retention: RetentionDeed) -> AuditEntry:
    return replace(ENTRY, retention=retention)


@pytest.mark.parametrize(
    ("entry", "about"),
    [
        (ENTRY, None),
        (redaction(17, "a card number"), "version 17: a card number"),
        (redaction(17, None), "version 17"),
        (replace(ENTRY, type="content.redacted"), None),
        (erasure(ErasureDeed(CONVERSATION, "ana", "asked to")), "ana: asked to"),
        (
            erasure(ErasureDeed(CONVERSATION, "ana", "asked to", named="0123456789ab")),
            "ana (the name of 01234567): asked to",
        ),
        (
            erasure(ErasureDeed(CONVERSATION, "ana", "asked to", subject="fedcba9876", rule="17")),
            "ana (the subject fedcba98, 17): asked to",
        ),
        (erasure(ErasureDeed(CONVERSATION, events=1, forks=())), "1 event erased"),
        (
            erasure(ErasureDeed(CONVERSATION, events=3, forks=(FORK,))),
            f"3 events erased; forks that stay: {FORK}",
        ),
        (
            erasure(ErasureDeed(CONVERSATION, events=3)),
            "3 events erased; whether forks stay cannot be told",
        ),
        (
            erasure(ErasureDeed(CONVERSATION, hold=FORK)),
            f"refused: the legal hold {FORK} keeps it",
        ),
        (hold("Smith"), "ana for 'Smith': claim"),
        (hold(None), "ana: claim"),
        (retention(RetentionDeed("ana", 30, "policy 4")), "ana: 30 days, policy 4"),
        (
            retention(RetentionDeed("ana", 30, "policy 4", label="category", value="health")),
            "ana: 30 days for the label category=health, policy 4",
        ),
        (
            retention(RetentionDeed("ana", reason="a mistake", label="category")),
            "ana: taken back for the label category, a mistake",
        ),
    ],
)
def test_an_entry_says_what_it_is_about(entry: AuditEntry, about: str | None) -> None:
    assert audit_cells(entry, "support/1").about == about


def test_what_operators_did_is_listed_with_what_they_did_it_to() -> None:
    assert audit_cells(ENTRY, "support/1").conversation == "support/1"
    erased = audit_cells(erasure(ErasureDeed(CONVERSATION)), "operators")
    assert erased.conversation == str(CONVERSATION)
    assert audit_cells(hold(None), "operators").conversation == "all"


def test_a_forgotten_actor_is_the_first_digits_of_its_digest() -> None:
    assert audit_cells(ENTRY, "support/1").actor == "01234567"
    assert audit_cells(replace(ENTRY, actor_name="ana"), "support/1").actor == "ana"


def test_the_facts_of_an_entry_are_json() -> None:
    nothing = {"erasure": None, "hold": None, "retention": None, "redaction": None}
    assert facts_document(ENTRY) == nothing
    said = {"version": 17, "reason": "a card number"}
    assert facts_document(redaction(17, "a card number")) == nothing | {"redaction": said}
    erased = facts_document(erasure(ErasureDeed(CONVERSATION, events=3, forks=(FORK,))))["erasure"]
    assert (erased["conversation_id"], erased["forks"]) == (str(CONVERSATION), [str(FORK)])
