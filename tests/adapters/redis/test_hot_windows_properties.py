"""Whatever is said, cut and forgotten: a request from Redis is what rendering gives."""

from __future__ import annotations

from contextlib import closing, suppress
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import onrecord
from onrecord.adapters.redis.connection import Connection
from onrecord.adapters.storage.memory.memory import Memory
from onrecord.adapters.store import Store
from onrecord.domain.events import MessageRecorded
from tests.adapters.redis.stores import KEY, store_on
from tests.factories import BECAUSE
from tests.search import examples

deeds = st.lists(
    st.tuples(
        st.sampled_from(
            ["ask", "answer", "instruct", "equip", "redact", "edit", "compact", "fork"]
        ),
        st.integers(0, 20),
    ),
    max_size=10,
)
windows = st.none() | st.builds(
    onrecord.Window, exchanges=st.integers(1, 3), step=st.integers(1, 2), pinned=st.integers(0, 1)
)


def do(store: Store, deed: str, number: int) -> None:
    chat = store.conversation(KEY)
    version = number % (chat.head().version + 1)
    with suppress(onrecord.InvalidContent):
        match deed:
            case "answer":
                text = onrecord.Text(text=f"Answer {number}")
                chat.log.append(MessageRecorded(role="assistant", content=(text,)))
            case "instruct":
                chat.instruct(f"Instruction {number}")
            case "equip":
                chat.tools.declare([{"name": f"tool_{number}", "input_schema": {"type": "object"}}])
            case "redact":
                chat.redact(version)
            case "edit":
                chat.edit_message(version, f"Edited {number}")
            case "compact":
                chat.compact(f"In short {number}")
            case "fork":
                store.forget(chat.fork(f"fork {number}").conversation_id, **BECAUSE)
            case _:
                chat.user(f"Question {number}")


# Each example has a log of its own; the Redis may stay the same.
@examples(25, [HealthCheck.function_scoped_fixture])
@given(deeds=deeds, window=windows)
def test_whatever_was_said_a_request_from_redis_is_what_rendering_gives(
    url: str, deeds: list[tuple[str, int]], window: onrecord.Window | None
) -> None:
    beside, backend = Connection(url), Memory()
    with TemporaryDirectory() as folder, closing(beside), closing(backend):
        hot, cold = store_on(backend, Path(folder), beside), store_on(backend, Path(folder))
        hot.conversation(KEY).user("Question")
        for deed, number in [*deeds, ("ask", 0)]:
            do(hot, deed, number)
            at = [number % (hot.conversation(KEY).head().version + 1), None]
            for api, version in product(("anthropic-messages", "gemini"), at):
                told = [asked_of(store, api, window, version) for store in (cold, hot, hot)]
                assert told[1] == told[0]
                assert told[2] == told[0]


def asked_of(
    store: Store, api: str, window: onrecord.Window | None, at: int | None
) -> tuple[str, str] | str:
    """What a request says, and what its report does; or why there is none."""
    try:
        request = store.conversation(KEY).request(api, window=window, at=at)
    except (onrecord.NothingToSend, onrecord.InvalidInput) as error:
        return repr(error)
    return repr([dict(request), dict(request.body)]), repr(request.report)
