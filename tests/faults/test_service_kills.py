"""A service that is killed amid each verb, and begun again: nothing acknowledged is lost or doubled."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import cycle
from pathlib import Path

import pytest

import onrecord
from onrecord.adapters.storage.http.http import Http, open_http
from onrecord.adapters.upkeep.verifying import verify_log
from onrecord.domain.errors import StorageUnavailable
from onrecord.domain.log import Conflict, Duplicate, Recorded
from tests.adapters.storage.http.cutting_proxy import CUTS, Cut, CuttingProxy
from tests.adapters.storage.http.verbs import repeated_verbs, single_verbs
from tests.contract.places import DURABLE, prepared
from tests.factories import TENANT, answer, appending, prompt, started
from tests.faults.served_store import ServedStore, served_store
from tests.ledger import verified_log
from tests.patience import PATIENCE

STORES = [name for name in DURABLE if not name.startswith("http")]


@pytest.fixture(params=STORES)
def served(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ServedStore]:
    """A service; what it stored is verified in the end, where it is."""
    for place in prepared(request.param, tmp_path):
        log = place.open()
        with served_store(
            log, getattr(place, "url", f"sqlite:///{tmp_path / 'log.db'}"), tmp_path
        ) as service:
            yield service
        assert [fault.why for fault in verify_log(log).faults] == []
        verified_log(log)
        log.close()


@pytest.fixture
def log(served: ServedStore) -> Http:
    return served.log


@pytest.fixture
def proxy(served: ServedStore) -> CuttingProxy:
    return served.proxy


@pytest.fixture
def store(
    served: ServedStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[onrecord.Store]:
    monkeypatch.setenv("ONRECORD_SPOOL", str(tmp_path / "spool"))
    patient = partial(open_http, patience=PATIENCE)
    monkeypatch.setattr("onrecord.adapters.storage.http.http.open_http", patient)
    with onrecord.connect(served.proxy.url, key=served.key, tenant=TENANT, actor="eve") as store:
        yield store


@pytest.mark.parametrize("cut", CUTS)
def test_what_is_written_is_there_once_and_told_so(
    log: Http, proxy: CuttingProxy, cut: Cut
) -> None:
    conversation, other = log.open(TENANT, "bob"), log.open(TENANT, "cy")
    (begun,) = log.append([appending(conversation, started("bob"))])
    assert isinstance(begun, Recorded)
    request = appending(conversation, prompt(), answer(), expected_version=1)
    batch = [
        request,
        appending(conversation, answer(), expected_version=1),
        appending(other, started("cy")),
    ]
    proxy.arm(cut)
    recorded, conflict, apart = log.append(batch)
    assert isinstance(recorded, Recorded)
    assert (recorded.first, recorded.last, conflict) == (2, 3, Conflict(3))
    assert isinstance(apart, Recorded)
    assert log.append([request]) == [Duplicate(2, 3)]
    proxy.arm(cut)
    conversation = log.open(TENANT, "ada")
    assert log.find(TENANT, "ada") == conversation
    proxy.arm(cut)
    blob = log.put_blob(TENANT, conversation, [b"report" * 50_000])
    assert b"".join(log.get_blob(conversation, blob)) == b"report" * 50_000
    assert log.append([appending(conversation, started("ada"))])[0].__class__ is Recorded
    assert proxy.cuts == 3


def test_each_verb_that_may_be_asked_twice_is_answered(log: Http, proxy: CuttingProxy) -> None:
    conversation = log.open(TENANT, "ada")
    log.append([appending(conversation, started("ada"), prompt(), answer())])
    cuts: Iterator[Cut] = cycle(CUTS)
    for name, verb in repeated_verbs(log, conversation).items():
        cut = next(cuts)
        expected = verb()
        proxy.arm(cut)
        assert verb() == expected, (name, cut)
        assert proxy.cuts, name
        proxy.cuts = 0


def test_what_may_not_be_done_twice_is_an_error_and_can_be_asked_again(
    log: Http, proxy: CuttingProxy
) -> None:
    for verb in single_verbs(log).values():
        done = verb()
        proxy.arm("amid work")
        with pytest.raises(StorageUnavailable, match="cannot be reached"):
            verb()
        log.clock()  # Asked until the service is there.
        assert verb() == done


@pytest.mark.parametrize("cut", CUTS)
def test_a_conversation_goes_on_as_if_nothing_had_been(
    store: onrecord.Store, proxy: CuttingProxy, cut: Cut
) -> None:
    chat = store.conversation("ada", actor="ana")
    for said in ("one", "two", "three"):
        proxy.arm(cut)
        assert isinstance(chat.user(said), Recorded)
    assert [turn.text for turn in chat.history()] == ["one\ntwo\nthree"]
    assert [event.version for event in chat.events()] == [1, 2, 3, 4]
    proxy.arm(cut)
    assert store.forget("ada", reason="asked to").events == 4
    (erasure,) = store.erasures()
    assert erasure.outcome is not None
    assert erasure.outcome.events == 4


def test_who_follows_the_log_goes_on_where_it_was(log: Http, proxy: CuttingProxy) -> None:
    conversation = log.open(TENANT, "ada")
    log.append([appending(conversation, started("ada"))])
    (first,) = log.first_events([conversation])
    [end] = [each for each in log.cursors() if each.shard == first.shard]
    with log.subscribe(replace(end, position=first.position)) as events:
        versions = list[int]()
        for cut in CUTS:
            log.append([appending(conversation, answer())])
            proxy.arm(cut)
            versions.append(next(events).version)
    assert proxy.cuts == len(CUTS)
    assert versions == list(range(2, 2 + len(CUTS)))
