"""What is erased is in no view, whenever a worker may have read it; what is written is one fold."""

from __future__ import annotations

import threading
from uuid import UUID, uuid4

import psycopg

from onrecord.adapters.storage.postgres.postgres import Postgres
from onrecord.projections.views.audit import AUDIT
from onrecord.projections.views.view import Changes, EventBatch
from tests.adapters.storage.postgres.test_postgres import setting
from tests.adapters.views.workers import Changed, Stepping, asked
from tests.factories import appending, prompt, started, tool_call
from tests.patience import join, until

TOOLS = "SELECT tool FROM onrecord.view_audit WHERE conversation_id = %s ORDER BY version"
WAITS = """
SELECT count(*) FROM pg_locks WHERE relation = 'onrecord.erasure'::regclass AND NOT granted
"""


def _calling(log: Postgres) -> UUID:
    conversation = uuid4()
    log.append([appending(conversation, started(), prompt(), tool_call("c1", "look_up"))])
    return conversation


def test_an_erasure_between_reading_and_committing_waits_and_takes_the_rows_back(
    url: str, log: Postgres
) -> None:
    conversation = _calling(log)
    forgetting = threading.Thread(target=log.forget, args=(conversation,))

    def erase_meanwhile(_: EventBatch, changes: Changes) -> Changes:
        forgetting.start()
        until(lambda: asked(url, WAITS) == [(1,)], "the erasure")
        return changes

    worker = Stepping(url, {"audit": Changed(erase_meanwhile)})
    worker.claim()
    worker.turn()
    join(forgetting)
    assert asked(url, TOOLS, conversation) == [(None,), (None,), (None,)]
    worker.close()


def test_an_erasure_before_a_batch_is_read_erased(url: str, log: Postgres) -> None:
    conversation = _calling(log)
    worker = Stepping(url, {"audit": AUDIT})
    worker.claim()
    log.forget(conversation)
    worker.turn()
    assert asked(url, TOOLS, conversation) == [(None,), (None,), (None,)]
    worker.close()


def test_a_batch_that_waited_for_an_erasure_reads_erased_at_any_default_of_isolation(
    url: str, log: Postgres
) -> None:
    conversation = _calling(log)
    setting(url, "default_transaction_isolation", "'repeatable read'")
    worker = Stepping(url, {"audit": AUDIT})
    worker.claim()
    folding = threading.Thread(target=worker.turn)
    with psycopg.connect(url) as erasing:
        erasing.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
        erasing.execute("SELECT onrecord.forget(%s)", (conversation,))
        folding.start()
        until(lambda: asked(url, WAITS) == [(1,)], "the batch")
    join(folding)
    worker.finish()
    assert asked(url, TOOLS, conversation) == [(None,), (None,), (None,)]
    worker.close()


def test_an_erasure_does_not_hold_up_who_appends_while_it_waits_for_a_batch(
    url: str, log: Postgres
) -> None:
    conversation, other = _calling(log), uuid4()
    forgetting = threading.Thread(target=log.forget, args=(conversation,))

    def append_meanwhile(_: EventBatch, changes: Changes) -> Changes:
        forgetting.start()
        until(lambda: asked(url, WAITS) == [(1,)], "the erasure")
        log.append([appending(other, prompt())])
        return changes

    worker = Stepping(url, {"audit": Changed(append_meanwhile)})
    worker.claim()
    worker.turn()
    join(forgetting)
    assert log.head(other).version == 1
    worker.close()
