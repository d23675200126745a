"""A log on PostgreSQL is verified by a program that may have one connection."""

import pytest

from onrecord.adapters.erasing import Erasing
from onrecord.adapters.storage.hints import NoHints
from onrecord.adapters.storage.postgres import Limits, migrate, open_postgres
from onrecord.adapters.verifying import verify_log
from tests.factories import TENANT, appending, prompt, started
from tests.postgres_server import VERSIONS, server


@pytest.mark.parametrize("version", VERSIONS)
def test_one_connection_is_enough_to_verify(version: str) -> None:
    running = server(version)
    url = running.create("log", migrate)
    log = open_postgres(url, Limits(connections=1, wait=2.0), NoHints)
    try:
        conversation = log.open(TENANT, "support/4711")
        log.append([appending(conversation, started(), prompt())])
        erasing = Erasing(log, TENANT, erase=log.forget, forks=lambda _: ())
        erasing.forget(conversation, "ana", "asked to")
        assert verify_log(log).faults == ()
    finally:
        log.close()
        running.drop(url)
