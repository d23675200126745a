"""Threads that let conversations go on while something happens to those who fold them."""

from __future__ import annotations

import threading
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from random import Random
from uuid import UUID

from onrecord.domain import events
from onrecord.domain.errors import StorageUnavailable
from onrecord.domain.events import Event
from onrecord.domain.log import Log
from tests.factories import answer, appending, native_answer, prompt, tool_call, tool_result
from tests.faults.workers import POISON
from tests.patience import PATIENCE

TALKERS = 2
CONVERSATIONS = 24
POISONED = 2
TENANTS = [UUID(int=number) for number in range(1, 5)]


def conversations(seed: str) -> list[UUID]:
    """Ids anywhere in the parts; the first ones cannot be folded."""
    random = Random(seed)
    ids = [bytearray(random.randbytes(16)) for _ in range(CONVERSATIONS)]
    for number, made in enumerate(ids):
        made[0] = POISON if number < POISONED else number
    return [UUID(bytes=bytes(made)) for made in ids]


@contextmanager
def talking(log: Log, seed: int) -> Generator[None]:
    """Let threads append until the end of the scope, whatever becomes of the server meanwhile."""
    for number in range(TALKERS):
        poisoned = conversations(f"{seed}/{number}")[0]
        log.append([appending(poisoned, prompt(), prompt(), prompt(), tenant=TENANTS[0])])
    ended = threading.Event()

    def chat(number: int) -> None:
        random, own = Random(f"{seed}/{number}"), conversations(f"{seed}/{number}")
        while not ended.wait(0.002):
            which = random.randrange(CONVERSATIONS)
            tenant = TENANTS[which % len(TENANTS)]
            with suppress(StorageUnavailable):
                log.append([appending(own[which], *said(random), tenant=tenant)])

    with ThreadPoolExecutor(TALKERS) as pool:
        going = [pool.submit(chat, number) for number in range(TALKERS)]
        try:
            yield
        finally:
            ended.set()
        for talker in going:
            talker.result(PATIENCE)


def said(random: Random) -> list[Event]:
    """What may be said next: a turn, a tool round, an answer and what it took, a change."""
    identity = UUID(int=random.getrandbits(128))
    call = f"call_{identity.hex[:8]}"
    match random.randrange(6):
        case 0:
            return [prompt(f"What of {call}?")]
        case 1:
            return [tool_call(call), tool_result(call)]
        case 2:
            return [
                native_answer(identity, f"It is {call}."),
                events.ResponseCompleted(
                    response=identity,
                    api="anthropic-messages",
                    model="claude-sonnet-5",
                    envelope={"usage": {"cache_read_input_tokens": random.randrange(99)}},
                    input_tokens=random.randrange(1000),
                    output_tokens=random.randrange(1000),
                ),
            ]
        case 3:
            return [events.InstructionsSet(content=f"Be {call}."), prompt("Go on."), answer("Yes.")]
        case 4:
            return [tool_call(call)]
        case _:
            return [events.ContentRedacted(version=random.randrange(1, 9)), prompt("Again.")]
