"""Which roles keep, see and forget the names of actors: those of their own tenant."""

from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import errors

import onrecord
from onrecord.adapters.storage.postgres.postgres import Postgres, open_postgres
from onrecord.adapters.store import backend_of
from onrecord.domain.actors import actor_id
from onrecord.domain.errors import StorageReadOnly
from tests.adapters.storage.postgres.roles import ROLE, admit
from tests.adapters.storage.postgres.test_postgres import as_role
from tests.factories import BECAUSE, OTHER_TENANT, TENANT, appending, raw_event
from tests.postgres_server import owner_s


@pytest.mark.parametrize("bound", [TENANT, None])
def test_a_role_names_and_sees_the_actors_of_its_tenants_only(
    url: str, owner: Postgres, bound: UUID | None
) -> None:
    digest = owner.digest("ana")
    owner.actors().keep(OTHER_TENANT, digest, "ana")
    log = open_postgres(admit(url, bound))
    log.actors().keep(TENANT, digest, "ana")
    assert log.actors().names(TENANT, [digest]) == {digest: "ana"}
    if bound is None:
        assert log.actors().names(OTHER_TENANT, [digest]) == {digest: "ana"}
    else:
        assert log.actors().names(OTHER_TENANT, [digest]) == {}
        with pytest.raises(StorageReadOnly):
            log.actors().keep(OTHER_TENANT, owner.digest("bob"), "bob")
    with pytest.raises(StorageReadOnly):
        log.forget(actor_id(TENANT, digest))
    log.close()
    with psycopg.connect(as_role(url, ROLE), autocommit=True) as connection:
        for change in (
            "DELETE FROM onrecord.actor_name",
            "UPDATE onrecord.actor_name SET name = ''",
        ):
            with pytest.raises(errors.InsufficientPrivilege):
                connection.execute(change)
    assert len(list(owner.actors().stored())) == 2


@pytest.mark.parametrize("bound", [TENANT, None])
def test_an_eraser_forgets_names_of_its_tenant_only(
    url: str, owner: Postgres, bound: UUID | None
) -> None:
    digest = owner.digest("ana")
    for tenant in (TENANT, OTHER_TENANT):
        owner.append([appending(uuid4(), raw_event(), tenant=tenant)])
        owner.actors().keep(tenant, digest, "ana")
    with psycopg.connect(owner_s(url), autocommit=True) as connection:
        connection.execute("SELECT onrecord.admit_eraser(%s, %s::uuid)", (ROLE, bound))
    with onrecord.connect(as_role(url, ROLE), tenant=TENANT) as store:
        store.forget_actor("ana", **BECAUSE)
        assert backend_of(store).forget(actor_id(OTHER_TENANT, digest)) == 0
    left = [name.tenant for name in owner.actors().stored()]
    assert left == ([OTHER_TENANT.bytes] if bound else [])
