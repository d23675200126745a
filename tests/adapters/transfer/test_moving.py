"""A log in clear that is moved into an encrypted one: whole, resumed, bound, and checked with both."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

import pytest

import onrecord
from onrecord import Store
from onrecord.adapters.encryption.encrypted_log import EncryptedLog
from onrecord.adapters.store import backend_of
from onrecord.adapters.transfer import moves
from onrecord.adapters.transfer.moved_conversations import FORGOTTEN, ORIGIN_LEFT
from onrecord.domain.encryption.bodies import is_clear, key_name_in
from onrecord.domain.errors import CorruptRecord, InvalidInput
from onrecord.domain.log import Append, Verdict
from onrecord.domain.new_events import blobs_of
from onrecord.domain.seals.checkpoint import log_id_of
from tests.adapters.recorded_calls import known
from tests.adapters.transfer.moving_logs import (
    Logs,
    OpenedLogs,
    changed,
    conversations,
    logs,
)
from tests.tampering import forging, history
from tests.tampering.rows import Row

__all__ = ["logs"]


def told(store: Store, key: str) -> list[tuple[object, ...]]:
    """What each event of a conversation is and says, save when the log got it and who acted."""
    headers = [(event, event.client_header()) for event in store.get(key).events()]
    return [
        (
            event.version,
            event.event_id,
            header.occurred_at,
            header.policy,
            event.exchange,
            event.event(),
        )
        for event, header in headers
    ]


def test_a_log_is_moved_whole_and_bound_and_again_changes_nothing(logs: Logs) -> None:
    with logs.opened() as both:
        history.record(both.source)
        both.source.retention.place_hold(
            "support/4711", matter="Smith", reason="claim", actor="ana"
        )
        both.source.retention.set_class("six-years", rule="AI Act 19", label="depot", actor="ana")
        planned = moves.plan(both.old, both.new)
        first = both.move()
        assert [(of.tenant, of.events) for of in planned] == [
            (of.tenant, of.events) for of in first
        ]
        assert sum(of.recorded for of in first) == sum(of.events for of in planned)
        again = both.move()
        assert [of.recorded for of in again] == [0] * len(first)
        assert [of.is_new for of in first + again] == [True] * len(first) + [False] * len(first)
        assert [of.bound for of in again] == [of.bound for of in first]
        assert {fact.tenant: fact for fact in both.check()} == {of.tenant: of.bound for of in first}
        for key in ("support/4711", "support/4711/again", "support/4712"):
            assert told(both.store, key) == told(both.source, key)
            old, new = both.source.get(key), both.store.get(key)
            assert [each.text for each in old.history()] == [each.text for each in new.history()]
        (first_event, *_) = both.store.get("support/4712").events()
        assert first_event.client_header().actor == both.new.digest("ana").hex()
        documents = blobs_of(known(both.store.get("support/4711").events(after=3)[0]))
        id_ = both.source.get("support/4711").conversation_id
        for log in (both.old, both.new):
            sizes = [len(b"".join(log.get_blob(id_, blob))) for blob in documents]
            assert sizes == [16, history.MIB + 4]
        left = next(of.left_out for of in first if of.left_out)
        assert list(left.values()) == [FORGOTTEN] * 2
        assert [hold.placed.matter for hold in both.store.retention.holds()] == ["Smith"]
        assert [entry.fact.label for entry in both.store.retention.classes()] == ["depot"]
        (about,) = both.store.subjects.conversations("customer-812")
        assert about.conversation_id == both.source.get("support/4712").conversation_id
        assert not any(is_clear(event.header) for event in conversations(both.new.stored))
        assert both.store.verify().is_whole
        _must_be_recomputed(both)


def _must_be_recomputed(both: OpenedLogs) -> None:
    """The tree over both leaves of each event of a tenant, as docs/format.md has it, by hand."""
    new = {(e.conversation_id, e.version): e.leaf for e in conversations(both.new.stored)}
    for fact in both.check():
        pairs = [
            hashlib.sha256(
                b"\x00" + event.leaf + new[event.conversation_id, event.version]
            ).digest()
            for event in conversations(both.old)
            if event.shard == fact.shard
            and event.client_header().tenant == fact.tenant
            and (event.conversation_id, event.version) in new
        ]
        assert (len(pairs), _root(pairs).hex()) == (fact.events, fact.pairs)
        assert fact.origin == log_id_of(both.old.digest)


def _root(leaves: Sequence[bytes]) -> bytes:
    if len(leaves) == 1:
        return leaves[0]
    split = 1 << (len(leaves) - 1).bit_length() - 1
    return hashlib.sha256(b"\x01" + _root(leaves[:split]) + _root(leaves[split:])).digest()


class _PowerCut(Exception):
    pass


def test_a_move_that_dies_before_and_behind_each_append_goes_on(
    logs: Logs, monkeypatch: pytest.MonkeyPatch
) -> None:
    with logs.opened() as both:
        forging.record(both.source)
        stored: Any = both.new.stored
        append: Callable[[Sequence[Append]], list[Verdict]] = stored.append
        left = [0]

        def cut(appends: Sequence[Append]) -> list[Verdict]:
            left[0] -= 1
            if left[0] == 0:
                raise _PowerCut
            verdicts = append(appends)
            left[0] -= 1
            if left[0] == 0:
                raise _PowerCut
            return verdicts

        monkeypatch.setattr(stored, "append", cut)
        deaths = 0
        while True:
            left[0] = deaths + 1
            try:
                moved = both.move()
            except _PowerCut:
                deaths += 1
                assert deaths < 50
            else:
                break
        monkeypatch.undo()
        assert deaths >= 4
        assert [of.events for of in moved] == [8]
        assert len(conversations(stored)) == 8
        forging.go_on(both.source)
        assert [(of.events, of.recorded, of.is_new) for of in both.move()] == [(10, 2, True)]
        assert [fact.events for fact in both.check()] == [8, 10]


@pytest.mark.parametrize("attacked", ["old", "new"])
def test_the_check_names_an_event_that_was_changed_in_either_log(logs: Logs, attacked: str) -> None:
    with logs.opened() as both:
        forging.record(both.source)
        both.move()
        id_ = both.source.get(forging.FIRST).conversation_id
    with logs.opened() as both:
        cipher = both.new.cipher(key_name_of(both.new, id_))
    assert cipher is not None

    def reworded(row: Row) -> Row:
        if attacked == "old":
            return {**row, "body": row["body"].replace(b"NW-20931", b"NW-20999")}
        text = cipher.decrypted(row["header"], row["body"]).replace(b"NW-20931", b"NW-20999")
        return {**row, "body": cipher.encrypted(row["header"], text)}

    changed(logs.rows(getattr(logs, attacked)), id_, reworded)
    with logs.opened() as both:
        named = (
            f"version 2 of the conversation {id_} .position 2 of shard .*its body says something"
        )
        with pytest.raises(CorruptRecord, match=named):
            both.check()
        with pytest.raises(CorruptRecord, match=named):
            both.move()


def key_name_of(log: EncryptedLog, conversation: UUID) -> str:
    (first,) = log.stored.first_events([conversation])
    return key_name_in(first.header) or ""


def test_the_same_change_in_both_logs_is_found_by_what_binds_them(logs: Logs) -> None:
    with logs.opened() as both:
        forging.record(both.source)
        both.move()
        id_ = both.source.get(forging.FIRST).conversation_id
        cipher = both.new.cipher(key_name_of(both.new, id_))
    assert cipher is not None

    def anew(row: Row) -> Row:
        """The same text under another nonce: only the leaf is another one."""
        text = cipher.decrypted(row["header"], row["body"])
        return {**row, "body": cipher.encrypted(row["header"], text)}

    changed(logs.rows(logs.new), id_, anew)
    with logs.opened() as both, pytest.raises(CorruptRecord, match="not those that were bound"):
        both.check()
    changed(logs.rows(logs.old), id_, lambda row: {**row, "salt": bytes(16)})
    with logs.opened() as both, pytest.raises(CorruptRecord, match="is not what was moved"):
        both.check()


def test_what_was_forgotten_is_not_moved_nor_kept_behind_the_back(logs: Logs) -> None:
    with logs.opened() as both:
        forging.record(both.source)
        both.source.conversation("mine").user("Hello")
        both.source.get("mine").fork("mine/fork")
        both.source.forget("mine", reason="asked", actor="ana")
        (of,) = both.move()
        assert set(of.left_out.values()) == {FORGOTTEN, ORIGIN_LEFT}
        both.source.forget(forging.SECOND, reason="asked", actor="ana")
        with pytest.raises(InvalidInput, match="forgotten in the old log after it was moved"):
            both.move()
        both.store.forget(forging.SECOND, reason="asked", actor="ana")
        assert [(of.is_new, of.events) for of in both.move()] == [(False, 8)]
        assert both.check()


def test_what_is_no_old_and_no_new_log_is_refused(logs: Logs) -> None:
    with logs.opened() as both:
        forging.record(both.source)
        with pytest.raises(InvalidInput, match="tells of no move"):
            both.check()
        with pytest.raises(InvalidInput, match="encrypted already"):
            moves.move(both.new, both.new, actor="ana")
        with pytest.raises(InvalidInput, match="is the old one"):
            moves.plan(both.old, both.old)
        clear = both.enter_context(onrecord.connect("memory://", keys="", kek=""))
        with pytest.raises(InvalidInput, match="would be in clear"):
            moves.move(both.old, backend_of(clear), actor="ana")
        both.store.conversation(forging.FIRST).user("Here first")
        with pytest.raises(InvalidInput, match="another conversation of the new log has the key"):
            both.move()
