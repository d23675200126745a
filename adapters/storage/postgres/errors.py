"""What PostgreSQL and its driver complain about, in the words of the store.

No message holds a password, a parameter or stored content; the driver's error is chained.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import psycopg
from psycopg_pool import PoolClosed, PoolTimeout, TooManyRequests

from onrecord.adapters.storage.append import IN_CLEAR, KEPT_FOR_OPERATORS
from onrecord.adapters.storage.postgres.pool import AllLent
from onrecord.domain.errors import (
    ConversationForgotten,
    CorruptRecord,
    ForeignDatabase,
    InvalidInput,
    OnrecordError,
    StorageBusy,
    StorageFull,
    StorageReadOnly,
    StorageUnavailable,
    WrongNode,
)


class _Meaning(NamedTuple):
    error: type[OnrecordError]
    advice: str


_UNREACHABLE: Final = _Meaning(
    StorageUnavailable,
    "the PostgreSQL server cannot be reached: check host and port in the URL, and that it is up",
)
_ALL_LENT: Final = _Meaning(
    StorageBusy,
    "all connections that this process may open are in use, and none was given back in time: try "
    "again, or allow more",
)
_CLOSED: Final = _Meaning(StorageUnavailable, "the store is closed: connect again")
_REFUSED: Final = _Meaning(
    StorageUnavailable, "PostgreSQL refused the login: check user and password in the URL"
)
_CROWDED: Final = _Meaning(
    StorageUnavailable,
    "PostgreSQL has no connection left: close some, open fewer, or raise max_connections",
)
_NO_DATABASE: Final = _Meaning(
    StorageUnavailable, "the PostgreSQL server has no such database: create it, or check the URL"
)
_ENDED: Final = _Meaning(
    StorageUnavailable,
    "PostgreSQL ended the connection, and again at a second try; whether the last append was "
    "recorded is not known: append the same events again, their ids make that safe",
)
_LOCKED: Final = _Meaning(
    StorageBusy, "another session holds a lock for too long, or a timeout is too short: try again"
)
_FULL: Final = _Meaning(
    StorageFull, "PostgreSQL has no room left; nothing of the append was kept: make room"
)

_POOLED: Final = _Meaning(
    StorageUnavailable,
    "prepared statements do not last here, as behind a pooler of transactions: give the database's "
    "own URL as listen= or $ONRECORD_LISTEN_URL, and none are prepared",
)

# By SQLSTATE, or by its class (https://www.postgresql.org/docs/current/errcodes-appendix.html).
_BY_STATE: Final = {
    "08": _UNREACHABLE,
    "22": _Meaning(
        InvalidInput, "PostgreSQL cannot hold a text with a zero byte, or a number so large"
    ),
    "26": _POOLED,
    "28": _REFUSED,
    "3D": _NO_DATABASE,
    "53": _FULL,
    "53300": _CROWDED,
    "54": _Meaning(StorageFull, "the event is larger than PostgreSQL can hold: make it smaller"),
    "55": _LOCKED,
    "57": _ENDED,
    "57014": _LOCKED,
    "40": _LOCKED,
    "25006": _Meaning(
        StorageReadOnly, "PostgreSQL takes no writes here: use the primary, not a standby"
    ),
    "42501": _Meaning(
        StorageReadOnly,
        "this role has no right to do this for this tenant: connect as another one, which the log's owner "
        "has let in with SELECT onrecord.admit('role') to append, admit_gateway('role') to serve, "
        "admit_issuer('role') to issue keys of the service, admit_eraser('role') to erase, "
        "admit_worker('role') to keep views, or admit_operator('role') to pause, resume, retry and rebuild "
        "them; a role is of one kind",
    ),
    "0A000": _Meaning(
        StorageUnavailable,
        "writing needs READ COMMITTED transactions: ALTER ROLE the role SET "
        "default_transaction_isolation = 'read committed'",
    ),
    "42P05": _POOLED,
    "42": _Meaning(ForeignDatabase, "the schema is not as Onrecord made it: restore it"),
    "3F": _Meaning(ForeignDatabase, "the schema is not as Onrecord made it: restore it"),
    "XX": _Meaning(CorruptRecord, "PostgreSQL found its files damaged: see its log, restore"),
    # Our own: functions_verbs.sql raises them.
    "ZH001": _Meaning(
        StorageReadOnly, "the conversation is another tenant's: connect as that tenant"
    ),
    "ZH002": _Meaning(ConversationForgotten, "the conversation was forgotten: start another"),
    "ZH003": _Meaning(
        StorageReadOnly, "what operators did to the store is kept: it cannot be forgotten"
    ),
    "ZH005": _Meaning(StorageReadOnly, KEPT_FOR_OPERATORS),
    "ZH006": _Meaning(StorageReadOnly, IN_CLEAR),
    "P0002": _Meaning(
        StorageBusy, "the document was swept while its bytes came in: give it once more"
    ),
}

_OF_ANOTHER_NODE: Final = "ZH004"
"""Raised by the function `identity`; its message is host and port of the log's own node."""

# While connecting, the driver knows no SQLSTATE; these parts of messages are the server's own.
_BY_MESSAGE: Final = (
    ("too many", _CROWDED),
    ("connection slots", _CROWDED),
    ("password", _REFUSED),
    ("authentication", _REFUSED),
    ("pg_hba.conf", _REFUSED),
    ("role", _REFUSED),
    ("database", _NO_DATABASE),
)

_OF_THE_POOL: Final = (PoolClosed, PoolTimeout, TooManyRequests)


def translated(error: psycopg.Error) -> OnrecordError:
    """Return the store's error for a driver's: raise it from the driver's."""
    if error.sqlstate == _OF_ANOTHER_NODE:
        node = error.diag.message_primary
        return WrongNode(
            f"the log lies on the node {node} of the Citus cluster: connect to that one"
        )
    meaning = _meaning(error)
    return meaning.error(meaning.advice)


def translated_again(error: psycopg.Error) -> OnrecordError:
    """Return the store's error for one that came when a lost connection had been replaced."""
    is_unreachable = is_lost(error) or isinstance(error, PoolTimeout)
    return _ENDED.error(_ENDED.advice) if is_unreachable else translated(error)


def is_lost(error: psycopg.Error) -> bool:
    """Whether the connection went while it was used, so that a new one may help."""
    if not isinstance(error, psycopg.OperationalError) or isinstance(error, _OF_THE_POOL):
        return False
    # 57P01 to 57P03: the server shuts down, crashed, starts. Without a state, the socket broke.
    return error.sqlstate is None or error.sqlstate.startswith(("57P0", "08"))


def _meaning(error: psycopg.Error) -> _Meaning:
    if isinstance(error, PoolClosed):
        return _CLOSED
    if isinstance(error, AllLent):
        return _ALL_LENT
    if isinstance(error, PoolTimeout | TooManyRequests):
        return _UNREACHABLE
    state = error.sqlstate
    if state is not None:
        unknown = _Meaning(StorageUnavailable, f"PostgreSQL reported {state}: see its log")
        return _BY_STATE.get(state) or _BY_STATE.get(state[:2]) or unknown
    message = str(error)
    if "FATAL" not in message:
        return _UNREACHABLE
    return next((meaning for part, meaning in _BY_MESSAGE if part in message), _UNREACHABLE)
