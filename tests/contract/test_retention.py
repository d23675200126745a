"""Retention classes, and what goes by them, on every backend that a program opens where the log is."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from onrecord.adapters.recording.spool import Spool
from onrecord.adapters.seals.places import Folder, place_at
from onrecord.adapters.store import Store, backend_of
from onrecord.adapters.transfer.exported import read_export
from onrecord.adapters.upkeep.archives import archived_bytes
from onrecord.adapters.upkeep.dispositions import Disposition
from onrecord.domain.errors import InvalidInput
from onrecord.domain.log import Backend
from tests.contract.places import WHERE_THE_LOG_IS, prepared
from tests.factories import TENANT

RULE = "EU AI Act 19(1)"
CASE = {"matter": "Smith v. Example", "reason": "claim of 3 March"}


class Death(BaseException):
    """The process ends here."""


@pytest.fixture(params=WHERE_THE_LOG_IS)
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    for place in prepared(request.param, tmp_path):
        opened = place.open()
        yield opened
        opened.close()


@pytest.fixture
def store(backend: Backend, tmp_path: Path) -> Store:
    return opened(backend, tmp_path)


def opened(backend: Backend, folder: Path) -> Store:
    return Store(backend, "a store", spool=Spool(folder / "spool"), tenant=TENANT, actor="eve")


def later(store: Store, patch: pytest.MonkeyPatch, age: timedelta) -> None:
    """Let the log's clock be ahead."""
    backend = backend_of(store)
    real, ahead = backend.clock, age // timedelta(microseconds=1)
    patch.setattr(backend, "clock", lambda: real() + ahead)


def keys(found: Iterator[Disposition]) -> list[str]:
    return sorted(one.key or "" for one in found)


def said(store: Store, *names: str) -> None:
    for name in names:
        store.conversation(name).user("swordfish")


def test_the_class_of_a_conversation_counts_before_a_labels_and_that_before_the_tenants(
    store: Store,
) -> None:
    said(store, "a", "b")
    own = store.retention
    assert own.class_of("a") is None
    of_all = own.set_class("six-months", rule=RULE, actor="ana")
    assert (of_all.fact.actor, of_all.fact.rule, own.class_of("a")) == ("ana", RULE, of_all)
    of_label = own.set_class("six-years", rule="HIPAA", label="category", value="health")
    own.set_class(30, rule="own", label="category")
    assert own.class_of("a") == of_all
    store.conversation("a").annotate({"category": "health"})
    assert own.class_of("a") == of_label
    of_one = own.set_class(timedelta(days=10), rule="a wish", which="a")
    assert own.class_of("a") == of_one
    assert own.class_of("b") == of_all
    assert len(own.classes()) == 4
    assert store.verify().is_whole
    assert store.verify().recorded_classes == 4


def test_a_class_that_is_set_anew_counts_from_then_on(store: Store) -> None:
    store.retention.set_class("six-months", rule=RULE)
    anew = store.retention.set_class(400, rule="own policy 7")
    assert store.retention.classes() == [anew]
    assert anew.keep == 400


def test_a_class_is_taken_back_and_may_be_set_again(store: Store) -> None:
    said(store, "a")
    own = store.retention
    of_all = own.set_class("six-months", rule=RULE)
    own.set_class(30, rule="own", which="a")
    own.set_class(60, rule="own", label="category", value="health")
    assert own.clear_class(which="a", reason="set by mistake", actor="ana")
    assert not own.clear_class(which="a", reason="again")
    assert own.class_of("a") == of_all
    assert own.clear_class(label="category", value="health", reason="no health here")
    assert own.classes() == [of_all]
    assert own.clear_class(reason="no rule any more")
    assert own.class_of("a") is None
    assert not own.clear_class(label="no such label", reason="none")
    anew = own.set_class(10, rule="own", which="a")
    assert own.class_of("a") == anew
    with pytest.raises(InvalidInput):
        own.clear_class(reason=" ", which="a")
    with pytest.raises(InvalidInput):
        own.clear_class(reason="both", which="a", label="category")
    assert store.verify().is_whole


def test_what_is_no_class_is_refused(store: Store) -> None:
    wrong: list[dict[str, Any]] = [
        {"keep": "for ever", "rule": RULE},
        {"keep": 0, "rule": RULE},
        {"keep": True, "rule": RULE},
        {"keep": timedelta(hours=5), "rule": RULE},
        {"keep": 30, "rule": " "},
        {"keep": 30, "rule": RULE, "value": "health"},
    ]
    for named in wrong:
        with pytest.raises(InvalidInput):
            store.retention.set_class(**named)
    assert store.retention.classes() == []


def test_conversations_are_chosen_by_their_key_their_age_and_their_class(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    said(store, "support/1", "support/2", "sales/1")
    due = store.retention.due
    assert keys(due(prefix="support/")) == ["support/1", "support/2"]
    assert keys(due(before=datetime(2020, 1, 1, tzinfo=UTC))) == []
    assert keys(due(before=datetime(2100, 1, 1, tzinfo=UTC), prefix="sales")) == ["sales/1"]
    assert keys(due(older_than=timedelta(days=1))) == []
    store.retention.set_class(30, rule="own", which="sales/1")
    assert keys(due(expired=True)) == []
    later(store, monkeypatch, timedelta(days=31))
    assert keys(due(older_than=timedelta(days=30))) == ["sales/1", "support/1", "support/2"]
    assert keys(due(expired=True)) == ["sales/1"]
    with pytest.raises(InvalidInput, match="which conversations"):
        due()
    with pytest.raises(InvalidInput, match="zone"):
        due(before=datetime(2020, 1, 1))


def test_a_query_erases_what_it_chooses_and_leaves_what_a_hold_keeps(store: Store) -> None:
    said(store, "support/1", "support/2", "sales/1")
    fork = store.conversation("support/2").fork("fork").conversation_id
    store.retention.place_hold("support/1", **CASE)
    told: list[Disposition] = []
    done = store.retention.forget(reason="asked to", prefix="support/", each=told.append)
    assert (done.erased, done.kept, done.left, done.events) == (1, 1, 0, 2)
    assert {one.key: one.is_erased for one in told} == {"support/1": False, "support/2": True}
    (entry,) = store.erasures()
    assert entry.outcome is not None
    assert (entry.intention.reason, entry.outcome.forks) == ("asked to", (fork,))
    assert keys(store.retention.due(prefix="s")) == ["sales/1", "support/1"]
    assert store.verify().is_whole


def test_what_has_run_out_is_archived_and_then_erased(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said(store, "a", "b", "c")
    blob = store.conversation("a").conversation_id
    store.retention.set_class("six-months", rule=RULE)
    store.retention.set_class("unlimited", rule="a wish", which="b")
    store.retention.place_hold("c", **CASE)
    later(store, monkeypatch, timedelta(days=185))
    told: list[Disposition] = []
    url = str(tmp_path / "archives")
    done = store.retention.expire(url, each=told.append)
    assert (done.erased, done.archived, done.kept, done.left) == (1, 1, 1, 0)
    (gone,) = [one for one in told if one.is_erased]
    assert (gone.conversation_id, gone.key) == (blob, "a")
    assert gone.archive is not None
    whole = b"".join(archived_bytes(place_at(url), gone.archive.path))
    (tmp_path / "export.jsonl").write_bytes(whole)
    assert b"swordfish" in whole
    with (tmp_path / "export.jsonl").open("rb") as file:
        assert len(list(read_export(file))) == 3
    (entry,) = store.erasures()
    reason = entry.intention.reason
    assert reason.startswith(f"its retention has run out: six-months ({RULE}); archived at {url}")
    assert gone.archive.path in reason
    assert gone.archive.sha256 == hashlib.sha256(whole).hexdigest()
    assert gone.archive.sha256 in reason
    assert keys(store.retention.due(prefix="")) == ["b", "c"]
    again = store.retention.expire(url)
    assert (again.erased, again.kept) == (0, 1)
    assert store.verify().is_whole


def test_headers_and_leaves_of_what_expired_stay(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said(store, "a")
    conversation = store.get("a").conversation_id
    before = [(one.header, one.leaf) for one in backend_of(store).read(conversation)]
    store.retention.set_class(1, rule=RULE)
    later(store, monkeypatch, timedelta(days=2))
    assert store.retention.expire(str(tmp_path / "archives")).erased == 1
    after = list(backend_of(store).read(conversation))
    assert [(one.header, one.leaf) for one in after] == before
    assert {one.body for one in after} == {None}


def test_a_death_at_any_step_is_made_up_for_by_the_next_run(
    backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = opened(backend, tmp_path)
    store.retention.set_class(1, rule=RULE)
    later(store, monkeypatch, timedelta(days=2))
    for last in count():
        key, url = f"chat {last}", str(tmp_path / f"archives {last}")
        said(store, key)
        conversation, steps = store.get(key).conversation_id, count()

        def dying(step: Any, steps: Iterator[int] = steps, last: int = last) -> Any:
            def act(*arguments: Any, **options: Any) -> Any:
                if next(steps) == last:
                    raise Death
                result = step(*arguments, **options)
                if next(steps) == last:
                    raise Death
                return result

            return act

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Folder, "replace", dying(Folder.replace))
            for verb in ("append", "forget"):
                patch.setattr(backend, verb, dying(getattr(backend, verb)))
            try:
                store.retention.expire(url)
            except Death:
                is_alive = False
            else:
                is_alive = True
        erased = any(event.body is None for event in backend.read(conversation))
        archives = list((tmp_path / f"archives {last}").rglob("manifest.json"))
        assert archives or not erased
        store.retention.expire(url)
        assert {event.body for event in backend.read(conversation)} == {None}
        assert len(list((tmp_path / f"archives {last}").rglob("manifest.json"))) == 1
        assert len(store.erasures(conversation)) == 1
        assert store.verify().is_whole
        if is_alive:
            assert last >= 10
            break


def test_what_the_place_does_not_give_back_is_not_erased(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said(store, "a")
    store.retention.set_class(1, rule=RULE)
    later(store, monkeypatch, timedelta(days=2))
    real = Folder.read

    def damaged(self: Folder, path: str) -> bytes | None:
        data = real(self, path)
        return data if data is None or path.endswith(".json") else data[:-1] + b"?"

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Folder, "read", damaged)
        done = store.retention.expire(str(tmp_path / "archives"))
    assert (done.erased, done.left) == (0, 1)
    assert store.erasures() == []
    assert store.retention.expire(str(tmp_path / "archives")).erased == 1


def test_what_moved_on_while_it_was_archived_is_left_alone(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said(store, "a")
    store.retention.set_class(1, rule=RULE)
    later(store, monkeypatch, timedelta(days=2))

    def moving(conversation: Any, key: str | None) -> Iterator[bytes]:
        said(store, "a")
        yield b"an archive"

    done = store.retention.expire(str(tmp_path / "archives"), writer=moving)
    assert (done.erased, done.left) == (0, 1)
    assert store.conversation("a").head().version == 3


def test_a_hold_that_comes_while_it_is_archived_keeps_it(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said(store, "a")
    store.retention.set_class(1, rule=RULE)
    later(store, monkeypatch, timedelta(days=2))

    def held(conversation: Any, key: str | None) -> Iterator[bytes]:
        store.retention.place_hold("a", **CASE)
        yield b"an archive"

    done = store.retention.expire(str(tmp_path / "archives"), writer=held)
    assert (done.erased, done.kept, done.left) == (0, 1, 0)
    assert store.conversation("a").head().version == 2


def test_a_large_archive_is_kept_in_parts(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said(store, "a")
    store.retention.set_class(1, rule=RULE)
    later(store, monkeypatch, timedelta(days=2))
    monkeypatch.setattr("onrecord.adapters.upkeep.archives._PART", 100)
    told: list[Disposition] = []
    store.retention.expire(
        str(tmp_path / "archives"),
        writer=lambda _id, _key: (b"x" * 33 for _ in range(10)),
        each=told.append,
    )
    (one,) = told
    assert one.archive is not None
    names = sorted(path.name for path in (tmp_path / "archives" / one.archive.path).iterdir())
    assert names == ["manifest.json", *(f"part-{number:06}" for number in range(4))]
    parts = archived_bytes(place_at(str(tmp_path / "archives")), one.archive.path)
    assert b"".join(parts) == b"x" * 330


def test_what_goes_before_its_class_has_run_out_says_so(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    said(store, "a", "b")
    store.retention.set_class(30, rule="own", which="a")
    assert {one.key: one.is_early for one in store.retention.due(prefix="")} == {
        "a": True,
        "b": False,
    }
    later(store, monkeypatch, timedelta(days=31))
    assert not any(one.is_early for one in store.retention.due(prefix=""))
