"""A certificate of erasure says what was done, and in plain words what it does not reach."""

from __future__ import annotations

from uuid import UUID

from onrecord.adapters.subjects.certificate import certificate
from onrecord.adapters.terminal.certificates import certificate_lines
from onrecord.domain.marks.marked_ids import erasure_id
from onrecord.domain.operators import ErasureCompleted, ErasureIntended
from onrecord.projections.history.erasure_records import ErasureEntry
from tests.factories import TENANT

AT = 1_795_000_000_000_000
DAY = 86_400_000_000
SUBJECT = UUID(int=9)


def entry(**outcome: object) -> ErasureEntry:
    intended = ErasureIntended(
        tenant=TENANT,
        conversation_id=SUBJECT,
        actor="ana",
        reason="asked to",
        subject="ab" * 16,
        key="k" * 32,
        rule="GDPR 17(1)(a)",
        at=AT,
    )
    done = ErasureCompleted(tenant=TENANT, conversation_id=SUBJECT, events=12, at=AT + DAY)
    of = erasure_id(TENANT, SUBJECT, 0)
    return ErasureEntry(of, intended, done.model_copy(update=outcome))


def test_it_tells_until_when_a_kms_can_undo_it() -> None:
    made = certificate(
        entry(conversations=2, retired=("arn:1",), undoable_until=AT + 7 * DAY), ["free space"], []
    )
    assert made is not None
    assert made.document()["undoable_until"] == "2026-11-25T11:06:40.000000Z"
    text = "\n".join(certificate_lines(made))
    assert "arn:1 retired; a KMS can undo it until 2026-11-25 11:06:40Z" in text
    assert "12 events of 2 conversations" in text
    assert "GDPR 17(1)(a)" in text
    assert "free space" in text
    for bound in ("key store", "write-ahead log", "60 seconds", "providers", "exported"):
        assert bound in text


def test_what_is_unfinished_or_of_a_conversation_has_none() -> None:
    whole = entry()
    assert certificate(ErasureEntry(whole.erasure_id, whole.intention), [], []) is None
    plain = whole.intention.model_copy(update={"subject": None, "key": None})
    assert certificate(ErasureEntry(whole.erasure_id, plain, whole.outcome), [], []) is None
