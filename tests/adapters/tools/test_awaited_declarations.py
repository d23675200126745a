"""A runner declares its tools without blocking the loop, and takes nothing but a conversation."""

import threading
from typing import Any, cast

import pytest

import onrecord


def track(order: str) -> str:
    """Tell where an order is."""
    return order


async def test_tools_are_declared_outside_the_thread_of_the_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with onrecord.connect_async("memory://") as store:
        chat = store.conversation("a")
        await chat.user("Where is it?")
        runner = onrecord.ToolRunner(chat, [track])
        declare, threads = runner.conversation.tools.declare, list[int]()

        def watched(*args: Any, **kwargs: Any) -> Any:
            threads.append(threading.get_ident())
            return declare(*args, **kwargs)

        monkeypatch.setattr(runner.conversation.tools, "declare", watched)
        done = await runner.declare_async()
        assert done.last == (await chat.head()).version
        assert len((await chat.tools.in_force()).tools) == 1
        assert threading.get_ident() not in threads


@pytest.mark.parametrize("nonsense", [None, "support/4711", object()])
def test_a_runner_of_something_else_says_what_it_takes(nonsense: object) -> None:
    with pytest.raises(onrecord.InvalidInput, match="conversation"):
        onrecord.ToolRunner(cast("onrecord.Conversation", nonsense), [track])
