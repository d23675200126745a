"""Events name other events by version; whatever number that is, no view fails for it."""

from __future__ import annotations

from uuid import uuid4

import pytest

from onrecord.adapters.storage.memory.memory import Memory
from onrecord.domain.events import ContentRedacted, HistoryCompacted, LineAdopted
from onrecord.projections.views.registry import VIEWS
from onrecord.projections.views.tool_ledger import TOOL_LEDGER
from onrecord.projections.views.view import View
from tests.adapters.views.row_stores import RowStore, everything
from tests.adapters.views.tool_events import called, gave
from tests.factories import TENANT, appending, prompt


@pytest.mark.parametrize("named", [2**70, 2**63, -1, -(2**70)])
@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_a_version_that_no_database_holds_is_that_of_no_event(
    rows: RowStore, view: View, named: int
) -> None:
    log, conversation = Memory(), uuid4()
    said = (
        *(prompt(), called("c1"), gave("c1", call=named), ContentRedacted(version=named)),
        *(HistoryCompacted(summary="so far", until=named), LineAdopted(after=named, as_of=named)),
    )
    log.append([appending(conversation, *said)])
    assert rows.step(view, everything(log)) == []


def test_a_result_of_no_event_is_not_of_what_is_kept_beside_the_calls(rows: RowStore) -> None:
    log, conversation = Memory(), uuid4()
    log.append([appending(conversation, called("c1"), gave("c1", call=0))])
    for event in everything(log):
        assert rows.step(TOOL_LEDGER, [event]) == []
    shown = [(row["version"], row["status"]) for row in rows.page(TOOL_LEDGER, TENANT)]
    assert shown == [(2, "done"), (1, "open")]
