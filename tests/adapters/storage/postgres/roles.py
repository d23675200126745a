"""A role of the tests, and how the owner of a log lets it in."""

import psycopg

from tests.adapters.storage.postgres.test_postgres import as_role
from tests.postgres_server import owner_s

ROLE = "onrecord_app"


def admit(url: str, tenant: object = None) -> str:
    with psycopg.connect(owner_s(url), autocommit=True) as connection:
        connection.execute("SELECT onrecord.admit(%s, %s::uuid)", (ROLE, tenant))
    return as_role(url, ROLE)
