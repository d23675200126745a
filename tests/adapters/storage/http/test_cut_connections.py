"""Connections that are cut amid each verb: nothing that was acknowledged is lost or doubled."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from onrecord.adapters.storage.http.http import Http, open_http
from onrecord.adapters.storage.steps import steps_of
from onrecord.domain.errors import StorageUnavailable
from onrecord.domain.log import Conflict, Duplicate, Mismatch, Recorded
from tests.adapters.storage.http.cutting_proxy import CUTS, Cut, CuttingProxy, cutting
from tests.adapters.storage.http.verbs import repeated_verbs, single_verbs
from tests.contract.http_places import HTTP_PLACES, KEY
from tests.factories import TENANT, answer, appending, drafted, prompt, started
from tests.ledger import verified_log

Waiting = Callable[[Http, Callable[[], Any]], Any]


def in_a_thread(log: Http, step: Callable[[], Any]) -> Any:
    del log
    return step()


def in_a_coroutine(log: Http, step: Callable[[], Any]) -> Any:
    return asyncio.run(steps_of(log).run(step))


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[CuttingProxy]:
    place = HTTP_PLACES["http-sqlite"](tmp_path)
    with cutting(place.url) as proxy:
        yield proxy
    place.remove()


@pytest.fixture
def log(proxy: CuttingProxy) -> Iterator[Http]:
    opened = open_http(proxy.url, KEY)
    yield opened
    opened.close()


@pytest.fixture(params=[in_a_thread, in_a_coroutine])
def wait(request: pytest.FixtureRequest) -> Waiting:
    waiting: Waiting = request.param
    return waiting


@pytest.mark.parametrize("cut", CUTS)
def test_an_append_is_recorded_once_and_told_so(
    log: Http, proxy: CuttingProxy, wait: Waiting, cut: Cut
) -> None:
    conversation = uuid4()
    log.append([appending(conversation, started())])
    proxy.arm(cut, cut)
    request = appending(conversation, prompt(), answer(), expected_version=1)
    assert wait(log, partial(log.append, [request])) == [Recorded(2, 3, 3)]
    assert proxy.cuts == 2
    assert wait(log, partial(log.append, [request])) == [Duplicate(2, 3)]
    assert len(verified_log(log)) == 3


@pytest.mark.parametrize("cut", CUTS)
def test_each_request_of_a_batch_is_told_what_it_would_have_been(
    log: Http, proxy: CuttingProxy, cut: Cut
) -> None:
    first, second = uuid4(), uuid4()
    known = drafted(answer("known"), first)
    log.append([appending(first, known)])
    new = drafted(prompt(), first)
    again = drafted(answer("known"), first, event_id=known.event_id)
    proxy.arm(cut)
    verdicts = log.append(
        [
            appending(first, new, expected_version=1),
            appending(first, new),
            appending(first, again),
            appending(second, new),
            appending(second, started(), expected_version=0),
            appending(first, answer(), expected_version=1),
        ]
    )
    assert verdicts == [
        Recorded(2, 2, 2),
        Duplicate(2, 2),
        Duplicate(1, 1),
        Mismatch(0),
        Recorded(1, 1, 3),
        Conflict(2),
    ]
    assert len(verified_log(log)) == 3


def test_each_verb_that_may_be_asked_twice_is_answered_whatever_is_cut(
    log: Http, proxy: CuttingProxy, wait: Waiting
) -> None:
    conversation = log.open(TENANT, "ada")
    log.append([appending(conversation, started("ada"), prompt(), answer())])
    for name, verb in repeated_verbs(log, conversation).items():
        expected, cuts = verb(), proxy.cuts
        for cut in CUTS:
            proxy.arm(cut)
            assert wait(log, verb) == expected, (name, cut)
        assert proxy.cuts - cuts == len(CUTS), name


@pytest.mark.parametrize("cut", CUTS)
def test_an_erasure_tells_how_many_events_it_erased(
    log: Http, proxy: CuttingProxy, wait: Waiting, cut: Cut
) -> None:
    conversation = uuid4()
    log.append([appending(conversation, started(), prompt())])
    proxy.arm(cut)
    assert wait(log, partial(log.forget, conversation)) == 2
    assert [event.body for event in log.read(conversation)] == [None, None]


@pytest.mark.parametrize("cut", CUTS)
def test_what_may_not_be_done_twice_is_not_asked_again(
    log: Http, proxy: CuttingProxy, cut: Cut
) -> None:
    for verb in single_verbs(log).values():
        done = verb()
        proxy.arm(cut, cut)
        with pytest.raises(StorageUnavailable):
            verb()
        proxy.arm()
        assert verb() == done
    assert proxy.cuts == len(single_verbs(log))


@pytest.mark.parametrize("cut", CUTS)
def test_an_actors_name_is_kept_once(
    log: Http, proxy: CuttingProxy, wait: Waiting, cut: Cut
) -> None:
    digest = log.digest("Ana")
    proxy.arm(cut)
    wait(log, partial(log.actors().keep, TENANT, digest, "Ana"))
    assert proxy.cuts == 1
    (kept,) = log.actors().stored()
    assert (kept.digest, kept.name) == (digest, b"Ana")


@pytest.mark.parametrize("cut", CUTS)
def test_what_depends_on_a_text_alone_is_the_same_whoever_asks(
    log: Http, proxy: CuttingProxy, wait: Waiting, cut: Cut
) -> None:
    # A client asks once for each text: so each one is a new client.
    prove = log.prover(TENANT)
    assert prove is not None
    expected = log.digest("Ana"), prove(b"statement")
    with closing(open_http(proxy.url, KEY)) as other:
        prove = other.prover(TENANT)
        assert prove is not None
        proxy.arm(cut)
        assert wait(other, partial(other.digest, "Ana")) == expected[0]
        proxy.arm(cut)
        assert wait(other, partial(prove, b"statement")) == expected[1]
    assert proxy.cuts == 2


@pytest.mark.parametrize("cut", CUTS)
def test_the_time_is_told_though_its_answer_was_lost(
    log: Http, proxy: CuttingProxy, cut: Cut
) -> None:
    before = log.clock()
    proxy.arm(cut)
    assert log.clock() >= before
    assert proxy.cuts == 1


def test_a_service_that_is_away_is_an_error_once_patience_ends(proxy: CuttingProxy) -> None:
    log = open_http(proxy.url, KEY, patience=0.2)
    proxy.arm(*("before",) * 1_000)
    with pytest.raises(StorageUnavailable, match="cannot be reached"):
        log.head(uuid4())
    proxy.arm()
    assert log.head(uuid4()).version == 0
    log.close()
