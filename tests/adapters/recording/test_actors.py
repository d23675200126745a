"""Who did it: the actor of each event, by the nearest that says so."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import UUID

import openai
import pytest

import onrecord
from onrecord.adapters.store import backend_of
from onrecord.domain.content import ToolCall
from onrecord.domain.events import ToolCallRecorded
from tests.adapters.openai_clients import APIS, HELLO, KINDS, MODEL, Api, Clients
from tests.adapters.openai_server import Call, Fails, OpenAIServer, Says
from tests.awaited import awaited
from tests.patience import PATIENCE

HEADER = "onrecord-conversation"
GREETING = Says("Hello! What can I do for you?")
NAMES = ("ana", "bob", "cleo", "dora", "support-bot")


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(lambda _: GREETING) as running:
        yield running


@pytest.fixture
def clients() -> Iterator[Clients]:
    with Clients() as made:
        yield made


@pytest.fixture
def store(tmp_path: Path) -> Iterator[onrecord.Store]:
    with onrecord.connect(f"sqlite:///{tmp_path / 'talks.db'}", actor="support-bot") as opened:
        yield opened


def who(store: onrecord.Store, digest: str | None) -> str | None:
    """The name that a digest is of."""
    names = {backend_of(store).digest(name).hex(): name for name in NAMES}
    return None if digest is None else names[digest]


def actors(store: onrecord.Store, key: str = "talk", after: int = 0) -> list[str | None]:
    events = store.conversation(key).events(after=after)
    return [who(store, event.client_header().actor) for event in events]


def behalves(store: onrecord.Store, key: str = "talk") -> list[str | None]:
    events = store.conversation(key).events()
    return [who(store, event.client_header().on_behalf_of) for event in events]


# -- the nearest counts ----------------------------------------------------------------------


def test_where_nobody_says_who_acts_headers_name_nobody() -> None:
    store = onrecord.connect("memory://")
    store.conversation("talk").user("Hello")
    assert actors(store) == [None, None]
    assert behalves(store) == [None, None]


def test_the_actor_given_to_connect_comes_before_that_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ONRECORD_ACTOR", "ana")
    for given, acts in ((None, "ana"), ("bob", "bob")):
        store = onrecord.connect("memory://", actor=given)
        store.conversation("talk").user("Hello")
        assert actors(store) == [acts, acts]


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("header", "scope", "holder", "acts"),
    [
        ("ana", "bob", "cleo", "ana"),
        (None, "bob", "cleo", "bob"),
        (None, None, "cleo", "cleo"),
        (None, None, None, "support-bot"),
        ("ana", None, None, "ana"),
    ],
)
def test_a_recorded_call_bears_the_nearest_actor_and_so_does_its_answer(
    store: onrecord.Store,
    server: OpenAIServer,
    clients: Clients,
    api: Api,
    kind: type[openai.OpenAI],
    header: str | None,
    scope: str | None,
    holder: str | None,
    acts: str,
) -> None:
    chat = store.conversation("talk", actor=holder)
    client = chat.record(clients.of(kind, server))
    more: dict[str, Any] = {}
    if header is not None:
        more["extra_headers"] = store.conversation("talk", actor=header).headers
    with chat.recording(actor=scope):
        clients.ask(client, api, **more)
    assert set(actors(store)) == {acts}
    assert len(actors(store)) == 5


def test_whom_an_actor_acts_for_is_found_by_itself(
    store: onrecord.Store, server: OpenAIServer, clients: Clients
) -> None:
    chat = store.conversation("talk", on_behalf_of="ana")
    client = chat.record(clients.of(openai.OpenAI, server))
    clients.ask(client)
    with chat.recording(on_behalf_of="bob"):
        chat.user("And me?")
    assert set(actors(store)) == {"support-bot"}
    assert behalves(store) == [*["ana"] * 5, "bob"]


def test_a_scope_of_another_conversation_says_nothing_of_this_one(
    store: onrecord.Store, server: OpenAIServer, clients: Clients
) -> None:
    talk, other = store.conversation("talk", actor="ana"), store.conversation("other")
    client = talk.record(clients.of(openai.OpenAI, server))
    with talk.recording(actor="cleo"), other.recording(actor="bob"):
        clients.ask(client)
        talk.user("Hi")
        other.user("Hi")
    assert set(actors(store)) == {"cleo"}
    assert set(actors(store, "other")) == {"bob"}


def test_a_scope_without_an_actor_has_that_of_the_conversation_that_made_it(
    store: onrecord.Store, server: OpenAIServer, clients: Clients
) -> None:
    client = store.record(clients.of(openai.OpenAI, server))
    with store.conversation("talk", actor="ana").recording():
        clients.ask(client)
    assert set(actors(store)) == {"ana"}


def test_a_call_that_nothing_binds_is_the_stores_actors(
    store: onrecord.Store, server: OpenAIServer, clients: Clients
) -> None:
    clients.ask(store.record(clients.of(openai.OpenAI, server)))
    (listed,) = store.conversations()
    assert set(actors(store, listed.key or "")) == {"support-bot"}


# -- verbs -----------------------------------------------------------------------------------


def call(store: onrecord.Store, call_id: str) -> None:
    """A call that the model made, so that it may be answered."""
    block = ToolCall(id=call_id, name="look_up", arguments={})
    event = ToolCallRecorded(call_id=call_id, name="look_up", content=block)
    store.conversation("talk").log.append(event)


VERBS: dict[str, Callable[[onrecord.Conversation], Any]] = {
    "user": lambda chat: chat.user("Hello"),
    "signal": lambda chat: chat.signal("Time is up", name="timer"),
    "ingest": lambda chat: chat.ingest([{"id": "call_1", "content": "4711"}]),
    "instruct": lambda chat: chat.instruct("Be brief"),
    "tool_result": lambda chat: chat.tool_result("call_1", "4711"),
    "a second result": lambda chat: chat.tool_result("call_0", "other"),
    "cancel": lambda chat: chat.cancel("call_1"),
    "redact": lambda chat: chat.redact(2),
    "edit_message": lambda chat: chat.edit_message(2, "Good day"),
    "annotate": lambda chat: chat.annotate({"reviewed": "yes"}),
    "set_tool_context": lambda chat: chat.set_tool_context({"case": "88"}, persist=["case"]),
    "declare": lambda chat: chat.tools.declare([{"name": "look_up", "input_schema": {}}]),
    "end": lambda chat: chat.end(),
}


@pytest.mark.parametrize("verb", VERBS)
def test_what_a_verb_records_bears_the_actor_of_its_conversation(
    store: onrecord.Store, verb: str
) -> None:
    store.conversation("talk").user("Hi")
    for each in ("call_0", "call_1"):
        call(store, each)
    store.conversation("talk").tool_result("call_0", "4711")
    before = store.conversation("talk").head().version
    VERBS[verb](store.conversation("talk", actor="ana", on_behalf_of="bob"))
    assert set(actors(store, after=before)) == {"ana"}
    assert set(behalves(store)[before:]) == {"bob"}
    assert set(actors(store)[:before]) == {"support-bot"}


def test_a_fork_is_begun_and_gone_on_with_by_whoever_forks(store: onrecord.Store) -> None:
    store.conversation("talk").user("Hello")
    fork = store.conversation("talk", actor="ana").fork("fork")
    fork.user("Or so?")
    assert set(actors(store, "fork")) == {"ana"}


def test_a_tool_context_is_without_whom_its_actor_acts_for(store: onrecord.Store) -> None:
    chat = store.conversation("talk", on_behalf_of="ana")
    chat.set_tool_context({"case": "88"}, persist=["case"])
    assert dict(chat.tool_context()) == {"case": "88"}
    with pytest.raises(onrecord.InvalidContent, match="onrecord:"):
        chat.set_tool_context({"onrecord:span": "1"}, persist=["onrecord:span"])


async def test_awaited_appends_bear_the_actor(store: onrecord.Store) -> None:
    event = onrecord.MessageRecorded(role="user", content=(onrecord.Text(text="Hi"),))
    for name in ("ana", "bob"):
        await awaited(store.conversation("talk", actor=name)).log.append(event)
    assert actors(store) == ["ana", "ana", "bob"]


# -- side by side ----------------------------------------------------------------------------


def asks(name: str) -> Any:
    return [{"role": "user", "content": f"I am {name}"}]


def in_their_own_names(store: onrecord.Store) -> None:
    """Each prompt, request and answer is of who was named in it."""
    owner: dict[Any, str | None] = {}
    for event in store.conversation("talk").events():
        acts = who(store, event.client_header().actor)
        body = event.body or b""
        named = [name for name in ("ana", "bob") if f"I am {name}".encode() in body]
        if event.type == "message.recorded":
            assert [acts] == named
        if event.type == "request.sent":
            owner[event.event_id] = acts
        if event.client_header().causation_id is not None:
            assert owner[event.client_header().causation_id] == acts
    assert sorted(map(str, owner.values())) == ["ana", "bob"]


def test_two_threads_on_one_client_are_told_apart(store: onrecord.Store, clients: Clients) -> None:
    chat = store.conversation("talk")
    both = threading.Barrier(2)
    with OpenAIServer(lambda request: Says(request["messages"][-1]["content"])) as server:
        client = chat.record(clients.of(openai.OpenAI, server))

        def ask(name: str) -> None:
            with chat.recording(actor=name):
                both.wait(PATIENCE)
                client.chat.completions.create(model=MODEL, messages=asks(name))
                both.wait(PATIENCE)

        with ThreadPoolExecutor(2) as threads:
            list(threads.map(ask, ("ana", "bob")))
    in_their_own_names(store)


async def test_two_tasks_on_one_client_are_told_apart(store: onrecord.Store) -> None:
    chat = store.conversation("talk")
    both = asyncio.Barrier(2)
    with OpenAIServer(lambda request: Says(request["messages"][-1]["content"])) as server:
        async with openai.AsyncOpenAI(api_key="k", base_url=server.url) as plain:
            client = chat.record(plain)

            async def ask(name: str) -> None:
                with chat.recording(actor=name):
                    await both.wait()
                    await client.chat.completions.create(model=MODEL, messages=asks(name))
                    await both.wait()

            await asyncio.gather(ask("ana"), ask("bob"))
    in_their_own_names(store)


def test_a_retry_goes_on_for_its_own_actor_though_another_sent_the_same(
    store: onrecord.Store, clients: Clients
) -> None:
    scenes = iter([Fails(500), Fails(500), GREETING, GREETING])
    failed = threading.Barrier(2)
    lock = threading.Lock()

    def answer(_: Any) -> Any:
        with lock:
            return next(scenes)

    with OpenAIServer(answer) as server:
        client = store.record(clients.of(openai.OpenAI, server, max_retries=1))

        def ask(name: str) -> None:
            failed.wait(PATIENCE)
            headers = store.conversation("talk", actor=name).headers
            client.chat.completions.create(model=MODEL, messages=HELLO, extra_headers=headers)

        with ThreadPoolExecutor(2) as threads:
            list(threads.map(ask, ("ana", "bob")))
    events = store.conversation("talk").events()
    headers = [event.client_header() for event in events]
    requests = {each.event_id: each.actor for each in headers if each.type == "request.sent"}
    caused = [each for each in headers if each.causation_id is not None]
    assert sorted(who(store, actor) or "" for actor in requests.values()) == ["ana", "bob"]
    assert [
        each for each in caused if requests[each.causation_id or UUID(int=0)] != each.actor
    ] == []
    assert len(caused) == 6


# -- the header ------------------------------------------------------------------------------


def test_neither_the_header_nor_a_name_goes_out(
    store: onrecord.Store, server: OpenAIServer, clients: Clients
) -> None:
    names = ("wilhelmina", "theodora", "ottokar")
    chat = store.conversation("talk", actor=names[0], on_behalf_of=names[1])
    assert not any(name in str(chat.headers) for name in names)
    client = chat.record(clients.of(openai.OpenAI, server))
    with chat.recording(actor=names[2]):
        clients.ask(client, extra_headers=chat.headers)
    (received,) = server.received
    assert HEADER not in received.headers
    digests = [backend_of(store).digest(name).hex() for name in names]
    sent = f"{received.headers}{received.body!r}"
    assert not any(each in sent for each in (*names, *digests))


def test_another_process_takes_the_actor_from_the_header(
    store: onrecord.Store, server: OpenAIServer, clients: Clients
) -> None:
    chat = store.conversation("talk", actor="ana")
    chat.user("Hello")
    with onrecord.connect(store.url, actor="dora") as elsewhere:
        client = elsewhere.record(clients.of(openai.OpenAI, server))
        clients.ask(client, extra_headers=chat.headers)
    assert set(actors(store)) == {"ana"}


# -- what is no name -------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["", " \t", 7, b"ana", "\ud800"])
def test_what_is_no_name_is_refused_and_nothing_is_written(tmp_path: Path, name: Any) -> None:
    url = f"sqlite:///{tmp_path / 'talks.db'}"
    for given in ({"actor": name}, {"on_behalf_of": name}):
        with pytest.raises(onrecord.InvalidContent):
            onrecord.connect(url, **given)
        with onrecord.connect(url) as store:
            with pytest.raises(onrecord.InvalidContent):
                store.conversation("talk", **given)
            with pytest.raises(onrecord.InvalidContent):
                store.conversation("talk").recording(**given)
            assert list(store.conversations()) == []


def test_a_call_of_a_tool_and_its_result_by_another_are_told_apart(
    store: onrecord.Store, clients: Clients
) -> None:
    with OpenAIServer([Says("", (Call("look_up"),))]) as server:
        client = store.conversation("talk", actor="ana").record(clients.of(openai.OpenAI, server))
        clients.ask(client)
    bob = store.conversation("talk", actor="bob")
    (open_call,) = bob.open_calls()
    bob.tool_result(open_call.id, "4711")
    assert set(actors(store)[:-1]) == {"ana"}
    assert actors(store)[-1] == "bob"


def test_the_ledger_of_tools_lists_the_context_of_a_call_alone(store: onrecord.Store) -> None:
    chat = store.conversation("talk", on_behalf_of="ana")
    call(store, "call_1")
    tool = onrecord.tool(lambda: "4711", name="look_up", description="Find it.")
    chat.set_tool_context({"case": "88"}, persist=["case"])
    onrecord.ToolRunner(chat, [tool]).run()
    (entry,) = store.views.tool_calls()
    assert entry.metadata == {"case": "88"}
