"""What is awaited gives what the sync verb gives, in order, and holds up no event loop."""

import asyncio
import inspect
import re
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import pytest

import onrecord
from onrecord import AsyncStore, InvalidInput, MessageRecorded, Text, Window
from onrecord.adapters.storage.memory.memory import Memory
from onrecord.adapters.storage.postgres.pool import Pool
from onrecord.adapters.storage.sqlite.connection import Connections as SqliteConnections
from onrecord.adapters.store import Store
from tests.adapters.asynchronous.stores import awaited, texts
from tests.patience import PATIENCE

MANY = 50
PDF = b"%PDF-1.7 report"


async def given(answer: Any) -> Any:
    """What a verb of either face gives, waited for where it is to be."""
    if inspect.isawaitable(answer):
        return await answer
    if isinstance(answer, AsyncIterator):
        return [event async for event in cast("AsyncIterator[object]", answer)]
    return list(cast("Iterator[object]", answer)) if isinstance(answer, Iterator) else answer


async def talk(chat: Any, folder: Path) -> list[Any]:
    """Each verb of a conversation once, by whichever face; what was answered."""
    report = folder / "report.pdf"
    report.write_bytes(PDF)
    look = {"name": "look", "input_schema": {"type": "object"}}
    more = MessageRecorded(role="user", content=(Text(text="More."),))
    calls: list[Callable[[], Any]] = [
        lambda: chat.instruct("Be brief."),
        lambda: chat.tools.declare([look]),
        lambda: chat.user("What is in it?", report, message_id="first"),
        lambda: chat.user("What is in it?", report, message_id="first"),
        lambda: chat.signal("The door opened.", name="door"),
        lambda: chat.ingest([], prompt="And now?"),
        lambda: chat.annotate({"seen": "yes"}),
        lambda: chat.set_tool_context({"order": "7"}, persist=["order"]),
        lambda: chat.documents(),
        lambda: chat.compact("It was about a report."),
        lambda: chat.redact(9),
        lambda: chat.next_input(),
        lambda: chat.edit_message(4, "What is it?"),
        lambda: chat.assistant("A report.", calls=[onrecord.AssistantCall("look")]),
        lambda: chat.open_calls(),
        lambda: chat.tool_result("nobody", "late"),
        lambda: chat.approvals(),
        lambda: chat.tools.in_force(),
        lambda: chat.tools.server_calls(),
        lambda: chat.tool_context(),
        lambda: chat.history(),
        lambda: chat.events(after=1),
        lambda: chat.log.read(after=1),
        lambda: chat.request("openai-chat", window=Window(exchanges=3)),
        lambda: chat.diff(4, 5, api="gemini"),
        lambda: chat.why(4),
        lambda: chat.log.append(more),
        lambda: chat.headers,
        lambda: chat.head(),
        lambda: chat.end("done"),
        lambda: chat.end("done"),
    ]
    return [await given(call()) for call in calls]


OWN = (
    r"b'(?:[^'\\]|\\.)*'",
    r'b"(?:[^"\\]|\\.)*"',
    r"[0-9a-f]{8}-[0-9a-f-]{27}",
    r"[0-9a-f]{24,64}",
    r"(?:position|recorded_at|requested_at)=\d+",
)
"""What is each conversation's own, as it is shown: bytes, ids, digests, places, times."""


def alike(answers: list[Any]) -> list[str]:
    """What was answered, less what is each conversation's own: ids, positions, times, digests."""
    shown = (
        repr(dict(answer) if isinstance(answer, onrecord.Request) else answer) for answer in answers
    )
    own = "|".join(OWN)
    return [re.sub(own, "_", text) for text in shown]


async def test_the_verbs_of_a_conversation_give_what_those_of_the_other_face_give(
    store: Store, tmp_path: Path
) -> None:
    sync = await talk(store.conversation("sync"), tmp_path)
    answers = await talk(awaited(store).conversation("awaited"), tmp_path)
    assert alike(answers) == alike(sync)


async def test_documents_come_back_and_forks_go_on(store: Store, tmp_path: Path) -> None:
    report = tmp_path / "report.pdf"
    report.write_bytes(PDF * 200_000)  # Several pieces, each read beside the loop.
    chat = awaited(store).conversation("a")
    await chat.user("See:", report)
    [document] = await chat.documents()
    assert document.document.blob is not None
    assert await chat.blob(document.document.blob) == report.read_bytes()
    fork = await chat.fork("b", reason="try")
    await fork.user("Go on.")
    assert texts(store, "b")[-1] == "Go on."
    assert [one.key for one in await awaited(store).forks("a")] == ["b"]


async def test_conversations_are_listed_found_and_forgotten(store: Store) -> None:
    async_store = awaited(store)
    for number in range(70):
        await async_store.conversation(f"c{number}").user("Hello")
    keys = [one.key async for one in async_store.conversations()]
    assert keys == [f"c{number}" for number in reversed(range(70))]
    found = await async_store.get("c1")
    assert await found.conversation_id == store.get("c1").conversation_id
    with pytest.raises(onrecord.ConversationNotFound):
        await async_store.get("nobody")
    result = await async_store.forget("c1", reason="asked to", actor="ana")
    assert result.events == 2
    assert len(await async_store.erasures()) == 1
    assert await async_store.resume_erasures() == 0
    assert (await async_store.verify()).events > 0
    await async_store.sweep(rewrite=False)


async def test_an_error_is_the_one_of_the_other_face(store: Store) -> None:
    chat = awaited(store).conversation("a")
    with pytest.raises(onrecord.InvalidContent, match="blank"):
        await chat.user("  ")
    await chat.user("Hello")
    with pytest.raises(onrecord.VersionConflict, match="it is at 2"):
        await chat.user("Hello", expected_version=1)
    with pytest.raises(InvalidInput):
        awaited(store).conversation("")
    assert (await chat.head()).version == 2


async def test_what_one_task_asks_for_at_once_is_recorded_whole_and_once(store: Store) -> None:
    chat = awaited(store).conversation("a")
    done = await asyncio.gather(*(chat.user(f"{number}") for number in range(MANY)))
    assert sorted(each.last for each in done) == list(range(2, MANY + 2))
    assert sorted(map(int, texts(store, "a"))) == list(range(MANY))


async def test_an_embedded_store_records_in_the_order_of_asking(embedded_store: Store) -> None:
    chat = awaited(embedded_store).conversation("a")
    await asyncio.gather(*(chat.user(f"{number}") for number in range(MANY)))
    assert [int(text) for text in texts(embedded_store, "a")] == list(range(MANY))


@pytest.fixture
def blocking(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What waited for a database in the thread of the event loop."""
    blocked: list[str] = []
    loop_thread = threading.get_ident()

    def watched(owner: Any, name: str) -> None:
        ask = getattr(owner, name)

        def asked(*args: Any, **kwargs: Any) -> Any:
            if threading.get_ident() == loop_thread:
                blocked.append(f"{owner.__name__}.{name}")
            return ask(*args, **kwargs)

        monkeypatch.setattr(owner, name, asked)

    watched(Pool, "fill")
    watched(SqliteConnections, "borrowed")
    watched(Memory, "append")
    yield blocked


async def test_no_verb_waits_for_a_database_in_the_thread_of_the_loop(
    store: Store, tmp_path: Path, blocking: list[str]
) -> None:
    async_store = awaited(store)
    chat = async_store.conversation("a")
    await talk(chat, tmp_path)
    await (await chat.fork("b")).user("Hello")
    await async_store.get("b")
    [_ async for _ in async_store.conversations()]
    [cursor, *_] = await async_store.cursors()
    async with async_store.subscribe(cursor):
        pass
    await async_store.forget("b", reason="asked to", actor="ana")
    await async_store.erasures()
    await async_store.sweep(rewrite=False)
    await async_store.verify()
    assert blocking == []


async def test_the_loop_goes_on_while_a_verb_waits(store: Store) -> None:
    chat = awaited(store).conversation("a")
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0)

    ticking = asyncio.create_task(tick())
    await chat.user("Hello")
    ticking.cancel()
    assert ticks > 1


def in_new_loop(work: Callable[[], Awaitable[Any]]) -> None:
    async def run() -> None:
        await work()

    asyncio.run(run())


def test_loops_of_several_threads_share_a_store(store: Store) -> None:
    async_store = AsyncStore(store)

    def say(number: int) -> None:
        in_new_loop(lambda: async_store.conversation("a").user(f"{number}"))

    threads = [threading.Thread(target=say, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert sorted(map(int, texts(store, "a"))) == list(range(8))


def test_a_store_outlives_the_loops_that_used_it(store: Store) -> None:
    async_store = AsyncStore(store)
    for number in range(3):
        in_new_loop(partial(async_store.conversation("a").user, f"{number}"))
    assert texts(store, "a") == ["0", "1", "2"]


async def test_a_closed_store_says_so(store: Store) -> None:
    async_store = awaited(store)
    await async_store.conversation("a").user("Hello")
    await async_store.close()
    with pytest.raises(onrecord.StorageUnavailable, match="closed"):
        await async_store.conversation("b").user("Hello")


async def test_a_store_is_closed_once_however_often_it_is_asked_for(store: Store) -> None:
    async with awaited(store) as async_store:
        await async_store.conversation("a").user("Hello")
        await async_store.close()
    await async_store.close()


async def test_what_is_under_way_as_a_store_is_closed_is_finished(store: Store) -> None:
    async_store = awaited(store)
    saying = [
        asyncio.ensure_future(async_store.conversation("a").user(f"{number}"))
        for number in range(MANY)
    ]
    await asyncio.sleep(0)
    await async_store.close()
    done = await asyncio.gather(*saying)
    assert sorted(each.last for each in done) == list(range(2, MANY + 2))


class Prompts(onrecord.TableProjection):
    name = "prompts"
    types = (MessageRecorded,)

    def create_tables(self, transaction: onrecord.ProjectionTransaction) -> None:
        transaction.execute("CREATE TABLE IF NOT EXISTS prompts (generation int, version int)")

    def write(
        self,
        transaction: onrecord.ProjectionTransaction,
        events: Sequence[onrecord.RecordedEvent],
    ) -> None:
        for event in events:
            statement = "INSERT INTO prompts VALUES ($1, $2)"
            transaction.execute(statement, transaction.generation, event.version)

    def delete_generation(self, transaction: onrecord.ProjectionTransaction) -> None:
        statement = "DELETE FROM prompts WHERE generation = $1"
        transaction.execute(statement, transaction.generation)

    def forget(self, transaction: onrecord.ProjectionTransaction, conversation_id: UUID) -> None:
        raise AssertionError("nothing is forgotten here")


async def test_a_projection_is_read_by_statements_that_are_awaited(tmp_path: Path) -> None:
    async with onrecord.connect_async(f"sqlite:///{tmp_path / 'a.db'}") as opened_store:
        await opened_store.conversation("a").user("Hello")
        await opened_store.run(Prompts())
        async with opened_store.views.read("prompts") as reading:
            rows = await reading.execute(
                "SELECT version FROM prompts WHERE generation = $1", reading.generation
            )
            assert (rows, reading.database) == ([(2,)], "sqlite")
        with pytest.raises(InvalidInput, match="async with"):
            await opened_store.views.read("prompts").execute("SELECT 1")


async def test_a_store_is_opened_by_awaiting_or_as_a_scope(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'a.db'}"
    store = await onrecord.connect_async(url)
    await store.conversation("a").user("Hello")
    await store.close()
    async with onrecord.connect_async(url) as again:
        assert (await again.conversation("a").history())[0].text == "Hello"
    with pytest.raises(onrecord.StorageUnavailable):
        await again.conversation("a").head()
    with pytest.raises(InvalidInput, match="scheme"):
        await onrecord.connect_async("nonsense")
