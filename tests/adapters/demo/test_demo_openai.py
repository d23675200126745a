"""The demo server on OpenAI's two APIs, driven by the official SDK: what it says and refuses."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, cast

import openai
import pytest

from onrecord.adapters.demo import support_agent
from onrecord.adapters.demo.services.scenes import (
    FunctionCall,
    JsonObject,
    OpenAIApi,
    OpenAIScript,
    PlainAnswer,
)
from onrecord.adapters.demo.services.server import DemoServer

MODEL = "gpt-5.4"
CALL = FunctionCall("track_parcel", {"parcel": "NW-20931"})
SEALED = ["reasoning.encrypted_content"]
ITEMS = (
    PlainAnswer("Let me look.", calls=(CALL,), reasons=True),
    PlainAnswer("It moves.", reasons=True),
)


def says(said: PlainAnswer) -> OpenAIScript:
    def script(api: OpenAIApi, request: JsonObject) -> PlainAnswer:
        return said

    return script


@contextmanager
def serving(
    script: OpenAIScript, key: bytes = b"demonstration account"
) -> Generator[openai.OpenAI]:
    with (
        DemoServer([], openai=script, key=key) as server,
        openai.OpenAI(api_key="demo", base_url=server.openai_url, max_retries=0) as client,
    ):
        yield client


def completion(client: openai.OpenAI, messages: list[Any]) -> dict[str, Any]:
    made = client.chat.completions.create(model=MODEL, messages=messages, stream=False)
    return made.choices[0].message.model_dump(mode="json", exclude_unset=True)


def output(client: openai.OpenAI, items: list[Any], **more: Any) -> list[dict[str, Any]]:
    create = cast("Callable[..., Any]", client.responses.create)
    made = create(**{"model": MODEL, "input": items, "store": False, "include": SEALED, **more})
    return [item.model_dump(mode="json", exclude_unset=True) for item in made.output]


def streamed(client: openai.OpenAI, items: list[Any]) -> list[Any]:
    create = cast("Callable[..., Any]", client.responses.create)
    return list(create(model=MODEL, input=items, store=False, include=SEALED, stream=True))


PROMPT = {"role": "user", "content": support_agent.CROSSINGS[0].prompt}


@pytest.mark.parametrize("said", ITEMS)
def test_a_completion_says_the_same_as_json_and_as_a_stream(said: PlainAnswer) -> None:
    with serving(says(said)) as client:
        whole = completion(client, [PROMPT])
        text, arguments, usage = "", "", None
        names: list[str] = []
        create = cast("Callable[..., Any]", client.chat.completions.create)
        counted = {"include_usage": True}
        for chunk in create(model=MODEL, messages=[PROMPT], stream=True, stream_options=counted):
            usage = chunk.usage or usage
            for choice in chunk.choices:
                text += choice.delta.content or ""
                for call in choice.delta.tool_calls or ():
                    names += [call.function.name] if call.function.name else []
                    arguments += call.function.arguments or ""
    assert text == (whole["content"] or "")
    assert names == [call["function"]["name"] for call in whole.get("tool_calls", [])]
    assert arguments == "".join(it["function"]["arguments"] for it in whole.get("tool_calls", []))
    assert usage is not None


@pytest.mark.parametrize("said", ITEMS)
def test_a_response_says_the_same_as_json_and_as_a_stream(said: PlainAnswer) -> None:
    def plain(items: list[dict[str, Any]]) -> list[Any]:
        made = {"id", "call_id", "encrypted_content"}
        return [{name: held for name, held in it.items() if name not in made} for it in items]

    with serving(says(said)) as client:
        whole = output(client, [PROMPT])
        events = streamed(client, [PROMPT])
    done = [
        event.item.model_dump(mode="json", exclude_unset=True)
        for event in events
        if event.type == "response.output_item.done"
    ]
    assert plain(done) == plain(whole)
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert events[-1].type == "response.completed"


def test_reasoning_comes_back_with_what_came_of_it() -> None:
    with serving(support_agent.other_answer) as client:
        items = output(client, [PROMPT])
        answered = {"type": "function_call_output", "call_id": items[-1]["call_id"], "output": "ok"}
        kinds = [item["type"] for item in output(client, [PROMPT, *items, answered])]
    assert kinds == ["reasoning", "message"]


def test_reasoning_of_a_stream_is_sealed_anew_at_each_stage_and_none_but_the_first_is_read() -> (
    None
):
    with serving(says(ITEMS[1])) as client:
        events = streamed(client, [PROMPT])
        added, done, completed = (
            next(event.item for event in events if event.type == "response.output_item.added"),
            next(event.item for event in events if event.type == "response.output_item.done"),
            events[-1].response.output[0],
        )
        message = events[-1].response.output[1].model_dump(mode="json", exclude_unset=True)
        for item in (done, completed):
            output(client, [PROMPT, item.model_dump(exclude_unset=True), message, PROMPT])
        with pytest.raises(openai.BadRequestError, match="could not be verified"):
            output(client, [PROMPT, added.model_dump(exclude_unset=True), message, PROMPT])
    assert len({item.encrypted_content for item in (added, done, completed)}) == 3


REFUSED: list[tuple[str, Callable[[list[Any]], list[Any]], dict[str, Any], str]] = [
    ("its reasoning left out", lambda it: it[1:], {}, "without its required 'reasoning' item"),
    ("its message left out", lambda it: it[:1], {}, "without its required following item"),
    ("not sealed", lambda it: [{**it[0], "encrypted_content": None}, it[1]], {}, "not found"),
    (
        "not sealed, nothing said of storage",
        lambda it: [{**it[0], "encrypted_content": None}, it[1]],
        {"store": None},
        "Zero Data Retention",
    ),
    ("another model's", lambda it: it, {"model": "gpt-5"}, "could not be verified"),
    ("no seal", lambda it: [{**it[0], "encrypted_content": "é"}, it[1]], {}, "could not be"),
    ("from storage", lambda it: [], {"previous_response_id": "resp_1"}, "'resp_1' not found"),
    (
        "a result of no call",
        lambda it: [{"type": "function_call_output", "call_id": "c", "output": "o"}],
        {},
        "No tool call found for function call output with call_id c.",
    ),
]


@pytest.mark.parametrize(
    ("case", "changed", "more", "said"), REFUSED, ids=[case for case, *_ in REFUSED]
)
def test_what_the_service_refuses_is_refused(
    case: str, changed: Callable[[list[Any]], list[Any]], more: dict[str, Any], said: str
) -> None:
    with serving(says(ITEMS[1])) as client:
        items = output(client, [PROMPT])
        with pytest.raises(openai.APIStatusError, match=said):
            output(client, [PROMPT, *changed(items), PROMPT], **more)


def test_reasoning_of_another_account_is_refused() -> None:
    with serving(says(ITEMS[1])) as client:
        items = output(client, [PROMPT])
    with (
        serving(says(ITEMS[1]), key=b"another") as client,
        pytest.raises(openai.BadRequestError) as refused,
    ):
        output(client, [PROMPT, *items, PROMPT])
    assert refused.value.code == "invalid_encrypted_content"


def test_a_completion_without_the_results_of_its_calls_is_refused() -> None:
    with serving(support_agent.other_answer) as client:
        said = completion(client, [PROMPT])
        with pytest.raises(openai.BadRequestError, match="must be followed by tool messages") as no:
            completion(client, [PROMPT, said, PROMPT])
    assert no.value.param == "messages[1].tool_calls"


def test_openai_is_spoken_only_where_it_is_asked_for() -> None:
    with (
        DemoServer([]) as server,
        openai.OpenAI(api_key="demo", base_url=server.openai_url, max_retries=0) as client,
        pytest.raises(openai.NotFoundError),
    ):
        completion(client, [PROMPT])
