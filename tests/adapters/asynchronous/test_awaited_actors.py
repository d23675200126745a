"""Who acts, and in which trace, is that of the task that awaits a verb; `why` is awaited too."""

import asyncio
from uuid import UUID

from opentelemetry import trace
from opentelemetry.trace import NonRecordingSpan, SpanContext

from onrecord.adapters.store import Store, backend_of
from tests.adapters.asynchronous.stores import awaited


async def test_each_task_acts_in_its_own_name_and_span(store: Store) -> None:
    chat = awaited(store).conversation("talk", actor="agent")
    await chat.user("I am agent")
    names = ("ana", "bob", "cleo", "dora")
    all_in = asyncio.Barrier(len(names))

    async def say(number: int, name: str) -> None:
        span = NonRecordingSpan(SpanContext(number, number, is_remote=False))
        with chat.recording(actor=name, on_behalf_of="eve"), trace.use_span(span):
            await all_in.wait()
            await chat.user(f"I am {name}")
            await all_in.wait()

    await asyncio.gather(*(say(number, name) for number, name in enumerate(names, 1)))
    backend = backend_of(store)
    for number, name in enumerate(("agent", *names)):
        (event,) = [
            event for event in await chat.events() if f"I am {name}".encode() in (event.body or b"")
        ]
        header = event.client_header()
        assert header.actor == backend.digest(name).hex()
        assert header.correlation_id == (UUID(int=number) if number else None)
    digests = [backend.digest(name) for name in ("agent", "eve", *names)]
    kept = backend.actors().names(store.tenant, digests)
    assert sorted(kept.values()) == ["agent", "ana", "bob", "cleo", "dora", "eve"]


async def test_why_is_awaited_as_the_other_face_has_it(store: Store) -> None:
    chat = awaited(store).conversation("talk", actor="ana")
    done = await chat.user("Hello")
    assert await chat.why(done.last) == store.conversation("talk").why(done.last)
