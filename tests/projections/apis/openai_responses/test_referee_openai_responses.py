"""What OpenAI's Responses API refuses, each rule broken once, and what it takes."""

from __future__ import annotations

from typing import Any

import pytest

from onrecord.domain.jsontext import JsonObject
from tests.projections.refused import refused

API = "openai-responses"
HELLO: JsonObject = {"role": "user", "content": "Hello"}


def call(call_id: str, kind: str = "function_call", **members: Any) -> JsonObject:
    return {"type": kind, "call_id": call_id, "name": "look_up", "arguments": "{}", **members}


def output(call_id: str, kind: str = "function_call_output", **members: Any) -> JsonObject:
    return {"type": kind, "call_id": call_id, "output": "found", **members}


def thought(item_id: str = "rs_1", **members: Any) -> JsonObject:
    return {"type": "reasoning", "id": item_id, "summary": [], **members}


def said(item_id: str | None = "msg_1", **members: Any) -> JsonObject:
    part = {"type": "output_text", "text": "Yes.", "annotations": list[JsonObject]()}
    message = {"type": "message", "role": "assistant", "content": [part], **members}
    return message if item_id is None else {"id": item_id, **message}


def told(*items: JsonObject, **members: Any) -> list[tuple[str, str, str]]:
    """Each breach: where it is, its rule, and the provider's words."""
    request = {"input": list(items), **members}
    return [(each.where, each.rule, each.said) for each in refused(API, request)]


ACCEPTED: dict[str, list[JsonObject]] = {
    "a prompt": [HELLO],
    "results after the whole output": [
        HELLO,
        call("a"),
        said(),
        call("b"),
        output("b"),
        output("a"),
    ],
    "reasoning, and a call without its id": [thought(), call("a"), output("a")],
    "reasoning, and a message with its id": [HELLO, thought(), said(), HELLO],
    "reasoning, a search, reasoning": [
        thought("rs_1"),
        {"type": "web_search_call", "id": "ws_1", "status": "completed"},
        thought("rs_2"),
        said(),
    ],
    "reasoning without an id at the end": [
        {"type": "reasoning", "summary": [], "encrypted_content": "gAAA"}
    ],
    "a search of tools that the service ran": [
        {"type": "tool_search_call", "id": "tsc_1", "call_id": None, "execution": "server"},
        {"type": "tool_search_output", "id": "tso_1", "call_id": None, "tools": []},
        HELLO,
    ],
    "reasoning amid what the service ran": [
        {"type": "shell_call", "id": "sh_1", "call_id": "call_1"},
        thought(),
        {"type": "shell_call_output", "id": "sho_1", "call_id": "call_1", "output": []},
        said("msg_1"),
    ],
    "an approval": [
        {"type": "mcp_approval_request", "id": "mcpr_1"},
        {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True},
    ],
    "a local shell, by the call's id": [
        {"type": "local_shell_call", "id": "lsh_1", "call_id": "call_1"},
        {"type": "local_shell_call_output", "id": "lsh_1", "output": "{}"},
    ],
    "an id of a call that is used again": [call("a"), output("a"), call("a"), output("a")],
    "compaction": [{"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAA"}, HELLO],
}


@pytest.mark.parametrize("items", ACCEPTED.values(), ids=ACCEPTED)
def test_what_the_service_takes_breaks_no_rule(items: list[JsonObject]) -> None:
    assert told(*items) == []


@pytest.mark.parametrize(
    "after",
    [
        [],
        [HELLO],
        [said(None)],
        [thought("rs_2", encrypted_content="gAAA"), HELLO],
        [output("a")],
        [output("a", "shell_call_output")],
    ],
)
def test_reasoning_is_followed_by_what_came_of_it(after: list[JsonObject]) -> None:
    breaches = told(call("a"), output("a"), thought(), *after)
    assert (
        "/input/2",
        "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
    ) in [(where, words) for where, _, words in breaches]


def test_what_is_not_stored_is_sent_whole() -> None:
    items = (HELLO, thought(), said())
    assert told(*items, store=True) == []
    assert told(HELLO, thought(encrypted_content="gAAA"), said(), store=False) == []
    [(where, _, words)] = told(*items, store=False)
    assert where == "/input/1"
    assert words.startswith(
        "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false."
    )


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("function_call", "function call"),
        ("custom_tool_call", "custom tool call"),
        ("computer_call", "computer call"),
        ("shell_call", "shell call"),
        ("apply_patch_call", "apply patch call"),
    ],
)
def test_a_call_has_its_output(kind: str, name: str) -> None:
    [(where, _, words)] = told(HELLO, call("call_1", kind), HELLO)
    assert (where, words) == ("/input/1", f"No tool output found for {name} call_1.")
    assert told(HELLO, call("call_1", kind), output("call_1", f"{kind}_output")) == []


def test_an_output_has_its_call_before_it() -> None:
    breaches = told(output("call_1"), call("call_1"))
    assert [(where, words) for where, _, words in breaches] == [
        ("/input/1", "No tool output found for function call call_1."),
        ("/input/0", "No tool call found for function call output with call_id call_1."),
    ]


def test_an_output_is_of_its_calls_kind() -> None:
    breaches = told(call("call_1", "custom_tool_call"), output("call_1"))
    assert "No tool call found for function call output with call_id call_1." in [
        words for _, _, words in breaches
    ]


def test_a_second_output_has_no_call_left() -> None:
    [(where, _, _)] = told(call("call_1"), output("call_1"), output("call_1"))
    assert where == "/input/2"


@pytest.mark.parametrize("name", ["previous_response_id", "conversation"])
def test_a_call_may_stand_in_what_the_service_holds(name: str) -> None:
    assert told(output("call_1"), **{name: "resp_1"}) == []


def test_a_history_is_named_in_one_way() -> None:
    [(where, _, _)] = told(HELLO, previous_response_id="resp_1", conversation="conv_1")
    assert where == "/previous_response_id"


@pytest.mark.parametrize(
    ("item", "prefix"),
    [
        (said("toolu_1"), "msg"),
        (call("a", id="toolu_1"), "fc"),
        ({"type": "web_search_call", "id": "srvtoolu_1"}, "ws"),
    ],
)
def test_ids_begin_with_what_stands_for_their_type(item: JsonObject, prefix: str) -> None:
    [(where, _, words)] = [each for each in told(item, output("a")) if "begins" in each[2]]
    assert where == "/input/0/id"
    assert words.endswith(f"'{item['id']}'. Expected an ID that begins with '{prefix}'.")


def test_ids_have_one_to_sixty_four_characters() -> None:
    long = "a" * 65
    assert told(call("a" * 64), output("a" * 64)) == []
    assert [where for where, _, _ in told(call(long), output(long))] == [
        "/input/0/call_id",
        "/input/1/call_id",
    ]
    assert [where for where, _, words in told(call(""), output("")) if "empty" in words] == [
        "/input/0/call_id",
        "/input/1/call_id",
    ]
    [(where, _, words)] = told(said("msg_" + long))
    assert where == "/input/0/id"
    assert words.endswith("with maximum length 64, but got a string with length 69 instead.")


def test_an_item_stands_once() -> None:
    [(where, _, words)] = told(said(), HELLO, said())
    assert (where, words) == (
        "/input/2/id",
        "Duplicate item found with id msg_1. Remove duplicate items from your input and try again.",
    )


def test_open_calls_have_ids_of_their_own() -> None:
    assert ("/input/1/call_id", "Duplicate 'call_id': a") in [
        (where, words) for where, _, words in told(call("a"), call("a"), output("a"))
    ]


def test_each_role_has_its_kinds_of_parts() -> None:
    user = {"role": "user", "content": [{"type": "output_text", "text": "Hello"}]}
    assistant = {"role": "assistant", "content": [{"type": "input_text", "text": "Yes."}]}
    assert [(where, words) for where, _, words in told(user, assistant)] == [
        (
            "/input/0/content/0/type",
            (
                "Invalid value: 'output_text'. Supported values are: 'input_text', 'input_image', and "
                "'input_file'."
            ),
        ),
        (
            "/input/1/content/0/type",
            "Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'.",
        ),
    ]


def test_a_file_is_a_data_url_that_can_be_read() -> None:
    files = [
        {"type": "input_file", "filename": "a", "file_data": data}
        for data in ("data:application/pdf;base64,JVBE", "data:audio/mpeg;base64,SUQz", "JVBE")
    ]
    breaches = told(call("a"), {**output("a"), "output": files})
    assert [where for where, _, _ in breaches] == [
        "/input/1/output/1/file_data",
        "/input/1/output/2/file_data",
    ]
    assert breaches[0][2] == (
        "Invalid file data: 'input[1].output[1].file_data'. Expected a base64-encoded data URL "
        "with a valid file MIME type, but got unsupported MIME type 'audio/mpeg'."
    )


def test_an_output_is_not_endless() -> None:
    assert told(call("a"), {**output("a"), "output": "x" * 10_485_760}) == []
    [(where, _, _)] = told(call("a"), {**output("a"), "output": "x" * 10_485_761})
    assert where == "/input/1/output"


def test_names_have_one_form() -> None:
    tools = [{"type": "function", "name": name} for name in ("look up", "weather", "weather")]
    breaches = told(call("a", name="look up"), output("a"), tools=tools)
    assert [where for where, _, _ in breaches] == ["/input/0/name", "/tools/0/name", "/tools/2"]


def test_a_tool_that_is_loaded_late_can_be_searched_for() -> None:
    tool = {"type": "function", "name": "weather", "defer_loading": True}
    [(where, _, words)] = told(HELLO, tools=[tool])
    assert where == "/tools/0/defer_loading"
    assert words.endswith("Deferred tools require tools.tool_search.")
    assert told(HELLO, tools=[tool, {"type": "tool_search"}]) == []


NONSENSE: list[JsonObject] = [
    {},
    {"input": "hi"},
    {"input": [1, {"type": 3}, {"role": [], "content": {}}]},
]


@pytest.mark.parametrize("request_", NONSENSE)
def test_nonsense_breaks_nothing(request_: JsonObject) -> None:
    assert refused(API, request_) == ()


def test_deepseek_wants_no_words_between_a_call_and_its_output() -> None:
    items = [HELLO, call("a"), said(None), call("b"), output("a"), output("b")]
    words = "No tool output found for tool call a."
    assert told(*items, model="deepseek-v4") == [("/input/2", "O17", words)]
    assert told(*items, model="gpt-5") == told(*items) == []
    last = [HELLO, said(None), call("a"), call("b"), output("b"), output("a"), said(None)]
    assert told(*last, model="deepseek/deepseek-v4") == []
