"""Who may do what: events never change, applications only append, tenants do not meet."""

from typing import LiteralString
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import errors
from psycopg.sql import SQL, Identifier

import onrecord
from onrecord.adapters.storage.postgres import batch as postgres_batch
from onrecord.adapters.storage.postgres.postgres import Postgres, open_postgres
from onrecord.adapters.store import backend_of
from onrecord.domain.errors import ConversationNotFound, StorageReadOnly
from onrecord.domain.log import Append, Recorded
from onrecord.domain.marks.marked_ids import erasure_id, is_key, is_marked, operators_of
from onrecord.domain.operators import INTENDED
from tests.adapters.storage.postgres.roles import ROLE, admit
from tests.adapters.storage.postgres.test_postgres import as_role
from tests.factories import BECAUSE, OTHER_TENANT, TENANT, appending, raw_event
from tests.ledger import verified_log
from tests.postgres_server import owner_s

CHANGES: tuple[LiteralString, ...] = (
    "UPDATE onrecord.event SET body = 'rewritten'",
    "UPDATE onrecord.event SET body = NULL, salt = NULL",
    "DELETE FROM onrecord.event",
    "TRUNCATE onrecord.event",
)


@pytest.mark.parametrize("change", CHANGES)
def test_events_never_change_not_even_for_their_owner(
    url: str, owner: Postgres, change: LiteralString
) -> None:
    owner.append([appending(uuid4(), raw_event(), raw_event())])
    before = verified_log(owner)
    with (
        psycopg.connect(url, autocommit=True) as connection,
        pytest.raises(errors.ObjectNotInPrerequisiteState, match="immutable"),
    ):
        connection.execute(change)
    assert verified_log(owner) == before


def test_erasing_takes_nothing_but_what_was_said(url: str, owner: Postgres) -> None:
    owner.append([appending(uuid4(), raw_event())])
    with psycopg.connect(url, autocommit=True) as connection, connection.transaction():
        connection.execute("SELECT set_config('onrecord.erasing', 'on', true)")
        with pytest.raises(errors.ObjectNotInPrerequisiteState, match="immutable"):
            connection.execute("UPDATE onrecord.event SET body = NULL, salt = NULL, version = 7")


@pytest.mark.parametrize(
    "change",
    [
        *CHANGES,
        "INSERT INTO onrecord.event SELECT * FROM onrecord.event",
        "UPDATE onrecord.conversation_head SET version = 0",
        "DELETE FROM onrecord.blob",
        "UPDATE onrecord.meta SET incarnation = '0190f000-0000-7000-8000-000000000000'",
        "INSERT INTO onrecord.caller VALUES ('onrecord_app', gen_random_uuid())",
        "SELECT onrecord.admit('onrecord_app')",
        "SELECT onrecord.forget_in_log(e.conversation_id) FROM onrecord.event AS e",
        "ALTER TABLE onrecord.event DISABLE TRIGGER ALL",
    ],
)
def test_an_application_may_append_and_nothing_else(url: str, change: LiteralString) -> None:
    log = open_postgres(admit(url))
    assert log.append([appending(uuid4(), raw_event())]) == [Recorded(1, 1, 1)]
    with (
        psycopg.connect(as_role(url, ROLE), autocommit=True) as connection,
        pytest.raises(errors.InsufficientPrivilege),
    ):
        connection.execute(change)
    log.close()


def test_an_application_has_all_the_verbs(url: str) -> None:
    log = open_postgres(admit(url))
    conversation = log.open(TENANT, "support/4711")
    blob = log.put_blob(TENANT, conversation, [b"large"])
    log.append([appending(conversation, raw_event(blobs=(blob,)))])
    assert b"".join(log.get_blob(conversation, blob)) == b"large"
    assert [found.conversation_id for found in log.conversations(TENANT)] == [conversation]
    assert len(verified_log(log)) == 1
    with pytest.raises(StorageReadOnly):
        log.forget(conversation)
    with pytest.raises(StorageReadOnly):
        log.sweep_blobs(0)
    log.close()


@pytest.mark.parametrize("bound", [TENANT, None])
def test_an_eraser_erases_and_says_so_and_writes_nothing_else(
    url: str, owner: Postgres, bound: object
) -> None:
    ours, theirs = uuid4(), uuid4()
    owner.append(
        [appending(ours, raw_event()), appending(theirs, raw_event(), tenant=OTHER_TENANT)]
    )
    with psycopg.connect(owner_s(url), autocommit=True) as connection:
        connection.execute("SELECT onrecord.admit_eraser(%s, %s::uuid)", (ROLE, bound))
    with onrecord.connect(as_role(url, ROLE), tenant=TENANT) as store:
        assert store.forget(ours, **BECAUSE).events == 1
        assert [one.outcome is not None for one in store.erasures()] == [True]
        with pytest.raises(StorageReadOnly):
            backend_of(store).append([appending(uuid4(), raw_event())])
        with pytest.raises(StorageReadOnly):
            backend_of(store).put_blob(TENANT, theirs, [b"bytes"])
    with onrecord.connect(as_role(url, ROLE), tenant=OTHER_TENANT) as store:
        if bound is None:
            assert store.forget(theirs, **BECAUSE).events == 1
        else:
            with pytest.raises(ConversationNotFound):
                store.forget(theirs, **BECAUSE)
            assert backend_of(store).forget(theirs) == 0


@pytest.mark.parametrize("bound", [TENANT, None])
def test_who_appends_writes_no_operators_stream(
    url: str, owner: Postgres, bound: UUID | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a role asks of the functions, past what the library looks at."""
    monkeypatch.setattr(postgres_batch, "must_be_apart", list[Append])
    owner.append([appending(uuid4(), raw_event())])
    fact = raw_event()._replace(type=INTENDED)
    forged, anywhere = erasure_id(TENANT, uuid4(), 0), uuid4()
    log = open_postgres(admit(url, bound))
    for conversation, event, tenant in (
        (anywhere, raw_event(), operators_of(TENANT)),
        (forged, fact, operators_of(TENANT)),
        (forged, fact, operators_of(uuid4())),
        (forged, raw_event(), TENANT),
        (forged, fact, TENANT),
        (anywhere, fact, TENANT),
    ):
        request = appending(conversation, event, tenant=tenant)
        for batch in ([request], [request, appending(uuid4(), raw_event())]):
            with pytest.raises(StorageReadOnly):
                log.append(batch)
    for forge in (
        lambda: log.open(TENANT, "support/4711", forged),
        lambda: log.put_blob(TENANT, forged, [b"bytes"]),
    ):
        with pytest.raises(StorageReadOnly):
            forge()
    log.close()
    assert list(owner.read(forged)) == list(owner.read(anywhere)) == []


def test_the_ids_of_operators_are_the_same_in_both_languages(url: str) -> None:
    ids = [uuid4(), UUID(int=0), UUID(int=2**128 - 1), operators_of(TENANT)]
    near = ["4f4e5243-ffff-8fff-bfff-ffffffffffff", "4f4e5243-0000-7000-8000-000000000000"]
    near += ["4f4e5245-0000-8000-8000-000000000000", "4f4e5242-ffff-8fff-bfff-ffffffffffff"]
    near += ["4f4e524b-0000-8000-8000-000000000000", "4f4e524a-ffff-8fff-bfff-ffffffffffff"]
    ids += [UUID(one) for one in near]
    with psycopg.connect(owner_s(url), autocommit=True) as connection:
        for one in (*ids, *map(operators_of, ids), *(erasure_id(one, one, 3) for one in ids)):
            row = connection.execute(
                "SELECT onrecord.operators_of(%s), onrecord.is_marked(%s), onrecord.is_key(%s)",
                (one, one, one),
            ).fetchone()
            assert row == (operators_of(one), is_marked(one), is_key(one))
    assert [is_marked(one) for one in ids[3:]] == [True, True, False, False, False, True, False]


def test_a_role_that_was_not_let_in_is_told_how(url: str, owner: Postgres) -> None:
    with pytest.raises(StorageReadOnly, match=r"onrecord\.admit"):
        open_postgres(as_role(url, ROLE))


@pytest.mark.parametrize("bound", [TENANT, None])
def test_who_may_not_erase_is_told_how_an_eraser_is_let_in(
    url: str, owner: Postgres, bound: object
) -> None:
    told = appending(uuid4(), raw_event())
    owner.append([told])
    with onrecord.connect(admit(url, bound), tenant=TENANT) as store:
        with pytest.raises(StorageReadOnly, match=r"onrecord\.admit_eraser\('role'\)"):
            store.forget(told.conversation_id, **BECAUSE)
        with pytest.raises(StorageReadOnly, match=r"onrecord\.admit_eraser\('role'\)"):
            store.sweep()


def test_a_bound_role_writes_for_its_tenant_only(url: str, owner: Postgres) -> None:
    theirs, taken = uuid4(), uuid4()
    owner.append([appending(theirs, raw_event(), tenant=OTHER_TENANT)])
    bound = open_postgres(admit(url, TENANT))
    assert isinstance(bound.append([appending(uuid4(), raw_event())])[0], Recorded)
    before = verified_log(owner)
    with pytest.raises(StorageReadOnly, match="no right"):
        bound.append([appending(uuid4(), raw_event(), tenant=OTHER_TENANT)])
    with pytest.raises(StorageReadOnly, match="no right"):
        bound.append(
            [
                appending(uuid4(), raw_event()),
                appending(uuid4(), raw_event(), tenant=OTHER_TENANT),
            ]
        )
    with pytest.raises(StorageReadOnly, match="another tenant's"):
        bound.append([appending(taken, raw_event()), appending(theirs, raw_event())])
    with pytest.raises(StorageReadOnly, match="no right"):
        bound.open(OTHER_TENANT, "key")
    with pytest.raises(StorageReadOnly, match="no right"):
        bound.put_blob(OTHER_TENANT, theirs, [b"bytes"])
    assert verified_log(owner) == before
    bound.close()


def test_a_bound_role_sees_its_tenant_only(url: str, owner: Postgres) -> None:
    ours, theirs = owner.open(TENANT, "ours"), owner.open(OTHER_TENANT, "theirs")
    blob = owner.put_blob(OTHER_TENANT, theirs, [b"their bytes"])
    owner.append(
        [
            appending(ours, raw_event()),
            appending(theirs, raw_event(blobs=(blob,)), tenant=OTHER_TENANT),
        ]
    )
    bound = open_postgres(admit(url, TENANT))
    assert [event.version for event in bound.read(ours)] == [1]
    assert list(bound.read(theirs)) == []
    assert bound.head(theirs).version == 0
    assert bound.find(OTHER_TENANT, "theirs") is None
    assert list(bound.conversations(OTHER_TENANT)) == []
    bound.close()
    with psycopg.connect(as_role(url, ROLE), autocommit=True) as connection:
        for table in ("tenant", "event", "conversation_head", "conversation_key", "blob_chunk"):
            query = SQL("SELECT tenant FROM onrecord.{}").format(Identifier(table))
            assert {tenant for (tenant,) in connection.execute(query)} <= {TENANT}


def test_the_binding_goes_by_who_logged_in(url: str, owner: Postgres) -> None:
    admit(url, TENANT)
    with psycopg.connect(as_role(url, ROLE), autocommit=True) as connection:
        with pytest.raises(errors.InsufficientPrivilege):
            connection.execute("SET ROLE postgres")
        connection.execute("SELECT set_config('onrecord.erasing', 'on', false)")
        with pytest.raises(errors.InsufficientPrivilege):
            connection.execute("UPDATE onrecord.event SET body = NULL")


def test_a_bound_role_moves_no_position_of_another_tenant(url: str, owner: Postgres) -> None:
    moved = "SELECT t FROM onrecord.track(%s, 'a', 'b', %s) AS t"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(moved, (OTHER_TENANT, 7))
    with psycopg.connect(admit(url, TENANT), autocommit=True) as connection:
        assert connection.execute(moved, (TENANT, 1)).fetchall() == [(1,)]
        assert connection.execute(moved, (TENANT, 1)).fetchall() == []
        with pytest.raises(errors.InsufficientPrivilege):
            connection.execute(moved, (OTHER_TENANT, 9))
        with pytest.raises(errors.InsufficientPrivilege):
            connection.execute("UPDATE onrecord.tracking SET position = 99")
        assert connection.execute(moved, (TENANT, 99)).fetchall() == [(99,)]
        assert connection.execute("SELECT position FROM onrecord.tracking").fetchall() == [(99,)]
    with psycopg.connect(url, autocommit=True) as connection:
        found = connection.execute("SELECT tenant, position FROM onrecord.tracking ORDER BY tenant")
        assert found.fetchall() == [(TENANT, 99), (OTHER_TENANT, 7)]


@pytest.mark.parametrize("bound", [TENANT, None])
def test_an_application_keeps_snapshots_of_what_its_tenant_recorded_only(
    url: str, owner: Postgres, bound: object
) -> None:
    ours, theirs = uuid4(), uuid4()
    owner.append(
        [appending(ours, raw_event()), appending(theirs, raw_event(), tenant=OTHER_TENANT)]
    )
    with onrecord.connect(url, tenant=TENANT) as store:
        store.conversation("gone").user("Hello")
        store.forget("gone", **BECAUSE)
        (erased,) = store.erasures()
    keep = "SELECT * FROM onrecord.keep_snapshot(%s, %s, %s, 'topic', '')"
    with psycopg.connect(admit(url, bound), autocommit=True) as role:
        assert role.execute(keep, (TENANT, ours, 1)).fetchall() == [(1,)]
        assert role.execute(keep, (TENANT, ours, 1)).fetchall() == []
        for place in (
            (TENANT, ours, 2),
            (TENANT, ours, -1),
            (TENANT, uuid4(), 1),
            (TENANT, theirs, 1),
            (TENANT, erased.conversation_id, 1),
            (TENANT, erased.erasure_id, 1),
            (operators_of(TENANT), erased.erasure_id, 1),
        ):
            with pytest.raises(psycopg.Error) as raised:
                role.execute(keep, place)
            assert raised.value.sqlstate in {"42501", "ZH001", "ZH002", "ZH005"}, place
        with pytest.raises(errors.InsufficientPrivilege):
            role.execute(
                "INSERT INTO onrecord.snapshot VALUES (%s, %s, 1, '', '')", (TENANT, theirs)
            )
    with onrecord.connect(url, tenant=TENANT) as store:
        assert [fault for fault in store.verify().faults if "snapshot" in fault.why] == []


def test_a_bound_role_holds_up_no_erasure_of_another_tenant(url: str, owner: Postgres) -> None:
    theirs, blob = uuid4(), uuid4()
    owner.append([appending(theirs, raw_event(), tenant=OTHER_TENANT)])
    holds = (
        ("SELECT onrecord.must_take(%s, %s)", (TENANT, theirs)),
        ("SELECT onrecord.must_take(%s, %s)", (OTHER_TENANT, theirs)),
        ("SELECT onrecord.open_conversation(%s, %s, %s)", (TENANT, bytes(16), theirs)),
        ("SELECT onrecord.put_chunk(%s, %s, %s, 0, '')", (TENANT, theirs, blob)),
    )
    with psycopg.connect(admit(url, TENANT)) as holder:
        for query, parameters in holds:
            holder.execute("SAVEPOINT held")
            with pytest.raises(psycopg.Error):
                holder.execute(query.encode(), parameters)
            with psycopg.connect(url, autocommit=True) as looking:
                locked = "SELECT FROM onrecord.conversation_head FOR UPDATE SKIP LOCKED"
                assert looking.execute(locked).rowcount == 1
            holder.execute("ROLLBACK TO SAVEPOINT held")
        assert owner.forget(theirs) == 1


def test_a_key_that_was_opened_for_an_id_to_come_erases_nothing_of_another_tenant(
    url: str, owner: Postgres
) -> None:
    theirs = uuid4()
    owner.open(TENANT, "of an id to come", theirs)
    owner.append([appending(theirs, raw_event(), tenant=OTHER_TENANT)])
    with psycopg.connect(owner_s(url), autocommit=True) as connection:
        connection.execute("SELECT onrecord.admit_eraser(%s, %s::uuid)", (ROLE, TENANT))
    bound = open_postgres(as_role(url, ROLE))
    assert bound.forget(theirs) == 0
    assert (bound.erasures(), owner.forget(theirs)) == (0, 1)
    bound.close()
