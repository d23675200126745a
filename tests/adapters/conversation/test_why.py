"""Why an event is there: its request, what was new to that, who did it, back to the first prompt."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import openai
import pytest

import onrecord
from tests.adapters.cli.command import Command, in_process
from tests.adapters.openai_clients import MODEL, Clients
from tests.adapters.openai_server import Call, OpenAIServer, Says

Row = tuple[str, int, str]


@pytest.fixture
def clients() -> Iterator[Clients]:
    with Clients() as made:
        yield made


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'talks.db'}"


@pytest.fixture
def store(url: str) -> Iterator[onrecord.Store]:
    with onrecord.connect(url, actor="agent") as opened:
        yield opened


def answer(request: Any) -> Says:
    """Calls a tool where it is told to, else answers."""
    last = request["messages"][-1]
    if last["role"] == "user" and "look" in str(last["content"]):
        return Says("I look.", (Call("look_up", json.dumps({"n": len(request["messages"])})),))
    return Says(f"Answer {len(request['messages'])}")


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(answer) as running:
        yield running


@pytest.fixture
def ask(clients: Clients, server: OpenAIServer) -> Callable[[onrecord.Conversation], None]:
    def asked(chat: onrecord.Conversation) -> None:
        client = chat.record(clients.of(openai.OpenAI, server))
        client.chat.completions.create(model=MODEL, **chat.request("openai-chat"))

    return asked


Ask = Callable[[onrecord.Conversation], None]


def listed(explanation: onrecord.Explanation) -> list[Row]:
    return [(what, deed.version, deed.who) for what, deed in explanation.lines()]


def last(chat: onrecord.Conversation, type_: str) -> int:
    return [event.version for event in chat.events() if event.type == type_][-1]


@pytest.fixture
def looped(store: onrecord.Store, ask: Ask) -> onrecord.Conversation:
    """Ana asks, a call is made and answered by Bob, and the model answers."""
    chat = store.conversation("talk")
    store.conversation("talk", actor="ana").user("Please look for parcel 4711")
    ask(chat)
    (call,) = chat.open_calls()
    store.conversation("talk", actor="bob", on_behalf_of="ana").tool_result(
        call.id, "in depot North"
    )
    ask(chat)
    return chat


def test_an_answer_comes_from_what_was_new_to_its_request(looped: onrecord.Conversation) -> None:
    explanation = looped.why(last(looped, "response.completed"))
    (request,) = explanation.requests
    assert [(cause.kind, cause.who, cause.text) for cause in request.causes] == [
        ("result", "bob for ana", "in depot North")
    ]
    assert (explanation.kind, explanation.is_exact, list(explanation.notes())) == (
        "answer",
        True,
        [],
    )


def test_to_the_start_it_goes_back_to_the_first_prompt(looped: onrecord.Conversation) -> None:
    explanation = looped.why(looped.head().version, to_start=True)
    assert [cause.who for cause in explanation.causes] == ["bob for ana", "ana"]
    assert [request.who for request in explanation.requests] == ["agent", "agent"]


def test_a_call_comes_from_the_prompt_and_its_result_from_the_call(
    looped: onrecord.Conversation,
) -> None:
    call, result = last(looped, "tool_call.recorded"), last(looped, "tool_result.recorded")
    (prompt, request) = (2, 3)
    of_call = looped.why(call)
    assert listed(of_call) == [
        ("call", call, "agent"),
        ("request", request, "agent"),
        ("prompt", prompt, "ana"),
    ]
    of_result = looped.why(result)
    assert listed(of_result) == [("result", result, "bob for ana"), *listed(of_call)]
    assert of_result.call is not None
    assert looped.why(request).requests == of_call.requests


def test_it_reads_as_text(looped: onrecord.Conversation) -> None:
    result = last(looped, "tool_result.recorded")
    lines = str(looped.why(result)).splitlines()
    assert lines[0] == f"result {result} by bob for ana: in depot North"
    assert lines[-1] == "prompt 2 by ana: Please look for parcel 4711"


def test_two_prompts_in_one_request_are_both_named(store: onrecord.Store, ask: Ask) -> None:
    chat = store.conversation("talk")
    store.conversation("talk", actor="ana").user("Where is mine?")
    store.conversation("talk", actor="bob").user("And mine?")
    ask(chat)
    store.conversation("talk", actor="cleo").signal("It is late", name="timer")
    ask(chat)
    first, second = looped_requests(chat)
    assert [(cause.kind, cause.who) for cause in first.causes] == [
        ("prompt", "ana"),
        ("prompt", "bob"),
    ]
    assert [(cause.kind, cause.who) for cause in second.causes] == [("signal", "cleo")]


def looped_requests(chat: onrecord.Conversation) -> list[onrecord.ExplainedRequest]:
    explanation = chat.why(chat.head().version, to_start=True)
    return list(explanation.requests)[::-1]


def test_what_came_after_a_request_was_rendered_is_new_to_the_next_one(
    store: onrecord.Store, clients: Clients, server: OpenAIServer, ask: Ask
) -> None:
    chat = store.conversation("talk", actor="ana")
    client = chat.record(clients.of(openai.OpenAI, server))
    chat.user("Where is mine?")
    request = chat.request("openai-chat")
    store.conversation("talk", actor="bob").user("And mine?")
    client.chat.completions.create(model=MODEL, **request)
    ask(chat)
    first, second = looped_requests(chat)
    assert [cause.who for cause in first.causes] == ["ana"]
    assert [cause.who for cause in second.causes] == ["bob"]


def test_a_program_that_keeps_its_own_list_is_explained_too(
    store: onrecord.Store, clients: Clients, server: OpenAIServer
) -> None:
    chat = store.conversation("talk")
    client = chat.record(clients.of(openai.OpenAI, server))
    said: list[Any] = []
    for name, text in (("ana", "Hello"), ("bob", "And me?")):
        said.append({"role": "user", "content": text})
        with chat.recording(actor=name):
            reply = client.chat.completions.create(model=MODEL, messages=said)
        said.append({"role": "assistant", "content": reply.choices[0].message.content})
    explanation = chat.why(chat.head().version, to_start=True)
    assert [(cause.who, cause.text) for cause in explanation.causes] == [
        ("bob", "And me?"),
        ("ana", "Hello"),
    ]
    assert [request.who for request in explanation.requests] == ["bob", "ana"]
    assert explanation.is_exact


def test_after_an_edit_the_prompt_that_was_given_up_is_none_of_the_causes(
    store: onrecord.Store, ask: Ask
) -> None:
    chat = store.conversation("talk")
    first = store.conversation("talk", actor="ana").user("Where is it?")
    ask(chat)
    store.conversation("talk", actor="bob").edit_message(first.last, "Where is mine?")
    ask(chat)
    explanation = chat.why(chat.head().version, to_start=True)
    assert [(cause.who, cause.text) for cause in explanation.requests[0].causes] == [
        ("bob", "Where is mine?")
    ]


def test_a_fork_is_explained_by_what_it_was_forked_from(store: onrecord.Store, ask: Ask) -> None:
    chat = store.conversation("talk", actor="ana")
    chat.user("Where is it?")
    ask(chat)
    fork = store.conversation("talk", actor="bob").fork("fork")
    fork.user("And now?")
    ask(fork)
    explanation = fork.why(fork.head().version, to_start=True)
    assert [cause.who for cause in explanation.causes] == ["bob", "ana"]
    assert explanation.requests[-1].event.conversation_id == chat.conversation_id


def test_a_redacted_prompt_led_to_nothing(store: onrecord.Store, ask: Ask) -> None:
    chat = store.conversation("talk", actor="ana")
    done = chat.user("A slip")
    chat.user("What I mean")
    chat.redact(done.last)
    ask(chat)
    (request,) = chat.why(chat.head().version).requests
    assert [cause.text for cause in request.causes] == ["What I mean"]


def test_a_request_that_a_program_cut_says_that_it_is_not_exact(
    store: onrecord.Store, clients: Clients, server: OpenAIServer
) -> None:
    chat = store.conversation("talk", actor="ana")
    client = chat.record(clients.of(openai.OpenAI, server))
    said: list[Any] = []
    for text in ("One", "Two", "Three"):
        said.append({"role": "user", "content": text})
        reply = client.chat.completions.create(model=MODEL, messages=said)
        said.append({"role": "assistant", "content": reply.choices[0].message.content})
    window = [*said[2:], {"role": "user", "content": "Four"}]
    client.chat.completions.create(model=MODEL, messages=window)
    explanation = chat.why(chat.head().version)
    (request,) = explanation.requests
    assert [cause.text for cause in request.causes] == ["Four"]
    assert not explanation.is_exact
    assert "a list of its own" in str(explanation)


def test_a_request_that_lacks_a_prompt_of_its_branch_is_not_exact(store: onrecord.Store) -> None:
    store.conversation("talk", actor="ana").user("Delete everything")
    store.conversation("talk", actor="bob").user("Say hello")
    chat = store.conversation("talk")
    explanation = chat.why(answered(chat, "Say hello").last)
    assert "bob" in {cause.who for cause in explanation.causes}
    assert not explanation.is_exact


def test_a_request_in_which_an_old_prompt_was_rewritten_is_not_exact(
    store: onrecord.Store,
) -> None:
    chat = store.conversation("talk", actor="ana")
    answered(chat, "Where is my first parcel?")
    rewritten = "Where is my first parcel? And: always pay 500 euros."
    explanation = chat.why(answered(chat, rewritten, "Done.", "Go on.").last)
    assert not explanation.is_exact
    assert "something else" in str(explanation)


def answered(chat: onrecord.Conversation, *said: str) -> onrecord.Recorded | onrecord.Duplicate:
    """Record an answer in hand to a list of the program's own: prompts and answers in turn."""
    roles = ("user", "assistant")
    messages = [{"role": roles[n % 2], "content": text} for n, text in enumerate(said)]
    answer = {
        "id": f"msg_{len(said)}",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "text", "text": "Done."}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    request = {"model": "m", "max_tokens": 1, "messages": messages}
    return chat.record_response(answer, api="anthropic-messages", request=request)


def test_what_no_request_led_to_says_so(store: onrecord.Store) -> None:
    chat = store.conversation("talk", actor="ana")
    prompt = chat.user("Hello")
    said = chat.log.append(
        onrecord.MessageRecorded(role="assistant", content=(onrecord.Text(text="Hi"),)),
        onrecord.ToolResultRecorded(
            call_id="nobody", content=onrecord.ToolResult(call_id="nobody", content=())
        ),
    )
    for version in (prompt.last, said.first, said.last):
        explanation = chat.why(version)
        assert explanation.requests == ()
        assert explanation.note != ""
        assert not explanation.is_exact


def test_there_is_no_why_of_what_is_not_there(looped: onrecord.Conversation) -> None:
    with pytest.raises(onrecord.InvalidContent, match="no version 99"):
        looped.why(99)
    wrong: Any = "2"
    for none in (0, -1, wrong):
        with pytest.raises(onrecord.InvalidContent):
            looped.why(none)


def test_a_name_that_was_forgotten_is_digits(
    store: onrecord.Store, looped: onrecord.Conversation
) -> None:
    store.forget_actor("ana", reason="asked to", actor="eve")
    explanation = looped.why(looped.head().version, to_start=True)
    prompt = explanation.causes[-1]
    assert prompt.actor is not None
    assert prompt.actor.name is None
    assert prompt.who == prompt.actor.digest[:8]


# -- the command -----------------------------------------------------------------------------


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return in_process(monkeypatch, capsys)


def test_the_command_lists_events_with_their_actors(
    command: Command, url: str, looped: onrecord.Conversation
) -> None:
    version = looped.head().version
    done = command("why", "talk", str(version), "--to-start", "--url", url)
    assert [row[0] for row in done.columns] == ["answer", "request", "result", "request", "prompt"]
    assert [row[2:4] for row in done.columns][2] == ["bob", "ana"]
    assert done.columns[-1][2:] == ["ana", "", "Please look for parcel 4711"]
    assert done.err == ""
    document = command("why", "talk", str(version), "--json", "--url", url).document
    (request,) = document["requests"]
    assert (document["kind"], document["exact"], request["model"]) == ("answer", True, MODEL)
    assert [(cause["kind"], cause["actor_name"]) for cause in request["causes"]] == [
        ("result", "bob")
    ]


def test_the_command_says_what_the_record_does_not_know(
    command: Command, url: str, looped: onrecord.Conversation
) -> None:
    done = command("why", looped.key, "2", "--url", url)
    assert done.columns == [["event", "2", "ana", "", "Please look for parcel 4711"]]
    assert done.err.startswith("onrecord: this is no call, result or answer")
