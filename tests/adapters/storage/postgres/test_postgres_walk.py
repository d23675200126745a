"""No role reaches from one tenant to another: every table, function and type of the log is tried.

All of them are taken from the database's catalogue. What is new is in no list here, and fails.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, LiteralString

import psycopg
import pytest
from psycopg import errors
from psycopg.sql import SQL, Identifier

import onrecord
from onrecord.adapters.storage.postgres.postgres import migrate, open_postgres
from tests.adapters.storage.neighbours import OURS, Neighbour, kept, neighbour_of, settled, tables
from tests.adapters.storage.postgres.test_postgres import as_role
from tests.factories import BECAUSE, appending, raw_event
from tests.postgres_server import VERSIONS, server

OF_TENANTS: Final = {
    *("actor_name", "blob", "blob_chunk", "conversation_head", "conversation_key", "erasure"),
    *("event", "parked", "snapshot", "tenant", "tracking", "view_audit", "view_conversations"),
    *("view_own", "view_search", "view_tool_ledger", "view_usage", "view_window"),
}
OF_ALL: Final = {"checkpoint", "generation", "migration", "part", "shard_lock", "view", "worker"}
"""These say nothing of a tenant."""

OF_THE_OWNER: Final = {"caller", "meta"}

_EVENT: Final = (
    "ROW(gen_random_uuid(), 'test', 1, '{}', '', '{}', NULL, 0, NULL, 0, 0)::onrecord.new_event"
)
_WANTED: Final = "jsonb_build_object('words', %(word)s::text)"


def of_both(call: str) -> tuple[str, str]:
    """Return a call that names the other tenant, and one that names the caller's own."""
    return call.replace("TENANT", "%(other)s::uuid"), call.replace("TENANT", "%(own)s::uuid")


CALLS: Final[dict[str, tuple[str, ...]]] = {
    "append": of_both(
        f"SELECT * FROM onrecord.append(ARRAY[ROW(TENANT, %(theirs)s, NULL, ARRAY[{_EVENT}], "
        "'{}')::onrecord.request])"
    ),
    "must_take": of_both("SELECT onrecord.must_take(TENANT, %(theirs)s)"),
    "open_conversation": (
        *of_both("SELECT onrecord.open_conversation(TENANT, %(key)s, %(theirs)s)"),
        "SELECT onrecord.open_conversation(%(own)s, %(key)s, %(ours)s)",
    ),
    "put_chunk": (
        *of_both("SELECT onrecord.put_chunk(TENANT, %(theirs)s, %(incoming)s, 1, '')"),
        "SELECT onrecord.put_chunk(%(own)s, %(ours)s, %(incoming)s, 1, '')",
    ),
    "seal_blob": (
        *of_both("SELECT onrecord.seal_blob(TENANT, %(theirs)s, %(incoming)s, %(digest)s, 1)"),
        "SELECT onrecord.seal_blob(%(own)s, %(ours)s, %(incoming)s, %(digest)s, 1)",
    ),
    "mark_encrypted": ("SELECT onrecord.mark_encrypted()::text",),
    "forget": ("SELECT onrecord.forget(%(theirs)s)", "SELECT onrecord.forget(%(their_actor)s)"),
    "sweep_blobs": ("SELECT onrecord.sweep_blobs(0)",),
    "hold_off_erasures": ("SELECT onrecord.hold_off_erasures()",),
    "keep_snapshot": of_both("SELECT onrecord.keep_snapshot(TENANT, %(theirs)s, 1, 'topic', '')"),
    "keep_actor_name": (
        *of_both("SELECT onrecord.keep_actor_name(TENANT, %(actor)s, %(their_actor)s, 'x')"),
        "SELECT onrecord.keep_actor_name(%(other)s, uuid_send(%(own)s), %(their_actor)s, 'x')",
    ),
    "track": ("SELECT onrecord.track(%(other)s, %(word)s, 'application', 99)",),
    "search_rows": of_both(f"SELECT (onrecord.search_rows(1, TENANT, {_WANTED}, '{{}}', 9))::text"),
    **{
        name: (f"SELECT i::text FROM onrecord.{name}() AS i",)
        for name in (
            *("bound_operators", "bound_tenant", "clock", "erasures", "has_residue", "identity"),
            *("is_encrypted", "moment", "parts", "shards"),
        )
    },
    "operators_of": (),  # It counts, and looks at nothing.
}
"""What is called with the ids of another tenant, by name of the function."""

OF_NOBODY: Final = {
    *("admit", "admit_auditor", "admit_eraser", "admit_operator", "admit_sealer", "admit_worker"),
    *(
        "admit_gateway",
        "admit_issuer",
        "is_key",
        "may_record",
        "admitted",
        "cohorts",
        "shard_to_append",
    ),
    *("forget_in_log", "forget_in_views", "incarnation", "let_in", "hold_conversation"),
    *("hold_conversation_soon", "place_of", "refuse_tenants", "let_in_as", "may_tell_access"),
    *("must_be_the_log_s_node", "refuse_change", "renew_admissions", "repetition", "shard_of"),
    *("statements_of", "unstated_columns", "verbs_of", "is_marked", "access_id", "is_access"),
    *("destroyed_key", "destroyed_key_id", "is_clear", "is_under_keys"),
    "is_said_in_clear",
}
"""The owner's alone, and what functions call; so is what erases in a view."""

TYPES: Final = {"cohort", "new_event", "request"}

EVERYONE: Final = {
    *("bound_operators", "bound_tenant", "clock", "erasures", "has_residue", "identity", "moment"),
    *("is_encrypted", "operators_of", "parts", "shards"),
}
APPENDS: Final = {
    "mark_encrypted",
    *("append", "must_take", "open_conversation", "put_chunk", "seal_blob", "search_rows"),
    *("keep_actor_name", "keep_snapshot", "track", *EVERYONE),
}
READS: Final = {"append", "keep_actor_name", "search_rows", *EVERYONE}
VERBS: Final = {
    **dict.fromkeys(("runtime", "gateway"), APPENDS),
    "eraser": {"forget", "sweep_blobs", *READS},
    **dict.fromkeys(("issuer", "auditor"), READS),
    "sealer": EVERYONE,
    "worker": {"hold_off_erasures", "search_rows", *EVERYONE},
    "operator": {"hold_off_erasures", *READS},
}
BOUND: Final = ("runtime", "gateway", "eraser", "issuer", "auditor", "sealer")
ROLES: Final = (
    *((kind, True) for kind in BOUND),
    *((kind, False) for kind in (*BOUND, "worker", "operator")),  # These two serve all tenants.
)


# -- the place ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Street:
    """A database with two tenants of one shard, and roles of every kind."""

    url: str
    us: Neighbour
    them: Neighbour

    def role(self, kind: str, *, bound: bool) -> str:
        return as_role(self.url, role_of(kind, bound))

    def ids(self) -> dict[str, Any]:
        return {
            "own": self.us.tenant,
            "ours": self.us.conversation,
            "other": self.them.tenant,
            "theirs": self.them.conversation,
            "incoming": self.them.incoming,
            "digest": bytes.fromhex(self.them.blob.sha256),
            "key": self.them.key,
            "word": self.them.word,
            "actor": self.them.actor,
            "their_actor": self.them.actor_id,
        }


def role_of(kind: str, bound: bool) -> str:
    return f"onrecord_walk_{kind}_{'bound' if bound else 'unbound'}"


@pytest.fixture(scope="module")
def street() -> Iterator[Street]:
    running = server(VERSIONS[-1])
    url = running.create("log", migrate)
    place = Street(url, settled(url, OURS), settled(url, neighbour_of(url)))
    for kind, bound in ROLES:
        role, verb = role_of(kind, bound), "admit" if kind == "runtime" else f"admit_{kind}"
        running.execute("CREATE ROLE {} LOGIN", role)
        with psycopg.connect(url, autocommit=True) as owner:
            call = SQL("SELECT onrecord.{}({})").format(
                Identifier(verb), SQL("%s, %s" if bound else "%s")
            )
            owner.execute(call, (role, OURS) if bound else (role,))
    yield place
    running.drop(url)
    for kind, bound in ROLES:
        running.execute("DROP ROLE {}", role_of(kind, bound))


def named(url: str, query: LiteralString) -> set[str]:
    with psycopg.connect(url, autocommit=True) as owner:
        return {name for (name,) in owner.execute(query).fetchall()}


FUNCTIONS: Final = "SELECT proname FROM pg_proc WHERE pronamespace = 'onrecord'::regnamespace"


def test_all_that_the_schema_has_is_tried_here(street: Street) -> None:
    found = dict(tables(street.url))
    assert set(found) == OF_TENANTS | OF_ALL | OF_THE_OWNER
    assert {name for name, has_tenant in found.items() if has_tenant} == OF_TENANTS | {"caller"}
    functions = {
        name for name in named(street.url, FUNCTIONS) if not name.startswith("forget_in_view_")
    }
    assert functions == set(CALLS) | OF_NOBODY
    assert {name for verbs in VERBS.values() for name in verbs} == set(CALLS)
    kinds = "SELECT relkind::text FROM pg_class WHERE relnamespace = 'onrecord'::regnamespace"
    assert named(street.url, kinds) == {"r", "i", "c"}  # Neither views nor sequences.
    types = (
        "SELECT t.typname FROM pg_type AS t LEFT JOIN pg_class AS c ON c.oid = t.typrelid "
        "WHERE t.typnamespace = 'onrecord'::regnamespace AND t.typelem = 0 "
        "AND c.relkind IS DISTINCT FROM 'r'"
    )
    assert named(street.url, types) == TYPES


def test_rows_of_tenants_are_guarded_and_there_are_some(street: Street) -> None:
    guarded = (
        "SELECT c.relname FROM pg_class AS c JOIN pg_policy AS p ON p.polrelid = c.oid "
        "WHERE c.relnamespace = 'onrecord'::regnamespace AND c.relrowsecurity AND p.polpermissive"
    )
    assert named(street.url, guarded) == OF_TENANTS
    rows = kept(street.url, OURS)
    assert {table for table in OF_TENANTS if not rows[table]} == set()


# -- what is tried -----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", BOUND)
def test_nothing_of_another_tenant_is_seen(street: Street, kind: str) -> None:
    with psycopg.connect(street.role(kind, bound=True), autocommit=True) as role:
        seen = 0
        for table, _ in tables(street.url):
            for column in columns(street.url, table):
                told = text_of(role, table, column)
                seen += bool(told)
                assert not [mark for mark in street.them.marks() if mark in told], (table, column)
        told = str(role.execute("SELECT * FROM pg_stats WHERE schemaname = 'onrecord'").fetchall())
        assert not [mark for mark in street.them.marks() if mark in told]
        assert seen > 10


def columns(url: str, table: str) -> set[str]:
    query = SQL("SELECT attname FROM pg_attribute WHERE attrelid = {}::regclass AND attnum > 0")
    with psycopg.connect(url, autocommit=True) as owner:
        found = owner.execute(query.format(f"onrecord.{table}")).fetchall()
    return {name for (name,) in found}


def text_of(role: psycopg.Connection[Any], table: str, column: str) -> str:
    query = SQL("SELECT {}::text FROM {}").format(Identifier(column), Identifier("onrecord", table))
    try:
        return str(role.execute(query).fetchall())
    except errors.InsufficientPrivilege:
        return ""


@pytest.mark.parametrize("kind", BOUND)
def test_no_function_tells_of_another_tenant_or_changes_what_it_has(
    street: Street, kind: str
) -> None:
    before = kept(street.url, OURS)
    with psycopg.connect(street.role(kind, bound=True), autocommit=True) as role:
        for name, calls in CALLS.items():
            for call in calls:
                told = called(role, call, street.ids())
                known = () if name == "open_conversation" else street.them.marks()
                assert not [mark for mark in known if mark in told], call
                if name not in VERBS[kind]:
                    assert told == "42501", call
    assert kept(street.url, OURS) == before


REFUSALS: Final = {"42501", "P0002", "ZH001"}
"""No right, no such blob of this tenant, and another tenant's conversation."""


def called(role: psycopg.Connection[Any], call: str, ids: dict[str, Any]) -> str:
    """Return what a call told, or the code of its error."""
    try:
        return str(role.execute(call.encode(), ids).fetchall())
    except psycopg.Error as error:
        assert error.sqlstate in REFUSALS, error
        return error.sqlstate


@pytest.mark.parametrize("kind", BOUND)
def test_no_row_of_another_tenant_is_changed(street: Street, kind: str) -> None:
    before = kept(street.url, OURS)
    with psycopg.connect(street.role(kind, bound=True), autocommit=True) as role:
        for table, _ in tables(street.url):
            place = Identifier("onrecord", table)
            statements = [
                SQL("INSERT INTO {} SELECT * FROM {}").format(place, place),
                SQL("DELETE FROM {}").format(place),
                SQL("TRUNCATE {}").format(place),
                *(
                    SQL("UPDATE {} SET {} = {}").format(place, *[Identifier(column)] * 2)
                    for column in columns(street.url, table)
                ),
            ]
            for statement in statements:
                with suppress(errors.InsufficientPrivilege, errors.UniqueViolation):
                    assert role.execute(statement).rowcount == 0, statement
    assert kept(street.url, OURS) == before


HOLDS: Final[tuple[str, ...]] = (
    *(f"SELECT FROM {{}} FOR {how}" for how in ("UPDATE", "NO KEY UPDATE", "SHARE", "KEY SHARE")),
    *(
        f"LOCK TABLE {{}} IN {how} MODE NOWAIT"
        for how in (
            *("ROW SHARE", "ROW EXCLUSIVE", "SHARE UPDATE EXCLUSIVE", "SHARE"),
            *("SHARE ROW EXCLUSIVE", "EXCLUSIVE", "ACCESS EXCLUSIVE"),
        )
    ),
)
HELD: Final = """
SELECT DISTINCT l.mode FROM pg_locks AS l
WHERE l.pid = %s AND (l.locktype = 'advisory' OR l.relation::regclass::text LIKE 'onrecord.%%')
    AND (l.mode NOT IN ('AccessShareLock', 'RowShareLock', 'RowExclusiveLock')
        OR l.mode <> 'AccessShareLock' AND l.relation::regclass::text ~ '[.](erasure|migration)$')
"""


@pytest.mark.parametrize("kind", BOUND)
def test_nobody_waits_for_what_a_bound_role_holds(street: Street, kind: str) -> None:
    with psycopg.connect(street.role(kind, bound=True)) as holder:
        for table, _ in tables(street.url):
            for hold in HOLDS:
                held(holder, hold.format(f'onrecord."{table}"').encode(), {})
        for name, calls in CALLS.items():
            # Who erases holds up the writers of a shard for a moment, as who appends does.
            for call in calls if name != "forget" else ():
                held(holder, call.encode(), street.ids())
        with psycopg.connect(street.url, autocommit=True) as owner:
            assert owner.execute(HELD, (holder.info.backend_pid,)).fetchall() == []
            shards = owner.execute(
                "SELECT FROM onrecord.shard_lock FOR UPDATE SKIP LOCKED"
            ).rowcount
            assert owner.execute("SELECT onrecord.shards()").fetchone() == (shards,)
            for table in OF_TENANTS:
                row = SQL("FROM {} WHERE tenant = %s").format(Identifier("onrecord", table))
                free = SQL("SELECT {} FOR UPDATE SKIP LOCKED").format(row)
                count = owner.execute(SQL("SELECT count(*) {}").format(row), (street.them.tenant,))
                assert count.fetchall() == [
                    (len(owner.execute(free, (street.them.tenant,)).fetchall()),)
                ]
        use(street.url, street.them)
        holder.rollback()


def held(holder: psycopg.Connection[Any], statement: Any, ids: dict[str, Any]) -> None:
    """Run a statement and keep what it holds; one that fails holds nothing."""
    holder.execute("SAVEPOINT tried")
    try:
        holder.execute(statement, ids)
    except psycopg.Error:
        holder.execute("ROLLBACK TO SAVEPOINT tried")


def use(url: str, them: Neighbour) -> None:
    """Do what their own programs do; an error says that something had to be waited for."""
    patient = f"{url}{'&' if '?' in url else '?'}options=-c%20lock_timeout%3D10s"
    log = open_postgres(patient)
    log.append([appending(them.conversation, raw_event(), tenant=them.tenant)])
    log.put_blob(them.tenant, them.conversation, [b"more"])
    log.connections.ask("track", (them.tenant, them.word, "application", 9))
    log.connections.ask("put_chunk", (them.tenant, them.conversation, them.incoming, 9, b""))
    log.actors().keep(them.tenant, them.actor, them.word)
    log.close()
    with onrecord.connect(patient, tenant=them.tenant, actor="passer-by") as store:
        passing = store.conversation("passing")
        passing.user("Hello")
        store.forget("passing", **BECAUSE)
        store.forget_actor("passer-by", **BECAUSE)
