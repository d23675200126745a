"""Who acts in a scope goes where the scope goes."""

import threading
from contextvars import copy_context

import openai

import onrecord
from onrecord.adapters.store import backend_of
from tests.adapters.openai_clients import KEY, MODEL
from tests.adapters.openai_server import OpenAIServer
from tests.patience import join


def test_a_thread_has_the_actor_of_the_context_that_it_runs_in(
    store: onrecord.Store, chat: onrecord.Conversation
) -> None:
    with chat.recording(actor="ana"):
        context = copy_context()
        for thread in (
            threading.Thread(target=context.run, args=(chat.user, "with it")),
            threading.Thread(target=chat.user, args=("without",)),
        ):
            thread.start()
            join(thread)
    ana = backend_of(store).digest("ana").hex()
    assert [event.client_header().actor for event in chat.events()] == [ana, ana, None]


def test_who_only_opened_a_scope_comes_behind_who_holds_the_conversation(
    store: onrecord.Store,
) -> None:
    ana, bob = (store.conversation("talk", actor=name) for name in ("ana", "bob"))
    with ana.recording():
        bob.user("I am bob")
        store.conversation("talk").user("I am in ana's scope")
        with ana.recording(actor="cleo"):
            bob.user("Somebody says that this is cleo's")
    digests = [backend_of(store).digest(name).hex() for name in ("bob", "bob", "ana", "cleo")]
    assert [event.client_header().actor for event in bob.events()] == digests


def test_a_call_in_a_scope_is_of_who_opened_it_where_nobody_recorded_the_client_by_name(
    store: onrecord.Store, chat: onrecord.Conversation, server: OpenAIServer
) -> None:
    ana = store.conversation("talk", actor="ana")
    with openai.OpenAI(api_key=KEY, base_url=server.url) as plain:
        for client in (plain, chat.record(plain), store.record(plain)):
            with ana.recording():
                client.chat.completions.create(
                    model=MODEL, messages=[{"role": "user", "content": "Hello"}]
                )
    digest = backend_of(store).digest("ana").hex()
    assert {event.client_header().actor for event in chat.events()} == {digest}
