"""A log on PostgreSQL is verified with its rules, by a program that may have one connection."""

from collections.abc import Iterator

import pytest

from onrecord.adapters.storage.postgres.postgres import Limits, migrate, open_postgres
from onrecord.adapters.storage.subscription import NoHints
from onrecord.adapters.upkeep.erasing import Erasing
from onrecord.adapters.upkeep.verifying import verify_log
from tests.adapters.storage.postgres.test_postgres import run
from tests.factories import TENANT, appending, prompt, started
from tests.postgres_places import fresh_log
from tests.postgres_server import VERSIONS, server


@pytest.mark.parametrize("version", VERSIONS)
def test_one_connection_is_enough_to_verify(version: str) -> None:
    running = server(version)
    url = running.create("log", migrate)
    log = open_postgres(url, Limits(connections=1, wait=2.0), NoHints)
    try:
        conversation = log.open(TENANT, "support/4711")
        log.append([appending(conversation, started(), prompt())])
        erasing = Erasing(log, TENANT, erase=log.forget, forks=lambda _: [])
        erasing.forget(conversation, "ana", "asked to")
        assert verify_log(log).faults == ()
    finally:
        log.close()
        running.drop(url)


@pytest.fixture
def url() -> Iterator[str]:
    created = fresh_log(VERSIONS[-1])
    yield created
    server(VERSIONS[-1]).drop(created)


KINDS = ("admit", "admit_eraser", "admit_worker", "admit_operator", "admit_auditor", "admit_sealer")


def test_roles_that_were_let_in_are_no_fault(url: str) -> None:
    running = server(VERSIONS[-1])
    roles = {kind: f"onrecord_verifying_{kind}" for kind in KINDS}
    for kind, role in roles.items():
        running.execute("CREATE ROLE {} LOGIN", role)
        run(url, f"SELECT onrecord.{kind}('{role}')")
    log = open_postgres(url, Limits(connections=1, wait=2.0), NoHints)
    try:
        assert verify_log(log).faults == ()
        running.execute("ALTER ROLE {} BYPASSRLS", roles["admit"])
        [fault] = verify_log(log).faults
        assert fault.why.endswith("sees the rows of all tenants: it may bypass row-level security")
    finally:
        log.close()
        for role in roles.values():
            run(url, f"DROP OWNED BY {role}")
            running.execute("DROP ROLE {}", role)


EVENT = "onrecord.event"
FUNCTION = "LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'"
TRIGGER = f"CREATE TRIGGER event_is_immutable BEFORE UPDATE OR DELETE ON {EVENT} FOR EACH ROW"
CHANGES = {
    "a trigger is disabled": (
        f"ALTER TABLE {EVENT} DISABLE TRIGGER event_is_kept",
        "the triggers that keep events as they are are not in force",
    ),
    "a trigger holds for some": (
        (
            f"DROP TRIGGER event_is_immutable ON {EVENT}; "
            f"{TRIGGER} WHEN (OLD.version > 1) EXECUTE FUNCTION onrecord.refuse_change()"
        ),
        "the triggers that keep events as they are are not in force",
    ),
    "a trigger does something else": (
        (
            f"CREATE FUNCTION public.let() RETURNS trigger {FUNCTION}; "
            f"DROP TRIGGER event_is_immutable ON {EVENT}; {TRIGGER} EXECUTE FUNCTION public.let()"
        ),
        "the triggers that keep events as they are are not in force",
    ),
    "one more trigger": (
        (
            f"CREATE FUNCTION public.let() RETURNS trigger {FUNCTION}; "
            "CREATE TRIGGER aside BEFORE INSERT ON onrecord.blob FOR EACH ROW EXECUTE FUNCTION public.let()"
        ),
        "the table blob has the trigger aside, which no release made",
    ),
    "a rule": (
        f"CREATE RULE nothing AS ON INSERT TO {EVENT} DO INSTEAD NOTHING",
        "the table event has the rule nothing, which no release made",
    ),
    "no guard": (
        f"ALTER TABLE {EVENT} DISABLE ROW LEVEL SECURITY",
        "the rows of the table event are not guarded as they were made",
    ),
    "another guard": (
        "ALTER POLICY own ON onrecord.tracking USING (true)",
        "the rows of the table tracking are not guarded as they were made",
    ),
    "one more policy": (
        f"CREATE POLICY all_of_it ON {EVENT} USING (true)",
        "the table event has the policy all_of_it, which no release made",
    ),
    "another guard everywhere": (
        (
            "DO $$ DECLARE t name; BEGIN FOR t IN SELECT c.relname FROM pg_policy AS p "
            "JOIN pg_class AS c ON c.oid = p.polrelid LOOP EXECUTE format("
            "'ALTER POLICY own ON onrecord.%I USING (true OR tenant = onrecord.bound_tenant())', t); "
            "END LOOP; END $$"
        ),
        "the rows of the table event are not guarded as they were made",
    ),
    "an unlogged table": (
        "ALTER TABLE onrecord.tracking SET UNLOGGED",
        "the table tracking is not durable: it is unlogged",
    ),
    "rows elsewhere": (
        f"CREATE TABLE public.more () INHERITS ({EVENT})",
        "the table event has rows in another table, which inherits it",
    ),
    "another owner": (
        f"ALTER TABLE {EVENT} OWNER TO pg_monitor",
        "the table event has another owner than the others",
    ),
    "a verb of the owner's": (
        "GRANT EXECUTE ON FUNCTION onrecord.admit_worker TO pg_monitor",
        "pg_monitor may call admit_worker",
    ),
    "a verb of all": (
        "GRANT EXECUTE ON FUNCTION onrecord.open_conversation TO PUBLIC",
        "everybody may call open_conversation",
    ),
    "two kinds in one": (
        (
            "GRANT EXECUTE ON FUNCTION onrecord.open_conversation TO pg_monitor; "
            "GRANT EXECUTE ON FUNCTION onrecord.forget TO pg_monitor"
        ),
        "pg_monitor may call forget",
    ),
    "a schema for all": (
        "GRANT CREATE ON SCHEMA onrecord TO PUBLIC",
        "everybody may CREATE in the schema",
    ),
    "a right to another table": (
        "GRANT SELECT ON onrecord.meta TO PUBLIC",
        "everybody may SELECT in the table meta",
    ),
    "a right of all": (
        f"GRANT INSERT ON {EVENT} TO PUBLIC",
        "everybody may INSERT in the table event",
    ),
    "a right to a column": (
        f"GRANT UPDATE (body) ON {EVENT} TO PUBLIC",
        "everybody may UPDATE in the table event",
    ),
}


@pytest.mark.parametrize(("change", "fault"), CHANGES.values(), ids=list(CHANGES))
def test_rules_of_the_log_that_were_changed_are_found(url: str, change: str, fault: str) -> None:
    log = open_postgres(url, Limits(connections=1, wait=2.0), NoHints)
    try:
        assert verify_log(log).faults == ()
        run(url, change)
        assert fault in [found.why for found in verify_log(log).faults]
    finally:
        log.close()
