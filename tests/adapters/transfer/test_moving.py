"""A log in clear that is moved into an encrypted one: whole, resumed, bound, and checked with both."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import pytest

import onrecord
from onrecord import Store
from onrecord.adapters.encryption.encrypted_log import EncryptedLog
from onrecord.adapters.encryption.key_file import new_key_file
from onrecord.adapters.seals.signing import new_key, verified
from onrecord.adapters.seals.trust import Seals, seals_of
from onrecord.adapters.settings import SealSettings
from onrecord.adapters.store import backend_of
from onrecord.adapters.transfer import moves
from onrecord.adapters.transfer.moved_conversations import FORGOTTEN, ORIGIN_LEFT
from onrecord.adapters.transfer.moving import TenantMove
from onrecord.domain.encryption.bodies import is_clear, key_name_in
from onrecord.domain.errors import CorruptRecord, InvalidInput
from onrecord.domain.log import Append, Cursor, RecordedEvent, Verdict
from onrecord.domain.new_events import blobs_of
from onrecord.domain.operators import LogMoved, is_operators
from onrecord.domain.seals.checkpoint import key_name_of as signer_of
from onrecord.domain.seals.checkpoint import log_id_of, parse_checkpoint
from tests.adapters.recorded_calls import known
from tests.postgres_places import fresh_log
from tests.postgres_server import VERSIONS
from tests.tampering import forging, history
from tests.tampering.postgres_rows import PostgresRows
from tests.tampering.rows import Row, Rows
from tests.tampering.sqlite_rows import SqliteRows

SUBJECTS = {(UUID(int=0), "support/4712"): ("customer-812",)}


@dataclass(frozen=True)
class Logs:
    """An old log in clear, and an encrypted one; both are opened anew each time, by their URLs."""

    old: str
    new: str
    folder: Path

    def opened(self) -> _Opened:
        return _Opened(self)

    def rows(self, url: str) -> Rows:
        if url.startswith("postgresql"):
            return PostgresRows(url)
        return SqliteRows(Path(url.removeprefix("sqlite:///")))


class _Opened(ExitStack):
    def __init__(self, logs: Logs) -> None:
        super().__init__()
        folder = logs.folder
        self.source = self.enter_context(onrecord.connect(logs.old, keys="", kek=""))
        self.store = self.enter_context(
            onrecord.connect(logs.new, keys=folder / "keys.db", kek=folder / "kek")
        )
        self.old = backend_of(self.source)
        self.new = cast("EncryptedLog", backend_of(self.store))

    def move(self, **options: Any) -> list[TenantMove]:
        return moves.move(self.old, self.new, actor="ana", subjects=SUBJECTS, **options)

    def check(self) -> list[LogMoved]:
        return moves.check(self.old, self.new)


@pytest.fixture(params=["sqlite", "postgres"])
def logs(request: pytest.FixtureRequest, tmp_path: Path) -> Logs:
    new_key_file(tmp_path / "kek")
    old, new = (f"sqlite:///{tmp_path / name}.db" for name in ("old", "new"))
    if request.param == "postgres":
        # Logs of one template have one key, so one id.
        new = fresh_log(VERSIONS[-1])
        old = fresh_log(VERSIONS[0]) if len(VERSIONS) > 1 else old
    return Logs(old, new, tmp_path)


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


def everything(log: Any) -> list[RecordedEvent]:
    return [
        event
        for last in log.cursors()
        for event in log.read_log(Cursor(last.incarnation, last.shard, 0), 10_000)
    ]


def conversations(log: Any) -> list[RecordedEvent]:
    """The events of a log that say something, and are no operators'."""
    return [event for event in everything(log) if not is_operators(event.type)]


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
        left = next(of.left for of in first if of.left)
        assert list(left.values()) == [FORGOTTEN] * 2
        assert [hold.placed.matter for hold in both.store.retention.holds()] == ["Smith"]
        assert [entry.fact.label for entry in both.store.retention.classes()] == ["depot"]
        (about,) = both.store.subjects.conversations("customer-812")
        assert about.conversation_id == both.source.get("support/4712").conversation_id
        assert not any(is_clear(event.header) for event in conversations(both.new.stored))
        assert both.store.verify().is_whole
        _must_be_recomputed(both)


def _must_be_recomputed(both: _Opened) -> None:
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


def _changed(rows: Rows, conversation: UUID, change: Callable[[Row], Row]) -> None:
    """Change the event of version 2 of a conversation in place, and make its hashes anew."""
    for row in rows.rows("event"):
        of = row["conversation_id"]
        if (of if isinstance(of, UUID) else UUID(bytes=of)) == conversation and row["version"] == 2:
            rows.delete("event", row)
            rows.insert("event", forging.hashed(change(row)))
    rows.close()


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

    _changed(logs.rows(getattr(logs, attacked)), id_, reworded)
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

    _changed(logs.rows(logs.new), id_, anew)
    with logs.opened() as both, pytest.raises(CorruptRecord, match="not those that were bound"):
        both.check()
    _changed(logs.rows(logs.old), id_, lambda row: {**row, "salt": bytes(16)})
    with logs.opened() as both, pytest.raises(CorruptRecord, match="is not what was moved"):
        both.check()


def test_what_was_forgotten_is_not_moved_nor_kept_behind_the_back(logs: Logs) -> None:
    with logs.opened() as both:
        forging.record(both.source)
        both.source.conversation("mine").user("Hello")
        both.source.get("mine").fork("mine/fork")
        both.source.forget("mine", reason="asked", actor="ana")
        (of,) = both.move()
        assert set(of.left.values()) == {FORGOTTEN, ORIGIN_LEFT}
        both.source.forget(forging.SECOND, reason="asked", actor="ana")
        with pytest.raises(InvalidInput, match="forgotten in the old log after it was moved"):
            both.move()
        both.store.forget(forging.SECOND, reason="asked", actor="ana")
        assert [(of.is_new, of.events) for of in both.move()] == [(False, 8)]
        assert both.check()


def _placed(both: _Opened, key: str) -> tuple[list[str], list[str]]:
    """The matters of the holds in force on a conversation, in the old log and in the new one."""
    id_ = both.source.get(key).conversation_id
    old, new = (
        sorted(
            hold.placed.matter for hold in store.retention.holds() if hold.conversation_id == id_
        )
        for store in (both.source, both.store)
    )
    return old, new


def _lift(store: Store, matter: str) -> None:
    hold = next(hold for hold in store.retention.holds() if hold.placed.matter == matter)
    store.retention.lift_hold(hold.hold_id, reason="settled", actor="judge")


def test_holds_that_changed_between_two_moves_are_as_in_the_old_log(logs: Logs) -> None:
    with logs.opened() as both:
        forging.record(both.source)

        def place(store: Store, matter: str, actor: str = "judge") -> None:
            store.retention.place_hold(forging.FIRST, matter=matter, reason="claim", actor=actor)

        place(both.source, "Smith")
        place(both.source, "Jones")
        both.move()
        assert _placed(both, forging.FIRST)[1] == ["Jones", "Smith"]
        _lift(both.source, "Smith")
        place(both.store, "of the new log")
        both.move()
        assert _placed(both, forging.FIRST) == (["Jones"], ["Jones", "of the new log"])
        lifted = [hold.lifted for hold in both.store.retention.holds(lifted=True) if hold.lifted]
        assert [(fact.actor, fact.reason) for fact in lifted] == [("judge", "settled")]
        for store in (both.source, both.store):
            _lift(store, "Jones")
        place(both.source, "Jones")
        both.move()
        assert _placed(both, forging.FIRST) == (["Jones"], ["Jones", "of the new log"])
        place(both.source, "Jones", "other")
        place(both.source, "Jones")
        place(both.store, "Smith")  # Later than it was lifted: it is the new log's own.
        both.move()
        both.move()
        assert _placed(both, forging.FIRST) == (
            ["Jones"] * 3,
            [*["Jones"] * 3, "Smith", "of the new log"],
        )


def test_classes_that_changed_between_two_moves_are_as_in_the_old_log(logs: Logs) -> None:
    with logs.opened() as both:
        forging.record(both.source)

        def set_class(store: Store, label: str, keep: Any, rule: str = "x") -> None:
            store.retention.set_class(keep, rule=rule, label=label, actor="ana")

        def classes(store: Store) -> dict[str | None, object]:
            return {entry.fact.label: entry.keep for entry in store.retention.classes()}

        for label in ("depot", "cleared", "own"):
            set_class(both.source, label, "six-years")
        both.move()
        assert classes(both.store) == classes(both.source)
        set_class(both.source, "depot", "six-months")
        both.source.retention.clear_class(label="cleared", reason="no more", actor="ana")
        set_class(both.store, "own", 30, "set in the new log")
        both.move()
        assert classes(both.store) == {"depot": "six-months", "own": 30}
        set_class(both.source, "depot", "six-years")
        set_class(both.source, "cleared", "unlimited")
        both.move()
        assert classes(both.store) == {"depot": "six-years", "cleared": "unlimited", "own": 30}


def _sealed(both: _Opened, place: Path) -> Seals:
    """Seal the old log at a place, with a new key; return the seals as they are read."""
    key = new_key(signer_of(log_id_of(both.old.digest)))
    forging.seal(both.source, key, place)
    return seals_of(SealSettings(places=(str(place),), public_keys=(str(key.public),)))


def test_a_checkpoint_of_the_old_log_is_kept_with_what_binds(logs: Logs) -> None:
    place = logs.folder / "seals"
    with logs.opened() as both:
        forging.record(both.source)
        seals = _sealed(both, place)
        forging.go_on(both.source)
        (of,) = both.move(seals=seals)
        assert of.bound is not None
        assert of.bound.checkpoint is not None
        note = verified(of.bound.checkpoint.encode(), seals.trusted.keys)
        assert (parse_checkpoint(note.text).size, of.bound.size) == (8, 10)
        assert both.check() == [of.bound]


def test_an_old_log_that_was_changed_under_its_seal_is_not_recorded(logs: Logs) -> None:
    place = logs.folder / "seals"
    with logs.opened() as both:
        forging.record(both.source)
        seals = _sealed(both, place)
        id_ = both.source.get(forging.FIRST).conversation_id
    _changed(
        logs.rows(logs.old),
        id_,
        lambda row: {**row, "body": row["body"].replace(b"NW-20931", b"NW-20999")},
    )
    with logs.opened() as both:
        with pytest.raises(CorruptRecord, match="not what was sealed at 8 events"):
            both.move(seals=seals)
        assert not everything(both.new.stored)


def test_a_move_of_a_sealed_log_shows_its_progress(logs: Logs) -> None:
    steps: list[tuple[int, int]] = []
    with logs.opened() as both:
        forging.record(both.source)
        seals = _sealed(both, logs.folder / "seals")
        both.move(seals=seals, progress=lambda done, total: steps.append((done, total)))
    assert steps == [(8, 8), (8, 8)]  # It was compared with the seal, then recorded.


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
