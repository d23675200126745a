"""What a key may do over HTTP: in its own tenant, and by its role, whatever ids are sent."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from eventsourcing.domain import Aggregate

import onrecord
from onrecord.adapters.service.access import Access
from onrecord.adapters.storage.eventsourcing.erasures import Erasure
from onrecord.adapters.storage.eventsourcing.operators import Operators
from onrecord.adapters.storage.eventsourcing.retention import Hold, Retention
from onrecord.adapters.storage.http.http import Http, open_http
from onrecord.domain.actors import actor_id
from onrecord.domain.errors import (
    ConversationOnHold,
    CorruptRecord,
    InvalidInput,
    StorageReadOnly,
    StorageUnavailable,
)
from onrecord.domain.events import ConversationForked
from onrecord.domain.head import Effect, Head
from onrecord.domain.log import Append, NewEvent, Recorded
from onrecord.domain.marks.marked_ids import operators_of
from onrecord.domain.operators import retention_id
from tests.adapters.service.keys import OTHER, TENANT
from tests.adapters.service.served import Served, served
from tests.factories import appending, drafted, prompt, raw_event, started

KEYS = {
    "ork_reader": Access(TENANT, "read", "reader", UUID(int=1)),
    "ork_writer": Access(TENANT, "write", "writer", UUID(int=2)),
    "ork_operator": Access(TENANT, "operate", "operator", UUID(int=3)),
    "ork_stranger": Access(OTHER, "operate", "stranger", UUID(int=4)),
}


class Keys:
    def access(self, token: str) -> Access | None:
        return KEYS.get(token)

    def is_used(self) -> bool:
        return True

    def record_uses(self) -> int:
        return 0


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    monkeypatch.setenv("ONRECORD_SPOOL", str(tmp_path / "spool"))
    with served(f"sqlite:///{tmp_path / 'log.db'}", keyring=Keys()) as answering:
        yield answering


@pytest.fixture
def writer(service: Served) -> Iterator[Http]:
    yield from _opened(service, "ork_writer")


@pytest.fixture
def operator(service: Served) -> Iterator[Http]:
    yield from _opened(service, "ork_operator")


@pytest.fixture
def stranger(service: Served) -> Iterator[Http]:
    yield from _opened(service, "ork_stranger")


def _opened(service: Served, key: str) -> Iterator[Http]:
    log = open_http(service.url, key)
    yield log
    log.close()


def begun(log: Http, *, tenant: UUID = TENANT) -> UUID:
    """A conversation with a document."""
    conversation = log.open(tenant, "ada")
    log.append([appending(conversation, started("ada"), prompt(), tenant=tenant)])
    return conversation


def test_the_store_is_that_of_the_tenant_that_the_key_is_for(service: Served) -> None:
    with onrecord.connect(service.url, key="ork_writer") as store:
        assert store.tenant == TENANT
        store.conversation("ada").user("Hallo")
        assert [turn.text for turn in store.get("ada").history()] == ["Hallo"]
    with onrecord.connect(service.url, key="ork_stranger") as store:
        assert [entry.key for entry in store.conversations()] == []
    with pytest.raises(StorageReadOnly, match="one tenant"):
        onrecord.connect(service.url, key="ork_writer", tenant=OTHER)


READS: dict[str, tuple[Callable[[Http, UUID], Any], Any]] = {
    "read": (lambda log, one: list(log.read(one)), []),
    "first_events": (lambda log, one: log.first_events([one]), []),
    "tell": (lambda log, one: list(log.tell(one)), []),
    "head": (lambda log, one: log.head(one), Head()),
    "new_since": (lambda log, one: log.new_since(one, 0, 10)[2:], (Head(), [])),
    "pointed": (lambda log, one: log.pointed(one, "request", 9, 9), []),
    "exchange_start": (lambda log, one: log.exchange_start(one, 1), 0),
    "owner": (lambda log, one: log.owner(one), None),
    "find": (lambda log, _: log.find(OTHER, "ada"), None),
    "conversations": (lambda log, _: list(log.conversations(OTHER)), []),
    "open_conversations": (lambda log, _: log.open_conversations(OTHER), []),
}


@pytest.mark.parametrize("name", READS)
def test_no_id_leads_to_another_tenants_conversation(
    writer: Http, stranger: Http, name: str
) -> None:
    conversation = begun(writer)
    read, nothing = READS[name]
    assert read(stranger, conversation) == nothing


def test_the_end_of_the_log_shows_a_key_its_own_events_only(writer: Http, stranger: Http) -> None:
    begun(writer)
    own = begun(stranger, tenant=OTHER)
    (end,) = stranger.cursors()
    beginning = type(end)(end.incarnation, end.shard, 0)
    assert {event.conversation_id for event in stranger.read_log(beginning, 99)} == {own}
    with stranger.subscribe(beginning, OTHER) as events:
        assert [next(events).version, next(events).version] == [1, 2]


def test_nothing_of_another_tenant_is_written_or_erased(
    writer: Http, operator: Http, stranger: Http
) -> None:
    conversation = begun(writer)
    blob = writer.put_blob(TENANT, conversation, [b"report"])
    digest = writer.digest("Ana")
    writer.actors().keep(TENANT, digest, "Ana")
    refused: list[Callable[[], Any]] = [
        lambda: stranger.append([appending(conversation, prompt(), tenant=OTHER)]),
        lambda: stranger.append([appending(conversation, prompt(), tenant=TENANT)]),
        lambda: stranger.open(OTHER, "mine", conversation),
        lambda: stranger.open(TENANT, "mine"),
        lambda: stranger.put_blob(OTHER, conversation, [b"mine"]),
        lambda: stranger.forget(conversation),
        lambda: stranger.forget(actor_id(TENANT, digest)),
        lambda: stranger.actors().names(TENANT, [digest]),
        lambda: stranger.sweep_blobs(0),
        lambda: stranger.rewrite(),
        lambda: stranger.erased(0),
        lambda: list(stranger.conversations(operators_of(TENANT))),
        lambda: list(stranger.conversations(TENANT)),
    ]
    for ask in refused:
        with pytest.raises(StorageReadOnly):
            ask()
    with pytest.raises(CorruptRecord):
        list(stranger.get_blob(conversation, blob))
    assert stranger.actors().names(OTHER, [digest]) == {}
    assert list(stranger.actors().stored()) == []
    assert writer.actors().names(TENANT, [digest]) == {digest: "Ana"}
    assert b"".join(writer.get_blob(conversation, blob)) == b"report"
    assert operator.forget(conversation) == 2


def test_a_fork_of_what_its_tenant_does_not_have_is_refused_whoever_has_it(
    service: Served, writer: Http, stranger: Http, monkeypatch: pytest.MonkeyPatch
) -> None:
    everyone = Access(TENANT, "operate", "everyone", UUID(int=5), all_tenants=True)
    monkeypatch.setitem(KEYS, "ork_everyone", everyone)
    theirs, nobodys, fork = begun(writer), uuid4(), uuid4()

    def forking(origin: UUID, tenant: UUID = OTHER) -> list[Append]:
        forked = ConversationForked(origin=origin, version=1)
        beside = appending(uuid4(), started("beside"), tenant=tenant)
        return [beside, appending(fork, started("fork"), forked, tenant=tenant)]

    told = set[str]()
    (end,) = writer.cursors()
    for origin in (theirs, nobodys):
        with pytest.raises(InvalidInput, match="no conversation of its tenant") as refused:
            stranger.append(forking(origin))
        told.add(str(refused.value))
    for everyones in _opened(service, "ork_everyone"):
        with pytest.raises(InvalidInput, match="no conversation of its tenant"):
            everyones.append(forking(theirs))
    assert len(told) == 1
    assert writer.cursors() == [end]
    verdicts = writer.append(forking(theirs, TENANT))
    assert [type(verdict) for verdict in verdicts] == [Recorded, Recorded]


def test_a_fork_may_come_with_its_origin_and_by_a_key_for_all_tenants_before_it(
    service: Served, stranger: Http, monkeypatch: pytest.MonkeyPatch
) -> None:
    everyone = Access(TENANT, "operate", "everyone", UUID(int=5), all_tenants=True)
    monkeypatch.setitem(KEYS, "ork_everyone", everyone)
    origin, other = uuid4(), uuid4()
    forks = [
        appending(uuid4(), started("f"), ConversationForked(origin=of, version=1), tenant=OTHER)
        for of in (origin, other)
    ]
    verdicts = stranger.append([appending(origin, started("ada"), tenant=OTHER), forks[0]])
    assert [type(verdict) for verdict in verdicts] == [Recorded, Recorded]
    for everyones in _opened(service, "ork_everyone"):
        (verdict,) = everyones.append(forks[1:])
        assert isinstance(verdict, Recorded)


def test_a_role_may_do_no_more_than_it_says(service: Served, writer: Http) -> None:
    conversation = begun(writer)
    with pytest.raises(StorageReadOnly, match="operate"):
        writer.forget(conversation)
    assert (writer.may_forget(), writer.prover(None)) == (False, None)
    reader = open_http(service.url, "ork_reader")
    assert reader.head(conversation).version == 2
    assert reader.prover(TENANT) is None
    with pytest.raises(StorageReadOnly, match="write"):
        reader.append([appending(conversation, prompt(), tenant=TENANT)])
    reader.close()


def test_what_operators_did_is_for_keys_to_operate(
    service: Served, writer: Http, stranger: Http
) -> None:
    with onrecord.connect(service.url, key="ork_operator", actor="eve") as store:
        store.conversation("ada").user("Hallo")
        assert store.forget("ada", reason="asked to").events == 2
        (entry,) = store.erasures()
        assert (entry.intention.actor, entry.intention.reason) == ("eve", "asked to")
    for log in (writer, stranger):
        with pytest.raises(StorageReadOnly):
            list(log.conversations(operators_of(TENANT)))
        assert list(log.read(entry.erasure_id)) == []


Change = Callable[[NewEvent], NewEvent]


def _with(**members: Any) -> Change:
    return lambda event: event._replace(**members)


def _spaced(event: NewEvent) -> NewEvent:
    return event._replace(header=event.header + b" ")


CHANGES: list[tuple[Change, str]] = [
    (_with(header=b"{}"), "a header that is none"),
    (_with(header=drafted(prompt(), uuid4()).header), "another event"),
    (_spaced, "canonical form"),
    (_with(salt=b"short"), "a salt"),
    (_with(body=b'{"odd":1}'), "a body"),
    (_with(effect=Effect(closes=True)), "an effect"),
]


@pytest.mark.parametrize(("change", "wrong"), CHANGES)
def test_an_event_that_is_not_what_its_header_says_is_refused(
    writer: Http, change: Change, wrong: str
) -> None:
    conversation = begun(writer)
    event = change(drafted(prompt(), conversation, tenant=TENANT))
    with pytest.raises(InvalidInput, match=wrong):
        writer.append([Append(TENANT, conversation, (event,))])
    assert writer.head(conversation).version == 2


@pytest.mark.parametrize("name", ["key.issued", "key.used", "key.revoked"])
def test_no_key_makes_others(operator: Http, name: str) -> None:
    forged = raw_event()._replace(type=name)
    with pytest.raises(StorageReadOnly, match="where the log is"):
        operator.append([Append(operators_of(TENANT), operators_of(uuid4()), (forged,))])


def test_a_proof_of_one_tenant_is_none_of_another(writer: Http, stranger: Http) -> None:
    own, other = writer.prover(TENANT), stranger.prover(OTHER)
    assert own is not None
    assert other is not None
    assert own(b"statement") == own(b"statement") != other(b"statement")
    foreign = stranger.prover(TENANT)
    assert foreign is not None
    with pytest.raises(StorageReadOnly):
        foreign(b"statement")


def test_a_key_is_shown_nowhere(service: Served) -> None:
    secret = "ork_secret-canary"
    with pytest.raises(StorageUnavailable, match="ONRECORD_KEY") as refused:
        onrecord.connect(service.url, key=secret)
    assert "canary" not in str(refused.value)
    with onrecord.connect(service.url, key="ork_writer") as store:
        assert repr(store) == f"Store('{service.url}')"
        assert "ork_writer" not in repr(vars(store))


def test_the_key_comes_from_the_environment_too(
    service: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONRECORD_KEY", "ork_writer")
    monkeypatch.setenv("ONRECORD_URL", service.url)
    with onrecord.connect() as store:
        assert store.tenant == TENANT


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://log.example", "in clear"),
        ("https://ork_canary@log.example", "holds no key"),
        ("https://log.example?key=ork_canary", "only where it is"),
        ("http://", "cannot be read"),
        ("http://127.0.0.1:canary", "cannot be read"),
        ("https://log.example/\n", "cannot be read"),
    ],
)
def test_a_url_that_would_give_away_a_key_is_refused(url: str, why: str) -> None:
    with pytest.raises(InvalidInput, match=why) as refused:
        onrecord.connect(url)
    assert "canary" not in str(refused.value)


def test_a_key_that_cannot_be_sent_and_what_a_service_has_itself_are_refused() -> None:
    with pytest.raises(InvalidInput, match="no key of a service"):
        onrecord.connect("https://log.example", key="a\r\nb")
    with pytest.raises(InvalidInput, match="own Redis"):
        onrecord.connect("https://log.example", redis="redis://")
    with pytest.raises(InvalidInput, match="own seals"):
        onrecord.connect("https://log.example", seal_vkey="log+1234+key")
    with pytest.raises(InvalidInput, match="and views"):
        onrecord.connect("https://log.example", plain_views=["search"])
    with pytest.raises(InvalidInput, match="for a service"):
        onrecord.connect("memory://", key="ork_writer")


def test_what_is_kept_where_the_log_is_says_so(service: Served) -> None:
    with onrecord.connect(service.url, key="ork_operator") as store:
        with pytest.raises(InvalidInput, match="where the log is"):
            _ = store.views
        with pytest.raises(InvalidInput, match="onrecord verify"):
            store.verify()


async def test_the_same_store_is_awaited(service: Served) -> None:
    async with onrecord.connect_async(service.url, key="ork_writer") as store:
        chat = store.conversation("ada")
        done = await chat.user("Hallo")
        assert isinstance(done, Recorded)
        assert [turn.text for turn in await chat.history()] == ["Hallo"]
        (end,) = await store.cursors()
        async with store.subscribe(type(end)(end.incarnation, end.shard, 0)) as events:
            async for event in events:
                if event.version == done.last:
                    break


def test_operators_write_nothing_of_another_tenant_and_erase_no_conversation_of_it(
    writer: Http, stranger: Http
) -> None:
    conversation = uuid4()
    writer.append([appending(conversation, started(), prompt("swordfish"), tenant=TENANT)])
    stranger.append([appending(uuid4(), started(), tenant=OTHER)])
    keyed = stranger.digest
    foreign = Operators(stranger, OTHER)
    forged: list[Aggregate] = [
        Erasure(OTHER, conversation, 0, "mallory", "none"),
        Erasure(TENANT, conversation, 0, "mallory", "none"),
        Hold(TENANT, None, 0, "squat", "mallory", "none"),
        Hold(OTHER, conversation, 0, "squat", "mallory", "none"),
        Retention.begin(retention_id(keyed, TENANT), OTHER, None, None, None, 1, "mallory", "none"),
    ]
    for aggregate in forged:
        with pytest.raises(StorageReadOnly):
            foreign.save(aggregate)
    hold = foreign.place_hold(None, "Smith v. Example", "eve", "claim")
    assert foreign.lift_hold(hold.id, "eve", "settled") is True
    foreign.set_retention(None, "category", "health", 400, "eve", "a rule")


def test_a_key_for_all_tenants_erases_no_name_past_the_hold_of_its_tenant(
    service: Served, writer: Http, operator: Http, monkeypatch: pytest.MonkeyPatch
) -> None:
    everyone = Access(OTHER, "operate", "everyone", UUID(int=5), all_tenants=True)
    monkeypatch.setitem(KEYS, "ork_everyone", everyone)
    writer.append([appending(uuid4(), started(), tenant=TENANT)])
    digest = writer.digest("Ana")
    writer.actors().keep(TENANT, digest, "Ana")
    Operators(operator, TENANT).place_hold(None, "Smith v. Example", "eve", "claim")
    for log in _opened(service, "ork_everyone"):
        with pytest.raises(ConversationOnHold):
            log.forget(actor_id(TENANT, digest))
    assert writer.actors().names(TENANT, [digest])
