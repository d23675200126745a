"""Where a log is on PostgreSQL: a database, and a schema of its own in it."""

from __future__ import annotations

import re
from typing import Final, NamedTuple
from urllib.parse import unquote

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from onrecord.adapters.storage.queries import DEFAULT_SCHEMA
from onrecord.domain.errors import InvalidInput

_SCHEMA: Final = re.compile(r"(?<=[?&])schema=([^&#]*)&?")
_PLAIN: Final = re.compile(r"(?!pg_|public$|information_schema$)[a-z][a-z0-9_]{0,62}")

_DEFAULTS: Final = {"connect_timeout": "10", "application_name": "onrecord"}


class Address(NamedTuple):
    """What libpq needs to connect, and the schema that is the log: several fit into a database."""

    conninfo: str
    schema: str = DEFAULT_SCHEMA


def address_of(url: str) -> Address:
    """Return where the log of a URL is; its parameter `schema` names the schema.

    postgresql://user@host/database?schema=support. InvalidInput where it is no URL of PostgreSQL, or
    the name is not one that SQL takes without quotes.
    """
    named = _SCHEMA.search(url)
    if named is None:
        return Address(_conninfo(url))
    schema = unquote(named.group(1))
    if _PLAIN.fullmatch(schema) is None:
        raise InvalidInput(
            "the schema in the URL is no name for a log: write up to 63 small letters, digits and _, "
            "a letter first; not public, nor one that begins with pg_"
        )
    return Address(_conninfo(_SCHEMA.sub("", url).rstrip("?&")), schema)


def direct(address: Address, listen: str | None) -> Address:
    """Return where the server itself is, by a URL that leads past the pooler of an address."""
    return Address(address_of(listen).conninfo, address.schema) if listen else address


def _conninfo(url: str) -> str:
    try:
        given = conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        # Not chained: the driver repeats the part that it did not understand.
        raise InvalidInput(
            "the URL is not understood: write postgresql://user:password@host:5432/database, "
            "with %40 for an @ in the password"
        ) from None
    return make_conninfo(**(_DEFAULTS | {name: str(value) for name, value in given.items()}))
