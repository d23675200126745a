"""A loop whose model was asked beside the conversation has no answer, and says so."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import anthropic
import openai
import pytest

import onrecord
from onrecord.adapters.demo.services.scenes import Answer, PlainAnswer
from onrecord.adapters.demo.services.server import DemoServer
from onrecord.domain.errors import AnswerNotRecorded, InvalidInput
from onrecord.domain.events import ResponseInterrupted

HELLO = Answer(({"type": "text", "text": "Hello."},))


@pytest.fixture
def server() -> Iterator[DemoServer]:
    with DemoServer((HELLO, HELLO), openai=lambda _api, _body: PlainAnswer("Hello.")) as serving:
        yield serving


@pytest.fixture
def client(server: DemoServer) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=server.url, api_key="none") as client:
        yield client


@pytest.fixture
def store() -> Iterator[onrecord.Store]:
    with onrecord.connect("memory://") as opened:
        yield opened


@pytest.fixture
def runner(store: onrecord.Store) -> onrecord.ToolRunner:
    chat = store.conversation("support/4711")
    chat.user("Hello?")
    return onrecord.ToolRunner(chat, [])


def asking(runner: onrecord.ToolRunner, client: Any, **options: Any) -> Callable[[], object]:
    """What asks the model the conversation's request, with this client."""

    def ask() -> object:
        request = runner.conversation.request("anthropic-messages")
        return client.messages.create(model="claude", max_tokens=9, **request, **options)

    return ask


def test_a_client_that_is_not_recorded_is_found_out(
    runner: onrecord.ToolRunner, client: anthropic.Anthropic
) -> None:
    with pytest.raises(AnswerNotRecorded, match=r"chat\.record\(client\).*chat\.headers"):
        onrecord.run_until_answered(runner, asking(runner, client))


def test_so_is_one_that_records_in_another_conversation(
    store: onrecord.Store, runner: onrecord.ToolRunner, client: anthropic.Anthropic
) -> None:
    other = store.conversation("support/4712")
    ask = asking(runner, store.record(client), extra_headers=other.headers)
    with pytest.raises(AnswerNotRecorded):
        onrecord.run_until_answered(runner, ask)
    assert other.history()[-1].text == "Hello."


def test_so_is_an_answer_on_a_side_branch(runner: onrecord.ToolRunner, server: DemoServer) -> None:
    runner.conversation.assistant("Welcome.")
    runner.conversation.user("Who are you?")
    with openai.OpenAI(base_url=server.openai_url, api_key="none") as client:
        create: Any = runner.conversation.record(client).chat.completions.create

        def titles() -> object:
            return create(model="gpt", messages=[{"role": "user", "content": "Find a title."}])

        with pytest.raises(AnswerNotRecorded, match="--lines"):
            onrecord.run_until_answered(runner, titles)
    assert [turn.text for turn in runner.conversation.history()][-1] == "Who are you?"


def test_so_is_an_answer_that_a_provider_makes_in_the_background(
    runner: onrecord.ToolRunner,
) -> None:
    def ask() -> None:
        deferred = ResponseInterrupted(
            response=runner.conversation.conversation_id, api="openai-responses", reason="deferred"
        )
        runner.conversation.log.append(deferred)

    with pytest.raises(AnswerNotRecorded):
        onrecord.run_until_answered(runner, ask)


def test_what_others_record_meanwhile_is_no_answer_and_hides_none(
    runner: onrecord.ToolRunner, client: anthropic.Anthropic
) -> None:
    raw, recorded = asking(runner, client), asking(runner, runner.conversation.record(client))

    def amid(ask: Callable[[], object]) -> Callable[[], object]:
        def asked() -> None:
            runner.conversation.user("Anybody there?")
            ask()
            runner.conversation.user("I am still here.")

        return asked

    with pytest.raises(AnswerNotRecorded):
        onrecord.run_until_answered(runner, amid(raw))
    assert onrecord.run_until_answered(runner, amid(recorded)) == ()


def test_the_awaited_loop_finds_out_too() -> None:
    async def main() -> None:
        async with onrecord.connect_async("memory://") as store:
            chat = store.conversation("support/4711")
            await chat.user("Hello?")
            runner = onrecord.ToolRunner(chat, [])

            async def nothing() -> None:
                return

            with pytest.raises(AnswerNotRecorded):
                await onrecord.run_until_answered_async(runner, nothing)

            async def answered() -> None:
                await chat.assistant("Hello.")

            assert await onrecord.run_until_answered_async(runner, answered) == ()

    asyncio.run(main())


def test_the_loop_that_awaits_nothing_refuses_a_coroutine(runner: onrecord.ToolRunner) -> None:
    made: list[Awaitable[None]] = []

    async def ask() -> None:
        raise AssertionError("nobody awaits it")

    def keeping() -> Awaitable[None]:
        made.append(ask())
        return made[-1]

    with pytest.raises(InvalidInput, match="run_until_answered_async"):
        onrecord.run_until_answered(runner, keeping)
    (coroutine,) = made
    assert inspect.iscoroutine(coroutine)
    assert inspect.getcoroutinestate(coroutine) == inspect.CORO_CLOSED


def test_the_awaited_loop_refuses_what_gives_nothing_to_await() -> None:
    async def main() -> None:
        async with onrecord.connect_async("memory://") as store:
            chat = store.conversation("support/4711")
            await chat.user("Hello?")
            ask: Any = lambda: None
            with pytest.raises(InvalidInput, match="async def"):
                await onrecord.run_until_answered_async(onrecord.ToolRunner(chat, []), ask)

    asyncio.run(main())
