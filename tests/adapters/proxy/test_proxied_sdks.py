"""Programs with the official SDKs go through the proxy unchanged, and are recorded."""

from typing import Any

import anthropic
import openai
import pytest

from onrecord import Store
from onrecord.adapters.demo.services.scenes import Gzip, HangUp, PlainAnswer
from onrecord.adapters.demo.services.server import DemoServer
from tests.adapters.demo.demo_client import GREETING, HELLO, MODEL
from tests.adapters.proxy.proxied import KEY, PROVIDER_KEY, Proxied, at, proxied
from tests.adapters.recorded_calls import CALLING, results, said, unchanged


def anthropic_of(proxy: Proxied) -> anthropic.Anthropic:
    base_url = proxy.base("anthropic")
    return anthropic.Anthropic(api_key=PROVIDER_KEY, base_url=base_url, max_retries=0)


def asked(client: anthropic.Anthropic, messages: Any = HELLO, **more: Any) -> Any:
    create: Any = client.messages.create
    return create(model=MODEL, max_tokens=64, messages=messages, **more)


def test_a_call_is_recorded_as_by_a_client_in_process(store: Store) -> None:
    with DemoServer([GREETING]) as server, proxied(store, at(server.url)) as proxy:
        with anthropic_of(proxy) as client:
            reply = asked(client)
        (turn, answer) = proxy.only().history()
        assert (turn.text, answer.text) == ("Hello", reply.content[0].text)


def test_a_stream_is_recorded_when_its_last_event_is_handed_on(store: Store) -> None:
    told: list[str] = []
    with (
        DemoServer([GREETING]) as server,
        proxied(store, at(server.url)) as proxy,
        anthropic_of(proxy) as client,
        client.messages.stream(
            model=MODEL, max_tokens=64, messages=[{"role": "user", "content": "Hello"}]
        ) as events,
    ):
        for event in events:
            if event.type == "message_stop":
                told.append(proxy.only().history()[-1].text)
    assert told == [GREETING.content[0]["text"]]


def test_a_round_of_tools_is_one_conversation_by_its_header(store: Store) -> None:
    headers = {"X-Onrecord-Conversation": "support/4711"}
    with DemoServer([CALLING, GREETING]) as server, proxied(store, at(server.url)) as proxy:
        with anthropic_of(proxy) as client:
            reply = asked(client, extra_headers=headers)
            messages = [*HELLO, said(reply), results("toolu_01", "toolu_02")]
            asked(client, messages, extra_headers=headers)
        assert proxy.keys() == ["support/4711"]
        speakers = [turn.role for turn in store.conversation("support/4711").history()]
        assert speakers == ["user", "assistant", "user", "assistant"]


def test_the_path_may_name_the_conversation(store: Store) -> None:
    with DemoServer([GREETING]) as server, proxied(store, at(server.url)) as proxy:
        base_url = proxy.base("in/support%2F4711/anthropic")
        with anthropic.Anthropic(api_key=PROVIDER_KEY, base_url=base_url) as client:
            asked(client)
        assert proxy.keys() == ["support/4711"]


def test_what_binds_a_recorded_call_binds_one_through_the_proxy(store: Store) -> None:
    chat = store.conversation("support/4711", actor="ana")
    chat.user("Hello")
    with DemoServer([GREETING]) as server, proxied(store, at(server.url)) as proxy:
        with anthropic_of(proxy) as client:
            asked(client, extra_headers=chat.headers)
        assert proxy.keys() == ["support/4711"]
        (received,) = server.requests
        assert "onrecord-conversation" not in received.headers


def test_the_provider_gets_what_the_program_sent_and_nothing_else(store: Store) -> None:
    with DemoServer([GREETING, GREETING]) as server, proxied(store, at(server.url)) as proxy:
        for base_url in (server.url, proxy.base("anthropic")):
            with anthropic.Anthropic(api_key=PROVIDER_KEY, base_url=base_url) as client:
                headers = {"X-Onrecord-Conversation": "a"} if base_url != server.url else {}
                asked(client, extra_headers=headers, extra_query={"beta": "true"})
        direct, through = server.requests
        assert through.body == direct.body
        assert (through.path, through.query) == (direct.path, direct.query)
        of_connection = {"host", "connection"}
        kept = [
            {name: value for name, value in each.headers.items() if name not in of_connection}
            for each in (direct, through)
        ]
        assert kept[0] == kept[1]
        assert KEY not in str(through)


def test_a_packed_answer_passes_packed_and_is_read(store: Store) -> None:
    packed = type(GREETING)(content=GREETING.content, faults=(Gzip(),))
    with DemoServer([packed]) as server, proxied(store, at(server.url)) as proxy:
        with anthropic_of(proxy) as client:
            reply = client.messages.with_raw_response.create(
                model=MODEL, max_tokens=64, messages=[{"role": "user", "content": "Hello"}]
            )
        assert reply.headers["content-encoding"] == "gzip"
        assert proxy.only().history()[-1].text == GREETING.content[0]["text"]


def test_an_error_of_the_provider_passes_and_is_recorded_as_an_attempt(store: Store) -> None:
    with DemoServer([]) as server, proxied(store, at(server.url)) as proxy:
        with anthropic_of(proxy) as client, pytest.raises(anthropic.BadRequestError) as caught:
            asked(client)
        assert "no scene left" in str(caught.value)
        assert [event.type for event in proxy.only().events()][-1] == "attempt.failed"


def test_attempts_that_an_sdk_makes_again_are_of_one_request(store: Store) -> None:
    with DemoServer([HangUp(), GREETING]) as server, proxied(store, at(server.url)) as proxy:
        base_url = proxy.base("anthropic")
        with anthropic.Anthropic(api_key=PROVIDER_KEY, base_url=base_url, max_retries=2) as client:
            asked(client)
        types = [event.type for event in proxy.only().events()]
        assert types.count("request.sent") == 1
        assert types.count("attempt.failed") == 1
        assert types[-1] == "response.completed"


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("api", ["chat", "responses"])
def test_openai_is_recorded(store: Store, api: str, *, streamed: bool) -> None:
    def script(_: object, __: object) -> PlainAnswer:
        return PlainAnswer(text="Good day.")

    with DemoServer([], openai=script) as server, proxied(store, at(server.url)) as proxy:
        base_url = proxy.base("openai", "/v1")
        with openai.OpenAI(api_key=PROVIDER_KEY, base_url=base_url) as client:
            ask: Any = client.chat.completions.create if api == "chat" else client.responses.create
            member = "messages" if api == "chat" else "input"
            reply = ask(model="gpt-5", stream=streamed, **{member: HELLO})
            if streamed:
                list(reply)
        assert [turn.text for turn in proxy.only().history()] == ["Hello", "Good day."]


def test_what_is_no_turn_passes_and_is_not_recorded(store: Store) -> None:
    with DemoServer([]) as server, proxied(store, at(server.url), unrecorded="refuse") as proxy:
        with anthropic_of(proxy) as client:
            count = client.messages.count_tokens(
                model=MODEL, messages=[{"role": "user", "content": "Hello"}]
            )
        assert count.input_tokens > 0
        assert proxy.keys() == []


def test_messages_are_unchanged_by_the_proxy(store: Store) -> None:
    with (
        DemoServer([CALLING, CALLING]) as server,
        proxied(store, at(server.url)) as proxy,
        anthropic.Anthropic(api_key=PROVIDER_KEY, base_url=server.url) as plain,
        anthropic_of(proxy) as client,
    ):
        assert unchanged(asked(client))["content"] == unchanged(asked(plain))["content"]
