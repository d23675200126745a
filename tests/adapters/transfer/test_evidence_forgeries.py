"""What an attacker who may write any bundle, and who signs nothing, does not get past the verifier."""

import io
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest

import onrecord
from onrecord.adapters.seals.signing import new_key, signed
from onrecord.adapters.storage.eventsourcing.operators import Operators
from onrecord.adapters.store import backend_of
from onrecord.adapters.transfer.evidence import Scope
from onrecord.domain.errors import InvalidInput
from onrecord.domain.marks.marked_ids import erasure_id
from onrecord.domain.seals.notes import parse_note
from onrecord_verify import LONGEST_LINE, NotProved, findings, verified
from tests.adapters.transfer.bundles import (
    KEY,
    Line,
    Sealed,
    changed,
    check,
    closed,
    lines_of,
    sealed_store,
    talk,
)
from tests.factories import TENANT

OTHER = UUID("bbbbbbbb-0000-7000-8000-000000000002")


@pytest.fixture
def told(tmp_path: Path) -> Iterator[Sealed]:
    with onrecord.connect("memory://") as store:
        sealed = sealed_store(backend_of(store), tmp_path)
        talk(sealed)
        yield sealed


def emptied(told: Sealed, data: bytes) -> bytes:
    """The bundle with all that was said taken out."""

    def without(line: Line) -> Line:
        if "conversation" in line:
            return {**line, "key": None}
        if "proof" in line and str(told.id_of()) in line["header"]:
            return {**line, "salt": None, "body": None}
        return line

    return closed([without(each) for each in lines_of(data) if "blob" not in each])


def intended(told: Sealed, tenant: object = TENANT) -> Operators:
    operators = Operators(told.backend, OTHER if tenant == OTHER else TENANT)
    operators.intend(told.id_of(), "mallory", "none")
    return operators


def refused(data: bytes, told: Sealed, why: str) -> None:
    with pytest.raises(NotProved, match=why):
        check(data, told.vkey)


def test_an_erasure_that_is_not_finished_hides_nothing(told: Sealed) -> None:
    intended(told)
    told.seal()
    data = told.evidence()
    assert "Erasure of" in findings(check(data, told.vkey))
    refused(emptied(told, data), told, "no completed erasure says why")


def test_an_erasure_that_was_refused_holds_and_hides_nothing(told: Sealed) -> None:
    operators = intended(told)
    operators.refuse(erasure_id(TENANT, told.id_of(), 0), OTHER, "mallory")
    told.seal()
    data = told.evidence()
    assert "refused, since a hold was on it" in findings(check(data, told.vkey))
    refused(emptied(told, data), told, "no completed erasure says why")
    lines = [line for line in lines_of(data) if "erasure.refused" not in line.get("header", "")]
    refused(emptied(told, closed(lines)), told, "no completed erasure says why")


def test_an_erasure_of_another_tenant_hides_nothing(
    told: Sealed, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = erasure_id(OTHER, told.id_of(), 0)
    intended(told, OTHER).complete(stream, 5, (), "mallory")
    told.seal()

    def of_the_other(tenant: UUID, of: UUID, number: int) -> UUID:
        return stream if number == 0 else erasure_id(tenant, of, 9)

    monkeypatch.setattr("onrecord.adapters.transfer.evidence.erasure_id", of_the_other)
    refused(emptied(told, told.evidence()), told, "another tenant")


@pytest.mark.parametrize("events", [4, 5])
def test_what_came_after_an_erasure_or_is_more_than_it_says_was_not_erased(
    told: Sealed, events: int
) -> None:
    intended(told).complete(erasure_id(TENANT, told.id_of(), 0), events, (), "mallory")
    told.seal()
    if events == 5:
        scope = Scope(TENANT, told.id_of())
        told.backend.forget(told.id_of())
        check(told.evidence(scope), told.vkey)
        return
    refused(emptied(told, told.evidence()), told, "no completed erasure says why")


def test_a_file_without_a_checkpoint_or_an_event_proves_nothing(told: Sealed) -> None:
    lines = lines_of(told.evidence(Scope(TENANT)))
    refused(closed([lines[0], lines[-1]]), told, "shows no event")
    begun = [line for line in lines if {"onrecord", "public_key", "checkpoint"} & {*line}]
    refused(closed(begun), told, "shows no event")


@pytest.mark.parametrize(
    "scope",
    [
        {"tenant since until": "\x1b[31mA"},
        {"tenant": "acme\x1b[2J", "since": None, "until": None},
        {"tenant": str(TENANT), "since": True, "until": None},
        {"conversation": "\x1b[2J"},
    ],
)
def test_a_scope_of_other_members_or_types_is_refused(told: Sealed, scope: Line) -> None:
    data = changed(told.evidence(), lambda line: "scope" in line, lambda _: {"scope": scope})
    refused(data, told, "of no known kind")


def test_nothing_in_the_report_moves_a_terminal(told: Sealed) -> None:
    chat = told.store.conversation("k\x1b[2J\u202ey")
    chat.user("Hello.")
    told.store.forget(told.id_of(), reason="r\x1b]0;x\x07\nThe file is whole", actor="e\x1bve")
    told.seal()
    for scope in (Scope(TENANT, chat.conversation_id), Scope(TENANT)):
        report = findings(check(told.evidence(scope), told.vkey))
        assert all(each.isprintable() or each == "\n" for each in report)
    assert "e\\x1bve" in report
    assert "\nThe file is whole" not in report


def test_a_key_of_another_log_signs_nothing_here(told: Sealed) -> None:
    other = new_key("onrecord.log/00000000-0000-8000-8000-000000000000")

    def forged(line: Line) -> Line:
        return {
            "checkpoint": signed(parse_note(line["checkpoint"].encode()).text, other)
            .encode()
            .decode()
        }

    lines = [
        {**line, **forged(line)} if "checkpoint" in line else line
        for line in lines_of(told.evidence())
    ]
    with pytest.raises(NotProved, match="signed by no key of this log"):
        check(closed(lines), told.vkey, str(other.public))


def test_nothing_left_out_is_no_way_around_the_period(told: Sealed) -> None:
    events = list(told.backend.read(told.id_of()))
    lines = lines_of(told.evidence())
    period = {"tenant": str(TENANT), "since": None, "until": events[-1].recorded_at}
    first = {**lines[0], "scope": period, "partial": True}
    for count, why in ((0, "nothing may be left out"), (1, "is not of the period")):
        forged = [first, *lines[1:-1], {"unsealed": count}, lines[-1]]
        refused(closed(forged), told, why)


def test_the_report_says_what_was_left_out(told: Sealed) -> None:
    told.store.conversation(KEY).user("One more.")
    report = findings(check(told.evidence(partial=True), told.vkey))
    assert "no checkpoint covers them: 1." in report


def test_a_line_is_read_as_json_only_once_its_shape_is_known(
    told: Sealed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("onrecord_verify.json.loads", pytest.fail)
    refused(
        b'{"a":[' + b"[]," * 1_000_000 + b"[]]}\n", told, "line 1: the line is of no known kind"
    )


def test_no_more_of_a_line_is_read_than_a_line_may_have(told: Sealed) -> None:
    asked: list[int | None] = []

    class Endless(io.BytesIO):
        def readline(self, size: int | None = -1, /) -> bytes:
            asked.append(size)
            return b"a"

    with pytest.raises(NotProved, match="of no known kind"):
        verified(Endless(), (told.vkey,))
    assert asked == [LONGEST_LINE]


def test_evidence_of_nothing_is_not_written(told: Sealed) -> None:
    with pytest.raises(InvalidInput, match="nothing to prove"):
        told.evidence(Scope(TENANT, None, 0, 1), partial=True)
    new = told.store.conversation("new")
    new.user("Not sealed.")
    with pytest.raises(InvalidInput, match="nothing to prove"):
        told.evidence(Scope(TENANT, new.conversation_id), partial=True)
