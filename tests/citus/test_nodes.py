"""A log on Citus is a schema on one node: it is made at the coordinator, and used at its own node."""

from collections.abc import Iterator
from contextlib import closing
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg
import pytest

import onrecord
from onrecord.adapters.app import migrate as migrate_store
from onrecord.adapters.storage.postgres.connections import Connections, address_of
from onrecord.adapters.storage.postgres.postgres import migrate, open_postgres
from onrecord.adapters.storage.queries import load_migrations
from onrecord.domain.errors import StorageUnavailable, WrongNode
from onrecord.domain.log import Recorded
from onrecord.projections.views.audit import AUDIT
from onrecord.projections.views.search import SEARCH
from tests.adapters.views.workers import caught_up, chat
from tests.citus.cluster import CitusServer, citus_server, run
from tests.factories import appending, raw_event
from tests.postgres_server import CITUS

pytestmark = pytest.mark.skipif(
    CITUS is None, reason="needs Citus: make citus builds and starts it"
)


@pytest.fixture
def cluster() -> Iterator[CitusServer]:
    """A cluster without a log."""
    running = citus_server()
    running.clear()
    yield running
    running.clear()


def one(url: str, query: str) -> object:
    with psycopg.connect(url, autocommit=True) as connection:
        (found,) = connection.execute(query.encode()).fetchone() or (None,)
        return found


def place_of(url: str) -> str:
    return urlsplit(url).netloc.rpartition("@")[2]


def test_all_tables_of_a_log_lie_on_one_node_with_its_functions(cluster: CitusServer) -> None:
    migrate(cluster.coordinator)
    tables = "SELECT count(*) FROM pg_class WHERE relkind = 'r' AND relnamespace = 'onrecord'::regnamespace"
    shards = "FROM citus_shards WHERE table_name::text LIKE 'onrecord.%'"
    functions = "SELECT count(*) FROM pg_proc WHERE pronamespace = 'onrecord'::regnamespace"
    assert one(cluster.coordinator, f"SELECT count(DISTINCT nodeport) {shards}") == 1
    assert one(cluster.coordinator, f"SELECT count(*) {shards}") == one(cluster.coordinator, tables)
    assert one(cluster.url, functions) == one(cluster.coordinator, functions)


def test_elsewhere_than_at_its_own_node_a_log_is_refused_and_the_node_is_named(
    cluster: CitusServer,
) -> None:
    migrate(cluster.coordinator)
    with pytest.raises(WrongNode, match=f"the node {place_of(cluster.url)} of"):
        open_postgres(cluster.coordinator)
    with pytest.raises(WrongNode, match=place_of(cluster.url)):
        onrecord.connect(cluster.coordinator)
    # What opens a pool of its own, as a worker does, is refused at its first connection.
    pool = Connections(address_of(cluster.coordinator), most=1, wait=5.0, prepared=True)
    with pytest.raises(StorageUnavailable):
        pool.ask("last_positions")
    pool.close()


def test_a_log_is_made_at_the_coordinator_alone(cluster: CitusServer) -> None:
    with pytest.raises(WrongNode, match=place_of(cluster.coordinator)):
        migrate(cluster.url)
    with pytest.raises(WrongNode, match=place_of(cluster.coordinator)):
        open_postgres(cluster.url)
    assert one(cluster.coordinator, "SELECT to_regclass('onrecord.event')") is None


def test_functions_of_an_older_release_are_replaced_on_every_node(cluster: CitusServer) -> None:
    migrate(cluster.coordinator)
    with closing(open_postgres(cluster.url)) as log:
        assert isinstance(log.append([appending(uuid4(), raw_event())])[0], Recorded)
    run(cluster.coordinator, "DROP FUNCTION onrecord.moment()")
    run(cluster.url, "UPDATE onrecord.migration SET digest = 'x' WHERE part = 'functions'")
    with pytest.raises(WrongNode, match=place_of(cluster.coordinator)):
        migrate(cluster.url)
    assert migrate(cluster.coordinator) == 1
    assert migrate(cluster.coordinator) == 0
    for url in (cluster.coordinator, cluster.url):
        assert one(url, "SELECT to_regproc('onrecord.moment')") is not None
    with closing(open_postgres(cluster.url)) as log:
        assert isinstance(log.append([appending(uuid4(), raw_event())])[0], Recorded)


def test_the_command_makes_it_at_the_coordinator_where_it_cannot_be_opened(
    cluster: CitusServer,
) -> None:
    assert migrate_store(cluster.coordinator) == len(load_migrations("postgres"))
    assert migrate_store(cluster.coordinator) == 0


def test_views_are_folded_at_the_log_s_own_node(cluster: CitusServer) -> None:
    migrate(cluster.coordinator)
    with closing(open_postgres(cluster.url)) as log:
        chat(log, [uuid4(), uuid4()], 3)
    caught_up(cluster.url, {"audit": AUDIT})
    assert one(cluster.url, "SELECT count(*) FROM onrecord.view_audit") == 6


def test_an_answer_quotes_nothing_that_was_redacted_behind_the_view(cluster: CitusServer) -> None:
    migrate(cluster.coordinator)
    with onrecord.connect(cluster.url) as store:
        conversation = store.conversation("fish")
        conversation.user("A swordfish asks.")
        caught_up(cluster.url, {"search": SEARCH})
        assert len(store.views.search("swordfish")) == 1
        conversation.redact(conversation.head().version)
        assert len(store.views.search("swordfish")) == 0
