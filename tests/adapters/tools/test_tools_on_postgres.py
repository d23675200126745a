"""What tools give, and what they carry, on PostgreSQL: the same as in a file."""

from collections.abc import Iterator

import pytest

import onrecord
from tests.adapters.tools.conversations import call_tools, kept, recorded_results
from tests.postgres_places import fresh_log
from tests.postgres_server import VERSIONS, server


@pytest.fixture(params=VERSIONS)
def store(request: pytest.FixtureRequest) -> Iterator[onrecord.Store]:
    version = str(request.param)
    url = fresh_log(version)
    with onrecord.connect(url) as opened:
        yield opened
    server(version).drop(url)


def test_what_is_carried_and_what_results_keep_stands_in_headers(store: onrecord.Store) -> None:
    def track(parcel: str, context: onrecord.ToolCallContext) -> str:
        return f"{parcel} {context['tenant_id']} {len(context['token'])}"

    chat = store.conversation("support/4711")
    chat.set_tool_context({"tenant_id": "acme", "token": "canary-41"}, persist=["tenant_id"])
    call_tools(chat, ("track", {"parcel": "NW-1"}), ("track", {"parcel": "NW-2"}))
    runner = onrecord.ToolRunner(chat, [track], context={"token": "canary-41"}, parallel=True)
    runner.run()
    assert dict(store.conversation("support/4711").tool_context()) == {"tenant_id": "acme"}
    assert recorded_results(chat) == [
        ("call_1", "NW-1 acme 9", False),
        ("call_2", "NW-2 acme 9", False),
    ]
    assert kept(chat) == [{"tenant_id": "acme"}] * 2
    assert all(b"canary" not in each.header + (each.body or b"") for each in chat.log.read())
