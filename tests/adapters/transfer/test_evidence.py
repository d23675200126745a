"""An evidence bundle proves what it shows, and nothing else is taken for it."""

import re
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import onrecord
from onrecord.adapters.seals.signing import new_key, signed
from onrecord.adapters.store import backend_of
from onrecord.adapters.transfer.evidence import Scope
from onrecord.domain.errors import CorruptRecord, InvalidInput
from onrecord.domain.seals.checkpoint import parse_checkpoint
from onrecord.domain.seals.notes import parse_note
from onrecord_verify import NotProved, findings
from tests.adapters.transfer.bundles import (
    BODY,
    DOCUMENT,
    KEY,
    Line,
    Sealed,
    changed,
    check,
    closed,
    flipped,
    flipped_under_a_new_end,
    lines_of,
    rehashed,
    sealed_store,
    talk,
)
from tests.factories import TENANT

FLIPS = 10_000
"""On both stores together."""


@pytest.fixture(params=["memory", "sqlite"])
def sealed(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Sealed]:
    url = "memory://" if request.param == "memory" else f"sqlite:///{tmp_path / 'log.db'}"
    with onrecord.connect(url) as store:
        yield sealed_store(backend_of(store), tmp_path)


@pytest.fixture
def told(sealed: Sealed) -> Sealed:
    talk(sealed)
    return sealed


def is_event(line: Line, **members: Any) -> bool:
    return "proof" in line and all(line[name] == value for name, value in members.items())


def refused(data: bytes, told: Sealed, why: str) -> None:
    with pytest.raises(NotProved, match=why):
        check(data, told.vkey)


def test_a_bundle_of_a_conversation_holds(told: Sealed) -> None:
    data = told.evidence()
    bundle = check(data, told.vkey)
    assert bundle.counts["conversations"] == 1
    assert bundle.counts["events"] == told.store.get(KEY).head().version == 5
    assert (bundle.counts["documents"], bundle.counts["requests"]) == (2, 1)
    assert bundle.counts["unshown"] == 0
    assert [line["consistency"] == [] for line in lines_of(data) if "checkpoint" in line] == [
        True,
        False,
    ]


def test_a_bundle_shows_a_request_as_it_was_sent(told: Sealed) -> None:
    sent = [b64decode(line["data"]) for line in lines_of(told.evidence()) if "blob" in line]
    assert sent == [DOCUMENT, BODY]


def test_a_bundle_of_a_tenant_shows_who_erased_and_why(told: Sealed) -> None:
    data = told.evidence(Scope(TENANT))
    bundle = check(data, told.vkey)
    assert bundle.counts["conversations"] == 3
    assert (bundle.counts["erased"], len(bundle.operators)) == (2, 1)
    assert b'\\"actor\\":\\"eve\\",\\"reason\\":\\"asked for\\"' in data
    assert b"Forget me." not in data


def test_a_period_is_told_from_the_beginning_of_what_moved_in_it(told: Sealed) -> None:
    events = list(told.backend.read(told.id_of()))
    since, until = events[2].recorded_at, events[3].recorded_at
    bundle = check(told.evidence(Scope(TENANT, None, since, until)), told.vkey)
    expected = [event for event in events if event.recorded_at < until]
    assert bundle.counts["events"] >= len(expected) > 0
    with pytest.raises(InvalidInput, match="nothing to prove"):
        told.evidence(Scope(TENANT, None, 0, 1))


def test_what_is_not_sealed_is_refused_or_left_out_by_name(told: Sealed) -> None:
    told.store.conversation(KEY).user("One more.")
    with pytest.raises(InvalidInput, match=r"version 6 of .* is not sealed yet"):
        told.evidence()
    data = told.evidence(partial=True)
    assert check(data, told.vkey).counts["unsealed"] == 1
    assert b"One more." not in data
    told.seal()
    assert check(told.evidence(), told.vkey).counts["events"] == 6


def test_what_was_erased_without_a_sealed_erasure_is_refused(told: Sealed) -> None:
    gone = told.id_of()
    told.backend.forget(gone)
    with pytest.raises(CorruptRecord, match="no completed erasure that is sealed says why"):
        told.evidence(Scope(TENANT, gone), partial=True)


def test_an_event_that_was_changed_after_it_was_sealed_has_no_proof(told: Sealed) -> None:
    (event,) = told.backend.read(told.id_of(), limit=1)
    forged = event._replace(recorded_at=event.recorded_at + 1)
    with pytest.raises(CorruptRecord, match="its leaf is not that"):
        told.proofs().of(forged.shard).inclusion(forged)
    other = told.backend.inventory().log(event.shard, event.position, 1)[0].event
    moved = other._replace(leaf=event.leaf, position=event.position)
    with pytest.raises(CorruptRecord):
        told.proofs().of(moved.shard).inclusion(moved)


def test_without_a_key_a_bundle_proves_nothing(told: Sealed) -> None:
    with pytest.raises(NotProved, match="signed by no key of this log that was given"):
        check(told.evidence())


def test_no_bit_can_be_changed_unnoticed(told: Sealed) -> None:
    flipped(told.evidence(Scope(TENANT)), told.vkey, FLIPS // 2)


def test_no_bit_of_an_event_can_be_changed_under_a_new_end(told: Sealed) -> None:
    flipped_under_a_new_end(told.evidence(), told.vkey, 500)


def test_no_part_of_a_bundle_stands_for_the_whole(told: Sealed) -> None:
    data = told.evidence()
    for end in range(0, len(data), 97):
        refused(data[:end], told, "line [0-9]+: ")
    refused(data + b"\n", told, "something follows")


# Forgeries: whoever makes one computes the end of the file anew, too.


def test_a_body_with_a_new_digest_and_leaf_is_noticed(told: Sealed) -> None:
    def forged(line: Line) -> Line:
        return rehashed(line, body=line["body"].replace("Be kind.", "Be rude."))

    data = changed(told.evidence(), lambda line: is_event(line, version=2), forged)
    refused(data, told, "line 7: the proof does not lead to the signed root")


def test_a_body_under_its_old_digest_is_noticed(told: Sealed) -> None:
    data = changed(
        told.evidence(), lambda line: is_event(line, version=2), lambda line: {"body": "{}"}
    )
    refused(data, told, "the digest is not that of salt and body")


def test_another_time_or_position_is_noticed(told: Sealed) -> None:
    for name in ("recorded_at", "position"):

        def forged(line: Line, name: str = name) -> Line:
            return rehashed(line, **{name: line[name] + 1})

        data = changed(told.evidence(), lambda line: is_event(line, version=2), forged)
        refused(data, told, "the proof does not lead")


@pytest.mark.parametrize("version", [1, 2, 4])
def test_an_event_that_is_left_out_is_noticed(told: Sealed, version: int) -> None:
    lines = [line for line in lines_of(told.evidence()) if not is_event(line, version=version)]
    refused(
        closed(lines), told, "a version is left out|the key is another|a document is of no event"
    )


def test_two_events_that_are_swapped_are_noticed(told: Sealed) -> None:
    lines = lines_of(told.evidence())
    (at,) = (at for at, line in enumerate(lines) if is_event(line, version=1))
    lines[at], lines[at + 1] = lines[at + 1], lines[at]
    refused(closed(lines), told, "a version is left out, or out of order")


def test_versions_that_are_counted_anew_are_noticed(told: Sealed) -> None:
    lines = [line for line in lines_of(told.evidence()) if not is_event(line, version=2)]
    data = changed(
        closed(lines),
        lambda line: is_event(line, version=3),
        lambda line: rehashed(line, version=2),
    )
    refused(data, told, "the proof does not lead")


def test_the_proof_of_another_event_or_tree_is_noticed(told: Sealed) -> None:
    data = told.evidence()
    proofs = [line["proof"] for line in lines_of(data) if "proof" in line]
    refused(
        changed(data, lambda line: is_event(line, version=1), lambda line: {"proof": proofs[-1]}),
        told,
        "the proof does not lead|malformed",
    )
    cut = changed(
        data, lambda line: is_event(line, version=1), lambda line: {"proof": proofs[0][1:]}
    )
    refused(cut, told, "malformed")


def test_a_checkpoint_of_another_key_is_noticed(told: Sealed) -> None:
    other = new_key(told.key.public.name)

    def forged(line: Line) -> Line:
        text = parse_note(line["checkpoint"].encode()).text
        return {"checkpoint": signed(text, other).encode().decode()}

    data = changed(told.evidence(), lambda line: "checkpoint" in line, forged)
    refused(data, told, "signed by no key of this log that was given")


def test_a_checkpoint_that_says_something_else_is_noticed(told: Sealed) -> None:
    def forged(line: Line) -> Line:
        return {"checkpoint": line["checkpoint"].replace("\nsealed 2", "\nsealed 1")}

    data = changed(told.evidence(), lambda line: "checkpoint" in line, forged)
    refused(data, told, "the signature is not of this checkpoint")


def test_two_signed_checkpoints_that_do_not_go_on_from_each_other_are_noticed(
    told: Sealed,
) -> None:
    """Whoever has the private key cannot show two trees in one file."""

    def forged(line: Line) -> Line:
        checkpoint = parse_checkpoint(parse_note(line["checkpoint"].encode()).text)
        other = checkpoint._replace(hash=bytes(32)).text()
        return {"checkpoint": signed(other, told.key).encode().decode()}

    data = changed(told.evidence(), lambda line: "checkpoint" in line, forged)
    refused(data, told, "the checkpoint does not go on from the one before")


def test_a_checkpoint_of_another_log_is_noticed(told: Sealed) -> None:
    def forged(line: Line) -> Line:
        return {"log": "00000000-0000-8000-8000-000000000000"}

    data = changed(told.evidence(), lambda line: "log" in line, forged)
    refused(data, told, "signed by no key of this log")


def test_other_bytes_of_a_request_or_a_document_are_noticed(told: Sealed) -> None:
    for size in (len(DOCUMENT), len(BODY)):
        data = changed(
            told.evidence(),
            lambda line, size=size: line.get("size") == size,  # type: ignore[misc]
            lambda line: {"data": line["data"].replace("a", "b", 1)},
        )
        refused(data, told, "the bytes are not those of the digest")


def test_a_request_that_is_left_out_is_told_and_is_no_success(told: Sealed) -> None:
    lines = [line for line in lines_of(told.evidence()) if line.get("size") != len(BODY)]
    bundle = check(closed(lines), told.vkey)
    assert (bundle.counts["requests"], bundle.counts["unexplained"]) == (0, 1)
    assert "The file does not hold. Requests that were sent and are not shown: 1;" in findings(
        bundle
    )


def test_a_document_that_is_left_out_is_told(told: Sealed) -> None:
    lines = [line for line in lines_of(told.evidence()) if line.get("size") != len(DOCUMENT)]
    assert check(closed(lines), told.vkey).counts["unshown"] == 2


def test_a_document_of_no_event_is_noticed(told: Sealed) -> None:
    lines = lines_of(told.evidence())
    (at,) = (at for at, line in enumerate(lines) if line.get("size") == len(DOCUMENT))
    lines.insert(at - 1, lines.pop(at))
    refused(closed(lines), told, "a document is of no event")


def test_an_event_of_another_conversation_is_noticed(told: Sealed) -> None:
    data, other = told.evidence(), told.evidence(Scope(TENANT, told.id_of("other")))
    (begun, *_) = (line for line in lines_of(other) if is_event(line, version=1))
    forged = changed(data, lambda line: is_event(line, version=1), lambda line: begun)
    refused(forged, told, "it is an event of another conversation")


def test_a_whole_conversation_of_another_is_noticed(told: Sealed) -> None:
    data = changed(
        told.evidence(),
        lambda line: "scope" in line,
        lambda line: {"scope": {"conversation": str(told.id_of("other"))}},
    )
    refused(data, told, "the file is about another one")


def test_another_key_of_the_conversation_is_noticed(told: Sealed) -> None:
    data = changed(
        told.evidence(), lambda line: line.get("key") == KEY, lambda line: {"key": "support/4712"}
    )
    refused(data, told, "the key is another")


def test_content_that_was_taken_out_is_not_taken_for_erased(told: Sealed) -> None:
    data = changed(
        told.evidence(),
        lambda line: is_event(line, version=2),
        lambda line: {"body": None, "salt": None},
    )
    refused(data, told, "it has no content, and no completed erasure says why")


def test_an_erasure_that_is_left_out_is_noticed(told: Sealed) -> None:
    lines = lines_of(told.evidence(_gone(told)))
    (at,) = (at for at, line in enumerate(lines) if "erasure" in line)
    refused(closed(lines[:at] + lines[at + 3 :]), told, "no completed erasure says why")


def test_the_erasure_of_another_conversation_does_not_count(told: Sealed) -> None:
    data = told.evidence(_gone(told))
    other = str(told.id_of("other"))
    forged = changed(data, lambda line: "erasure" in line, lambda line: {"of": other})
    refused(forged, told, "another conversation was erased|no erasure of this")


def test_nothing_may_be_left_out_of_a_bundle_that_is_not_partial(told: Sealed) -> None:
    lines = lines_of(told.evidence())
    lines = [line for line in lines if not is_event(line, version=5)]
    lines.insert(-1, {"unsealed": 1})
    refused(closed(lines), told, "nothing may be left out here")


def test_a_line_with_more_members_than_are_checked_is_refused(told: Sealed) -> None:
    data = changed(
        told.evidence(), lambda line: is_event(line, version=2), lambda line: {"remark": "all well"}
    )
    refused(data, told, "the line is of no known kind")


def test_nothing_that_was_said_is_in_what_the_verifier_says(told: Sealed) -> None:
    data = told.evidence()
    for at in range(len(data.splitlines())):
        lines = data.splitlines(keepends=True)
        lines[at] = lines[at].replace(b":", b";", 1)
        with pytest.raises(NotProved) as error:
            check(b"".join(lines), told.vkey)
        assert "Where is it?" not in str(error.value)


def _gone(told: Sealed) -> Scope:
    """The conversation that was forgotten: only its id leads to it."""
    (entry,) = told.store.erasures()
    return Scope(TENANT, entry.conversation_id)


def test_the_report_says_what_is_there_and_last_that_the_file_holds(told: Sealed) -> None:
    *lines, verdict = findings(check(told.evidence(), told.vkey)).splitlines()
    assert verdict == "The file holds."
    assert not any(re.search(r": (?:0|none)\b", line) for line in lines)
    assert not any(
        line.startswith(("Events that are", "Operators", "Requests that")) for line in lines
    )
    assert "Requests as they were sent, with secrets cut: 1." in lines
