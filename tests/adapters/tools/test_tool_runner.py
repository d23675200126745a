"""The calls that await a result are run, each once, and what each gave is recorded in their order."""

import os
import threading
from typing import Any
from uuid import uuid4

import pytest

import onrecord
from onrecord.domain.content import Native
from onrecord.domain.errors import ConversationClosed
from onrecord.domain.events import ServerToolCallRecorded, ToolCallRecorded
from tests.adapters.tools.conversations import call_tools, recorded_results
from tests.patience import PATIENCE

PDF = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n"


@pytest.fixture
def chat() -> onrecord.Conversation:
    return onrecord.connect("memory://").conversation("support/4711")


WAYS: dict[str, dict[str, Any]] = {
    "in order": {},
    "in parallel": {"parallel": True},
    "with a time-out": {"timeout": 60},
    "in parallel with one": {"parallel": True, "timeout": 60.5},
}


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> dict[str, Any]:
    """How the calls are run; what is recorded is the same."""
    return WAYS[str(request.param)]


def track(parcel: str) -> dict[str, str]:
    """Find a parcel."""
    return {"parcel": parcel, "depot": "North"}


def refuse(parcel: str) -> str:
    """Refuse to find it."""
    raise LookupError(f"{parcel} is not ours")


def test_each_open_call_gets_its_result(chat: onrecord.Conversation, way: dict[str, Any]) -> None:
    call_tools(chat, ("track", {"parcel": "NW-1"}), ("refuse", {"parcel": "NW-2"}), ("track", {}))
    runs = onrecord.ToolRunner(chat, [track, refuse], **way).run()
    assert recorded_results(chat) == [
        ("call_1", '{"parcel":"NW-1","depot":"North"}', False),
        ("call_2", "Error: NW-2 is not ours", True),
        (
            "call_3",
            "Error: the arguments of 'track' are not valid: parcel: it is missing",
            True,
        ),
    ]
    assert [(run.call.id, run.is_error) for run in runs] == [
        ("call_1", False),
        ("call_2", True),
        ("call_3", True),
    ]
    assert runs[0].output == {"parcel": "NW-1", "depot": "North"}
    assert chat.open_calls() == []


def test_running_again_changes_nothing(chat: onrecord.Conversation, way: dict[str, Any]) -> None:
    call_tools(chat, ("track", {"parcel": "NW-1"}))
    runner = onrecord.ToolRunner(chat, [track], **way)
    runner.run()
    version = chat.head().version
    assert runner.run() == ()
    assert onrecord.ToolRunner(chat, [track], **way).run() == ()
    assert chat.head().version == version


def test_a_conversation_without_calls_runs_nothing(chat: onrecord.Conversation) -> None:
    assert onrecord.ToolRunner(chat, [track]).run() == ()
    chat.user("Hello")
    assert onrecord.ToolRunner(chat, [track]).run() == ()


def test_each_result_is_durable_before_the_next_call_is_made(chat: onrecord.Conversation) -> None:
    seen: list[int] = []

    def count() -> str:
        seen.append(len(recorded_results(chat)))
        return "counted"

    call_tools(chat, ("count", {}), ("count", {}), ("count", {}))
    onrecord.ToolRunner(chat, [count]).run()
    assert seen == [0, 1, 2]


def test_in_parallel_all_are_called_before_any_is_waited_for(chat: onrecord.Conversation) -> None:
    together = threading.Barrier(3, timeout=PATIENCE)

    def meet(number: int) -> int:
        together.wait(30)
        return number

    call_tools(chat, *(("meet", {"number": number}) for number in (1, 2, 3)))
    onrecord.ToolRunner(chat, [meet], parallel=True).run()
    assert [text for _, text, _ in recorded_results(chat)] == ["1", "2", "3"]


def test_in_parallel_results_are_recorded_in_call_order(chat: onrecord.Conversation) -> None:
    second_is_done = threading.Event()

    def first() -> str:
        second_is_done.wait(30)
        return "first"

    def second() -> str:
        second_is_done.set()
        return "second"

    call_tools(chat, ("first", {}), ("second", {}))
    onrecord.ToolRunner(chat, [first, second], parallel=True).run()
    assert recorded_results(chat) == [("call_1", "first", False), ("call_2", "second", False)]


def test_in_parallel_a_result_is_recorded_as_soon_as_those_before_it_are(
    chat: onrecord.Conversation,
) -> None:
    """So that a crash loses as little as can be."""
    recorded: list[int] = []

    def quick() -> str:
        return "quick"

    def slow() -> str:
        while not recorded:
            recorded.extend([len(recorded_results(chat))] if recorded_results(chat) else [])
        return "slow"

    call_tools(chat, ("quick", {}), ("slow", {}))
    onrecord.ToolRunner(chat, [quick, slow], parallel=True).run()
    assert recorded == [1]


@pytest.mark.parametrize("parallel", [False, True])
def test_a_call_that_takes_too_long_has_failed(chat: onrecord.Conversation, parallel: bool) -> None:
    end = threading.Event()

    def hang() -> None:
        end.wait(60)

    call_tools(chat, ("hang", {}), ("track", {"parcel": "NW-1"}))
    onrecord.ToolRunner(chat, [hang, track], timeout=3, parallel=parallel).run()
    end.set()
    assert [(text, is_error) for _, text, is_error in recorded_results(chat)] == [
        ("Error: Tool execution timed out", True),
        ('{"parcel":"NW-1","depot":"North"}', False),
    ]


def test_a_tool_s_own_time_out_is_its_own_error(
    chat: onrecord.Conversation, way: dict[str, Any]
) -> None:
    def ask() -> None:
        raise TimeoutError("the depot does not answer")

    call_tools(chat, ("ask", {}))
    onrecord.ToolRunner(chat, [ask], **way).run()
    assert recorded_results(chat) == [("call_1", "Error: the depot does not answer", True)]


def test_an_exception_without_words_is_told_by_its_name(chat: onrecord.Conversation) -> None:
    def stop() -> None:
        raise RuntimeError

    call_tools(chat, ("stop", {}))
    onrecord.ToolRunner(chat, [stop]).run()
    assert recorded_results(chat) == [("call_1", "Error: RuntimeError", True)]


@pytest.mark.parametrize(
    ("missing", "said"),
    [(KeyError("tenant_id"), "KeyError: 'tenant_id'"), (KeyError(), "KeyError")],
)
def test_a_key_that_is_missing_is_told_as_that(
    chat: onrecord.Conversation, missing: KeyError, said: str
) -> None:
    def stop() -> None:
        raise missing

    call_tools(chat, ("stop", {}))
    onrecord.ToolRunner(chat, [stop]).run()
    assert recorded_results(chat) == [("call_1", f"Error: {said}", True)]


def test_an_exception_that_fails_to_tell_itself_is_told_by_its_name(
    chat: onrecord.Conversation,
) -> None:
    class Speechless(Exception):
        def __str__(self) -> str:
            raise ValueError

    def stop() -> None:
        raise Speechless

    call_tools(chat, ("stop", {}))
    onrecord.ToolRunner(chat, [stop]).run()
    assert recorded_results(chat) == [("call_1", "Error: Speechless", True)]


def test_an_exception_that_names_a_file_in_no_utf8_is_told(chat: onrecord.Conversation) -> None:
    def read() -> str:
        raise FileNotFoundError("no file " + os.fsdecode(b"caf\xe9.txt"))

    call_tools(chat, ("read", {}))
    onrecord.ToolRunner(chat, [read]).run()
    assert recorded_results(chat) == [("call_1", "Error: no file caf\\udce9.txt", True)]


def test_a_group_of_one_exception_is_that_exception(chat: onrecord.Conversation) -> None:
    def group() -> None:
        raise ExceptionGroup("tasks", [ExceptionGroup("more", [ValueError("no such depot")])])

    call_tools(chat, ("group", {}))
    onrecord.ToolRunner(chat, [group]).run()
    assert recorded_results(chat) == [("call_1", "Error: no such depot", True)]


@pytest.mark.parametrize("exception", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_what_ends_a_program_passes_and_is_no_result(
    chat: onrecord.Conversation, way: dict[str, Any], exception: type[BaseException]
) -> None:
    ends = [True]

    def end() -> str:
        if ends.pop():
            raise exception
        return "went on"

    call_tools(chat, ("track", {"parcel": "NW-1"}), ("end", {}), ("track", {"parcel": "NW-2"}))
    runner = onrecord.ToolRunner(chat, [track, end], lease=None, **way)
    with pytest.raises(exception):
        runner.run()
    assert [call for call, _, _ in recorded_results(chat)] == ["call_1"]
    assert [call.id for call in chat.open_calls()] == ["call_2", "call_3"]
    ends.append(False)
    runner.run()
    assert [call for call, _, _ in recorded_results(chat)] == ["call_1", "call_2", "call_3"]


@pytest.mark.parametrize("given", [object(), {1, 2}, lambda: 1, float("nan")])
def test_a_result_that_no_record_can_hold_is_an_error_of_the_tool(
    chat: onrecord.Conversation, given: object
) -> None:
    def odd() -> object:
        return given

    call_tools(chat, ("odd", {}))
    (run,) = onrecord.ToolRunner(chat, [odd]).run()
    assert run.is_error
    ((_, text, is_error),) = recorded_results(chat)
    assert is_error
    assert text.startswith("Error: ")


def test_nothing_is_a_result(chat: onrecord.Conversation) -> None:
    def nothing() -> None: ...

    call_tools(chat, ("nothing", {}))
    onrecord.ToolRunner(chat, [nothing]).run()
    assert recorded_results(chat) == [("call_1", "", False)]


def test_a_document_is_a_result(chat: onrecord.Conversation) -> None:
    def report() -> dict[str, object]:
        return {"reports": [{"file": PDF}]}

    call_tools(chat, ("report", {}))
    onrecord.ToolRunner(chat, [report]).run()
    ((_, text, _),) = recorded_results(chat)
    assert "<application/pdf>" in text


def test_a_tool_may_say_itself_that_it_failed(chat: onrecord.Conversation) -> None:
    def check(parcel: str) -> object:
        return onrecord.Failed({"parcel": parcel, "why": "lost"})

    call_tools(chat, ("check", {"parcel": "NW-1"}))
    onrecord.ToolRunner(chat, [check]).run()
    assert recorded_results(chat) == [("call_1", '{"parcel":"NW-1","why":"lost"}', True)]


@pytest.mark.parametrize("nothing", [None, "", {}])
def test_arguments_that_are_not_there_are_none(
    chat: onrecord.Conversation, nothing: object
) -> None:
    def ping() -> str:
        return "pong"

    call_tools(chat, ("ping", nothing))
    onrecord.ToolRunner(chat, [ping]).run()
    assert recorded_results(chat) == [("call_1", "pong", False)]


@pytest.mark.parametrize("arguments", ['{"parcel": "NW', ["NW-1"], 7])
def test_arguments_that_are_no_object_are_a_result_that_says_so(
    chat: onrecord.Conversation, arguments: object
) -> None:
    call_tools(chat, ("track", arguments))
    onrecord.ToolRunner(chat, [track]).run()
    ((_, text, is_error),) = recorded_results(chat)
    assert is_error
    assert text.startswith("Error: the arguments are no JSON object")


def test_calls_that_a_provider_runs_itself_never_come_to_the_runner(
    chat: onrecord.Conversation,
) -> None:
    """They are never open: what awaits a result is the caller's to run."""
    called: list[object] = []

    def web_search(query: str) -> None:
        called.append(query)

    chat.user("What is new?")
    block = {
        "type": "server_tool_use",
        "id": "srv_1",
        "name": "web_search",
        "input": {"query": "x"},
    }
    native = Native(api="anthropic-messages", value=block)
    chat.log.append(
        ServerToolCallRecorded(
            response=uuid4(), index=0, call_id="srv_1", name="web_search", content=native
        ),
        ToolCallRecorded(call_id="c", name="web_search", content=native, awaited=False),
    )
    assert onrecord.ToolRunner(chat, [web_search]).run() == ()
    assert called == []


def test_a_closed_conversation_takes_no_result(chat: onrecord.Conversation) -> None:
    call_tools(chat, ("track", {"parcel": "NW-1"}))
    runner = onrecord.ToolRunner(chat, [track])
    chat.end()
    with pytest.raises(ConversationClosed):
        runner.run()


@pytest.mark.parametrize("timeout", [None, 60])
def test_calls_that_a_signal_cancels_amid_the_round_are_not_made(
    chat: onrecord.Conversation, timeout: float | None
) -> None:
    made: list[int] = []

    def ring(number: int) -> str:
        made.append(number)
        if number == 2:
            chat.signal("The parcel is here.", interrupts=True)
        return f"rang {number}"

    call_tools(chat, *(("ring", {"number": number}) for number in (1, 2, 3, 4)))
    runs = onrecord.ToolRunner(chat, [ring], timeout=timeout).run()
    assert made == [1, 2]
    assert isinstance(runs[1].done, onrecord.Rejected)
    assert recorded_results(chat)[0] == ("call_1", "rang 1", False)
    assert chat.open_calls() == []


def test_a_second_runner_s_result_is_kept_beside_the_first(chat: onrecord.Conversation) -> None:
    call_tools(chat, ("race", {}))

    def race() -> str:
        onrecord.ToolRunner(
            chat, [onrecord.tool(lambda: "the other", name="race")], lease=None
        ).run()
        return "mine"

    (run,) = onrecord.ToolRunner(chat, [race], lease=None).run()
    assert isinstance(run.done, onrecord.Rejected)
    assert recorded_results(chat) == [("call_1", "the other", False)]
