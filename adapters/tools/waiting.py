"""Calls of tools that are waited for: in this thread, or in threads of their own."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from functools import partial
from inspect import isawaitable

from onrecord.adapters.tools.calling import (
    Outcome,
    Work,
    begin,
    failure,
    in_thread,
    outcome,
    timed_out,
)


def outcomes(
    work: tuple[Work, ...], is_awaited: Callable[[Work], bool], *, parallel: bool
) -> Iterator[tuple[Work, Outcome]]:
    """Yield what calls give, in their order; one by one, or all begun together that do not wait.

    One by one and without a time-out they are made in this thread; those that nobody awaits any
    more by then, since they were cancelled or answered, are not made. InvalidInput, before any is
    made, where one is asynchronous and a loop runs in this thread: it may be the one it needs.
    """
    _must_block_no_loop(work)
    together = {at: each for at, each in enumerate(work) if parallel and not each.waits}
    futures = {at: in_thread(partial(call_here, each)) for at, each in together.items()}
    begun = time.monotonic()
    for at, each in enumerate(work):
        if at in futures:
            yield each, _waited_for(each, futures[at], begun)
        elif at and not is_awaited(each):
            continue
        elif each.timeout is None:
            yield each, call_here(each)
        else:
            yield each, _waited_for(each, in_thread(partial(call_here, each)), time.monotonic())


def call_here(work: Work) -> Outcome:
    """Make a call in this thread, and wait for it; asynchronous ones get a loop of their own.

    InvalidInput for an asynchronous tool where a loop runs already.
    """
    try:
        given = begin(work)
    except Exception as exc:  # noqa: BLE001 - it is the result of the call
        return failure(work, exc)
    if not isawaitable(given):
        return outcome(given)
    # The loop takes a while to import, and most tools need none.
    from onrecord.adapters.tools.awaiting import settled_here

    return settled_here(work, given)


def _waited_for(work: Work, future: Future[Outcome], begun: float) -> Outcome:
    """Return what a call in a thread gives, or that it takes too long."""
    left = None if work.timeout is None else max(0.0, begun + work.timeout - time.monotonic())
    try:
        return future.result(left)
    except TimeoutError:
        return timed_out(work)
    except Exception as exc:  # noqa: BLE001 - there was no thread to be had: the call has failed
        return failure(work, exc)


def _must_block_no_loop(work: tuple[Work, ...]) -> None:
    asynchronous = [each.tool for each in work if each.tool.is_async]
    if asynchronous:
        # The loop takes a while to import, and most tools need none.
        from onrecord.adapters.tools.awaiting import must_be_free

        must_be_free(asynchronous[0])
