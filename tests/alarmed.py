"""A program that uses a store while a timer interrupts it: `python -m tests.alarmed URL SEED TIMES`.

It says what it did, a line each: what it acknowledged, and when another may look ("pause", then it
waits for a line). At the end it forks, closes the store and says so.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
from types import FrameType
from uuid import UUID, uuid4

import onrecord
from onrecord.adapters.store import backend_of
from onrecord.domain.log import Backend
from tests.factories import TENANT, appending, raw_event

MISSED = 0.5
"""After how many seconds the timer rings again, for Python prints and drops what a finalizer raises."""


class Alarm(BaseException):
    """What the handler of the timer raises."""


class Timer:
    """Whether a ring counts: one may still be on its way when the timer was stopped."""

    is_on = False


def alarm(_number: int, frame: FrameType | None) -> None:
    """Raise, unless this program's own steps are under way: they have nothing to give back."""
    if not Timer.is_on:
        return
    if (
        frame is None
        or frame.f_code.co_filename != __file__
        or frame.f_code in (use.__code__, use_once.__code__)
    ):
        raise Alarm
    # Rings again soon: a program that the only ring has missed would go on for ever.
    if frame.f_code is interrupted.__code__:
        signal.setitimer(signal.ITIMER_REAL, 0.000_2, 0.000_2)


def use(store: onrecord.Store, conversation: UUID, acknowledged: list[str]) -> None:
    """Use each verb, until the timer rings."""
    while True:
        use_once(store, conversation, acknowledged)


def use_once(store: onrecord.Store, conversation: UUID, acknowledged: list[str]) -> None:
    backend: Backend = backend_of(store)
    request = appending(conversation, raw_event())
    backend.append([request])
    acknowledged.append(str(request.events[0].event_id))
    backend.open(TENANT, str(uuid4()))
    list(backend.read(conversation, after=max(0, len(acknowledged) - 3)))
    blob = backend.put_blob(TENANT, conversation, [uuid4().bytes])
    list(backend.get_blob(conversation, blob))
    store.views.audit(limit=1)


def interrupted(
    store: onrecord.Store, conversation: UUID, acknowledged: list[str], after: float, again: float
) -> Alarm | None:
    """Use the store so long, and return what ended it, with its traceback.

    `again` is after how many more seconds the timer rings, again and again: while what the first
    has left is given back.
    """
    try:
        Timer.is_on = True
        signal.setitimer(signal.ITIMER_REAL, after, again)
        use(store, conversation, acknowledged)
    except Alarm as found:
        return found
    finally:
        quiet()
    return None


def quiet() -> None:
    Timer.is_on = False
    signal.setitimer(signal.ITIMER_REAL, 0)


def main(url: str, seed: str, times: int) -> None:
    lots = random.Random(seed)
    # Imports what a use imports: an alarm that strikes while Python makes a class of a module comes
    # out of it as a RuntimeError, which is no matter of the store.
    with onrecord.connect(url) as rehearsal:
        use_once(rehearsal, uuid4(), [])
    store = onrecord.connect(url)
    conversation = uuid4()
    acknowledged: list[str] = []
    signal.signal(signal.SIGALRM, alarm)
    last: Alarm | None = None
    for number in range(times):
        after, again = lots.uniform(0.000_2, 0.025), lots.choice((MISSED, MISSED, 0.000_2))
        last = interrupted(store, conversation, acknowledged, after, again)
        if again < MISSED:
            # What was cut short twice is given back by the next call.
            backend_of(store).open(TENANT, str(uuid4()))
        if number % 10 == 0:
            print("pause", flush=True)
            sys.stdin.readline()
    assert last is not None
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
    request = appending(conversation, raw_event())
    backend_of(store).append([request])
    acknowledged.append(str(request.events[0].event_id))
    store.close()
    print(json.dumps({"conversation": str(conversation), "acknowledged": acknowledged}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
