"""What OpenAI's Chat Completions API refuses, each rule broken once, and what it takes."""

from __future__ import annotations

from typing import Any

import pytest

from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.openai_chat.draft import Reader
from tests.projections.refused import refused

API = "openai-chat"
HELLO: JsonObject = {"role": "user", "content": "Hello"}


def call(call_id: str, name: str = "look_up") -> JsonObject:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": "{}"}}


def calls(*ids: str) -> JsonObject:
    return {"role": "assistant", "content": None, "tool_calls": [call(each) for each in ids]}


def result(call_id: str) -> JsonObject:
    return {"role": "tool", "tool_call_id": call_id, "content": "found"}


def told(*messages: JsonObject, **members: Any) -> list[tuple[str, str, str]]:
    """Each breach: where it is, its rule, and the provider's words."""
    request = {"messages": list(messages), **members}
    return [(each.where, each.rule, each.said) for each in refused(API, request)]


ACCEPTED: dict[str, list[JsonObject]] = {
    "a prompt": [HELLO],
    "an answer first and last": [{"role": "assistant", "content": "Hello?"}],
    "results in any order": [HELLO, calls("a", "b"), result("b"), result("a"), HELLO],
    "ids that every round uses again": [HELLO, calls("a"), result("a"), calls("a"), result("a")],
    "a refusal": [HELLO, {"role": "assistant", "content": None, "refusal": "No."}],
    "speech": [HELLO, {"role": "assistant", "content": None, "audio": {"id": "audio_1"}}],
    "a custom call": [
        HELLO,
        {
            "role": "assistant",
            "tool_calls": [{"id": "a", "type": "custom", "custom": {"name": "run", "input": "ls"}}],
        },
        result("a"),
    ],
    "an old call": [
        HELLO,
        {"role": "assistant", "function_call": {"name": "look_up", "arguments": "{}"}},
        {"role": "function", "name": "look_up", "content": "found"},
    ],
}


@pytest.mark.parametrize("messages", ACCEPTED.values(), ids=ACCEPTED)
def test_what_the_service_takes_breaks_no_rule(messages: list[JsonObject]) -> None:
    assert told(*messages) == []


def test_a_call_is_answered_before_anything_else_is_said() -> None:
    assert told(HELLO, calls("a", "b"), result("a"), HELLO) == [
        (
            "/messages/1/tool_calls",
            "C1",
            (
                "An assistant message with 'tool_calls' must be followed by tool messages responding "
                "to each 'tool_call_id'. The following tool_call_ids did not have response messages: "
                "b"
            ),
        )
    ]


def test_a_result_behind_the_users_words_answers_nothing() -> None:
    assert [(where, rule) for where, rule, _ in told(calls("a"), HELLO, result("a"))] == [
        ("/messages/0/tool_calls", "C1"),
        ("/messages/2", "C2"),
    ]


def test_a_result_responds_to_a_call() -> None:
    assert told(HELLO, result("a")) == [
        (
            "/messages/1",
            "C2",
            (
                "Invalid parameter: messages with role 'tool' must be a response to a preceeding "
                "message with 'tool_calls'."
            ),
        )
    ]
    [(where, rule, said)] = told(HELLO, calls("a"), result("a"), result("b"))
    assert (where, rule) == ("/messages/3/tool_call_id", "C2")
    assert "'tool_call_id' of 'b' not found in 'tool_calls' of previous message." in said


def test_a_call_has_one_result() -> None:
    [(where, rule, said)] = told(HELLO, calls("a"), result("a"), result("a"))
    assert (where, rule) == ("/messages/3/tool_call_id", "C2")
    assert said.endswith(
        "Duplicate value for 'tool_call_id' of 'a', in messages[2] and messages[3]."
    )


def test_the_calls_of_a_message_have_ids_of_their_own() -> None:
    [(where, rule, _)] = told(HELLO, calls("a", "a"), result("a"))
    assert (where, rule) == ("/messages/1/tool_calls/1/id", "C5")


def test_ids_have_forty_characters_at_most() -> None:
    assert told(HELLO, calls("a" * 40), result("a" * 40)) == []
    assert next(
        (where, rule, said) for where, rule, said in told(calls("a" * 51), result("a" * 51))
    ) == (
        "/messages/0/tool_calls/0/id",
        "C5",
        (
            "Invalid 'messages[0].tool_calls[0].id': string too long. Expected a string with maximum "
            "length 40, but got a string with length 51 instead."
        ),
    )


def test_other_servers_take_the_ids_that_they_gave() -> None:
    messages = (HELLO, calls("a" * 51), result("a" * 51))
    assert told(*messages, model="deepseek-chat") == []
    assert {rule for _, rule, _ in told(*messages, model="gpt-5")} == {"C5"}


def test_ids_are_not_empty() -> None:
    assert {said.partition(":")[2] for _, _, said in told(calls(""), result(""))} == {
        " empty string. Expected a string with minimum length 1, but got an empty string instead."
    }


@pytest.mark.parametrize(
    "model", ["mistral-large-latest", "mistralai/Voxtral-Small-24B", "Ministral-3B"]
)
def test_mistral_wants_ids_of_nine(model: str) -> None:
    messages = (HELLO, calls("call_1"), result("call_1"))
    assert {rule for _, rule, _ in told(*messages, model=model)} == {"C5"}
    assert told(*messages, model="gpt-5") == []
    nine = (HELLO, calls("abcDEF123"), result("abcDEF123"))
    assert told(*nine, model="mistralai/mistral-small") == []


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": None},
        {"role": "user"},
        {"role": "assistant", "content": None},
        {"role": "assistant", "content": None, "tool_calls": None},
    ],
)
def test_content_is_null_beside_calls_only(message: JsonObject) -> None:
    assert told(HELLO, message) == [
        (
            "/messages/1/content",
            "C4",
            "Invalid value for 'content': expected a string, got null.",
        )
    ]


def test_lists_are_not_empty() -> None:
    said = {
        "role": "assistant",
        "content": "Yes.",
        "tool_calls": list[JsonObject](),
    }
    assert [where for where, _, _ in told(said, {"role": "user", "content": []})] == [
        "/messages/1/content",
        "/messages/0/tool_calls",
    ]
    assert [rule for _, rule, _ in told()] == ["messages"]


def test_names_have_one_form() -> None:
    named = {
        "role": "assistant",
        "content": "",
        "tool_calls": [call("a", "look up"), call("b", "x" * 65)],
    }
    speaker = {**HELLO, "name": "Ann Smith"}
    assert [(where, rule) for where, rule, _ in told(speaker, named, result("a"), result("b"))] == [
        ("/messages/0/name", "names"),
        ("/messages/1/tool_calls/0/function/name", "names"),
        ("/messages/1/tool_calls/1/function/name", "names"),
    ]


def test_a_call_of_a_function_is_named_by_that_whatever_stands_beside_it() -> None:
    """Snowflake gives an empty `custom` beside the function that is called."""
    both = {**call("a", "look_up"), "custom": {"name": "", "input": ""}}
    custom = {"id": "b", "type": "custom", "custom": {"name": "no name", "input": ""}}
    named = {"role": "assistant", "content": "", "tool_calls": [both, custom]}
    found = [where for where, _, _ in told(HELLO, named, result("a"), result("b"))]
    assert found == ["/messages/1/tool_calls/1/custom/name"]


def test_tools_have_names_of_their_own() -> None:
    tool = {"type": "function", "function": {"name": "look_up"}}
    assert [where for where, _, _ in told(HELLO, tools=[tool, tool])] == ["/tools/1"]


def test_some_models_take_no_instructions() -> None:
    system = {"role": "system", "content": "Be kind."}
    assert told(system, HELLO, model="gpt-5") == []
    assert told(system, HELLO, model="o1-mini") == [
        (
            "/messages/0/role",
            "C6",
            "Unsupported value: 'messages[0].role' does not support 'system' with this model.",
        )
    ]


def test_not_every_model_hears() -> None:
    sound = {"type": "input_audio", "input_audio": {"data": "", "format": "wav"}}
    message = {"role": "user", "content": [sound]}
    assert told(message) == []
    assert told(message, model="gpt-4o-audio-preview") == []
    [(where, _, said)] = told(message, model="gpt-4o")
    assert where == "/messages/0/content/0"
    assert said == (
        "Invalid 'messages[0]'. Content blocks are expected to be either text or image_url type."
    )


def test_a_file_is_a_pdf_and_an_image_one_of_four_kinds() -> None:
    urls = ("data:application/pdf;base64,JVBE", "data:text/plain;base64,aGk=", "JVBE")
    files = [{"type": "file", "file": {"filename": "a", "file_data": url}} for url in urls]
    images = [
        {"type": "image_url", "image_url": {"url": url}}
        for url in ("https://example.com/a.tiff", "data:image/png;base64,iV", "data:image/tiff,II")
    ]
    message = {"role": "user", "content": [*files, *images]}
    breaches = told(message)
    assert {rule for _, rule, _ in breaches} == {"files"}
    assert [where.removeprefix("/messages/0/content/") for where, _, _ in breaches] == [
        "1/file/file_data",
        "2/file/file_data",
        "5/image_url",
    ]
    assert breaches[0][2].endswith(
        "with an application/pdf MIME type, but got unsupported MIME type 'text/plain'."
    )
    assert told(message, model="google/gemini-2.5-pro") == []


NONSENSE: list[JsonObject] = [
    {},
    {"messages": "hi"},
    {"messages": [1, {"tool_calls": {}}, {"role": []}]},
]


@pytest.mark.parametrize("request_", NONSENSE)
def test_nonsense_breaks_nothing(request_: JsonObject) -> None:
    assert all(each.advice for each in refused(API, request_))


def test_mistral_takes_lists_that_are_empty() -> None:
    silent = {**calls("abcdefghi"), "content": list[JsonObject]()}
    plain: JsonObject = {"role": "assistant", "content": "Yes.", "tool_calls": list[JsonObject]()}
    messages = [HELLO, silent, result("abcdefghi"), plain, HELLO]
    assert told(*messages, model="mistral-small-latest") == []
    assert {rule for _, rule, _ in told(*messages, model="gpt-5")} == {"C4"}


@pytest.mark.parametrize(
    ("model", "is_refused"),
    [
        ("gpt-5", True),
        ("codex-mini", True),
        ("gpt-oss-120b", False),
        ("openai/gpt-oss-120b", False),
    ],
)
def test_who_reads_a_request_is_told_as_the_renderer_tells_it(model: str, is_refused: bool) -> None:
    """Open models of OpenAI's are served by others, which have ids of their own."""
    call_id = "c" * 41
    called = {"id": call_id, "type": "function", "function": {"name": "look", "arguments": "{}"}}
    messages: list[JsonObject] = [
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": None, "tool_calls": [called]},
        {"role": "tool", "tool_call_id": call_id, "content": "done"},
    ]
    request = {"model": model, "messages": messages}
    assert bool(refused("openai-chat", request)) == is_refused
    assert Reader(model).is_openai == is_refused
