"""The loop of an agent: it ends when the model calls nothing more, and before it runs away."""

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any

import anthropic
import openai
import pytest

import onrecord
from onrecord.adapters.conversation.conversation import Conversation
from onrecord.adapters.demo.services.scenes import Answer, FunctionCall, JsonObject, PlainAnswer
from onrecord.adapters.demo.services.server import DemoServer
from onrecord.adapters.tools.runner.loop import LIMIT, run_until_answered
from onrecord.adapters.tools.runner.runner import ToolRunner
from onrecord.domain.errors import TooManyModelCalls

Ask = Callable[[], object]


class Model:
    """A model that calls a tool so many times, then answers; it counts how often it was asked."""

    def __init__(self, rounds: int) -> None:
        self.rounds = rounds
        self.asked = 0

    def answer(self, _api: str, _body: dict[str, Any]) -> PlainAnswer:
        self.asked += 1
        if self.asked <= self.rounds:
            return PlainAnswer(calls=(FunctionCall("look", {"at": self.asked}),))
        return PlainAnswer("There is a wall.")


@pytest.fixture
def looked() -> list[int]:
    return []


@pytest.fixture
def runner(looked: list[int]) -> Iterator[ToolRunner]:
    def look(at: int) -> str:
        """Look at something."""
        looked.append(at)
        return f"seen {at}"

    with onrecord.connect("memory://") as store:
        chat = store.conversation("walls")
        chat.user("What is there?")
        made = ToolRunner(chat, [look])
        made.declare()
        yield made


@contextmanager
def asking(chat: Conversation, model: Model) -> Generator[Ask]:
    with (
        DemoServer((), openai=model.answer) as server,
        openai.OpenAI(base_url=server.openai_url, api_key="none") as client,
    ):
        create: Any = chat.record(client).chat.completions.create

        def ask() -> object:
            return create(model="gpt", **chat.request("openai-chat"))

        yield ask


def asked_claude(runner: ToolRunner, *answers: Answer) -> int:
    """How often the loop asks a model that answers so, and calls no tool."""
    with (
        DemoServer(answers) as server,
        anthropic.Anthropic(base_url=server.url, api_key="none") as client,
    ):
        create: Any = runner.conversation.record(client).messages.create

        def ask() -> object:
            request = runner.conversation.request("anthropic-messages")
            return create(model="claude", max_tokens=9, **request)

        assert run_until_answered(runner, ask) == ()
        return len(server.requests)


def test_it_asks_and_runs_until_the_model_calls_nothing(
    runner: ToolRunner, looked: list[int]
) -> None:
    model = Model(rounds=3)
    with asking(runner.conversation, model) as ask:
        runs = run_until_answered(runner, ask)
        assert [run.output for run in runs] == ["seen 1", "seen 2", "seen 3"]
    assert (looked, model.asked, runner.conversation.open_calls()) == ([1, 2, 3], 4, [])


def test_calls_that_were_left_open_are_run_before_the_model_is_asked(
    runner: ToolRunner, looked: list[int]
) -> None:
    model = Model(rounds=1)
    with asking(runner.conversation, model) as ask:
        ask()
        assert looked == []
        run_until_answered(runner, ask)
    assert (looked, model.asked) == ([1], 2)


def test_the_model_is_asked_ten_times_at_most(runner: ToolRunner) -> None:
    model = Model(rounds=99)
    with asking(runner.conversation, model) as ask, pytest.raises(TooManyModelCalls) as raised:
        run_until_answered(runner, ask)
    told = "Maximum number of model calls reached (modelCalls: 10, limit: 10)"
    assert (str(raised.value), model.asked, LIMIT) == (told, 10, 10)
    assert raised.value.code == "MAXIMUM_NUMBER_OF_MODEL_CALLS_REACHED"
    assert (raised.value.model_calls, raised.value.limit) == (10, 10)


def test_how_often_it_was_asked_is_counted_from_the_log(runner: ToolRunner) -> None:
    model = Model(rounds=99)
    with asking(runner.conversation, model) as ask:
        ask()
        with pytest.raises(TooManyModelCalls):
            run_until_answered(
                ToolRunner(runner.conversation, list(runner.tools.values())), ask, limit=3
            )
    assert model.asked == 3


def test_a_new_prompt_begins_to_count_anew(runner: ToolRunner) -> None:
    model = Model(rounds=2)
    with asking(runner.conversation, model) as ask:
        run_until_answered(runner, ask, limit=3)
        runner.conversation.user("And now?")
        run_until_answered(runner, ask, limit=1)
    assert model.asked == 4


def test_a_model_that_paused_is_asked_again(runner: ToolRunner, looked: list[int]) -> None:
    search: JsonObject = {
        "type": "server_tool_use",
        "id": "srvtoolu_1",
        "name": "web_search",
        "input": {},
    }
    found: JsonObject = {
        "type": "web_search_tool_result",
        "tool_use_id": "srvtoolu_1",
        "content": [],
    }
    paused = Answer((search,), stop_reason="pause_turn")
    answered = Answer((found, {"type": "text", "text": "Nothing."}))
    assert asked_claude(runner, paused, answered) == 2
    assert looked == []
    assert runner.conversation.next_input() == "nothing"


def test_an_answer_of_nothing_ends_it(runner: ToolRunner) -> None:
    """It is no message of the next request, in which the speakers still take turns."""
    assert asked_claude(runner, Answer(())) == 1
    runner.conversation.user("Well?")
    messages = runner.conversation.request("anthropic-messages")["messages"]
    assert [message["role"] for message in messages] == ["user"]


def test_a_tool_that_answers_ends_it_without_asking_again(looked: list[int]) -> None:
    model = Model(rounds=99)

    def look(at: int) -> str:
        looked.append(at)
        if at == 1:
            raise LookupError("too dark")
        return "a wall"

    with onrecord.connect("memory://") as store:
        chat = store.conversation("walls")
        chat.user("What is there?")
        runner = ToolRunner(chat, [onrecord.tool(look).answering()])
        with asking(chat, model) as ask:
            runs = run_until_answered(runner, ask)
    assert [run.output for run in runs] == ["Error: too dark", "a wall"]
    assert (looked, model.asked) == ([1, 2], 2)


def test_a_runner_whose_tools_no_model_was_told_of_says_so_once() -> None:
    def look(at: int) -> str:
        return f"seen {at}"

    with onrecord.connect("memory://") as store:
        chat = store.conversation("walls")
        chat.user("What is there?")
        runner = ToolRunner(chat, [look])
        assert runner.run() == ()  # Nothing was asked yet.
        with asking(chat, Model(rounds=0)) as ask:
            with pytest.warns(UserWarning, match=r"runner\.declare\(\)"):
                run_until_answered(runner, ask)
            assert runner.run() == ()


def test_a_runner_in_a_fork_of_what_declared_its_tools_says_nothing(runner: ToolRunner) -> None:
    fork = runner.conversation.fork("walls/again")
    with asking(fork, Model(rounds=0)) as ask:
        assert run_until_answered(ToolRunner(fork, runner.tools.values()), ask) == ()
