"""What Bedrock's Converse API refuses, each rule broken once, and what it takes."""

from __future__ import annotations

from typing import Any

import pytest

from onrecord.domain.jsontext import JsonObject
from tests.projections.refused import refused

API = "bedrock-converse"
CLAUDE = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
NOVA = "us.amazon.nova-2-lite-v1:0"
LLAMA = "us.meta.llama4-maverick-17b-instruct-v1:0"
WRITER = "us.writer.palmyra-x4-v1:0"
TOOLS: JsonObject = {"tools": [{"toolSpec": {"name": "look_up", "inputSchema": {"json": {}}}}]}
POINT = {"cachePoint": {"type": "default"}}
IN_S3 = {"s3Location": {"uri": "s3://a/b"}}
FIRST_USER = (
    "A conversation must start with a user message. Try again with a conversation that starts with "
    "a user message."
)


def user(*blocks: Any) -> JsonObject:
    return {"role": "user", "content": [block_of(block) for block in blocks]}


def assistant(*blocks: Any) -> JsonObject:
    return {"role": "assistant", "content": [block_of(block) for block in blocks]}


def block_of(block: Any) -> JsonObject:
    return {"text": block} if isinstance(block, str) else block


def call(given: Any = "a", name: str = "look_up", **members: Any) -> JsonObject:
    return {"toolUse": {"toolUseId": given, "name": name, "input": {}, **members}}


def result(given: str = "a", *content: JsonObject, **members: Any) -> JsonObject:
    held = list(content) or [{"text": "found"}]
    return {"toolResult": {"toolUseId": given, "content": held, **members}}


def document(name: str = "report", **members: Any) -> JsonObject:
    return {"document": {"name": name, "format": "pdf", "source": {"bytes": "YQ=="}, **members}}


def picture() -> JsonObject:
    return {"image": {"format": "png", "source": {"bytes": "YQ=="}}}


def video() -> JsonObject:
    return {"video": {"format": "mp4", "source": IN_S3}}


def told(
    *messages: JsonObject, to: str | None = None, **members: Any
) -> list[tuple[str, str, str]]:
    """Each breach: where it is, its rule, and the provider's words."""
    named = {} if to is None else {"modelId": to}
    request = {"messages": list(messages), "toolConfig": TOOLS, **named, **members}
    return [(each.where, each.rule, each.said) for each in refused(API, request)]


def rules(*messages: JsonObject, **members: Any) -> list[tuple[str, str]]:
    return [(where, rule) for where, rule, _ in told(*messages, **members)]


ACCEPTED: dict[str, list[JsonObject]] = {
    "a prompt": [user("Hello")],
    "the assistant first": [assistant("Hello?"), user("Hello")],
    "a round": [user("Hello"), assistant(call()), user(result()), assistant("Found.")],
    "results in any order": [
        user("Hello"),
        assistant(call("a"), call("b")),
        user(result("b"), result("a"), "And?"),
    ],
    "ids that every round uses again": [
        *(user("Hello"), assistant(call()), user(result())),
        *(assistant(call()), user(result())),
    ],
    "a tool of the service's own": [
        user("Hello"),
        assistant(call("s", "nova_grounding", type="server_tool_use"), result("s")),
    ],
    "a note of the operator's": [
        user("Hello"),
        {"role": "system", "content": [{"text": "Be kind."}]},
    ],
    "documents": [user("Hello", document("one (1) [a]"), document("two"))],
    "as many files as are taken": [user("Hello", *[picture()] * 20)],
    "as many points as are taken": [user("Hello", *[POINT] * 4)],
}


@pytest.mark.parametrize("messages", ACCEPTED.values(), ids=ACCEPTED)
@pytest.mark.parametrize("to", [None, CLAUDE])
def test_what_the_service_takes_breaks_no_rule(messages: list[JsonObject], to: str | None) -> None:
    assert told(*messages, to=to) == []


def test_there_is_something_to_say() -> None:
    assert told() == [("", "messages", FIRST_USER)]


def test_the_user_begins_but_with_models_that_may_answer_first() -> None:
    assert told(assistant("Hello?"), user("Hello"), to=NOVA) == [
        ("/messages/0/role", "B5", FIRST_USER)
    ]
    assert told(assistant("Hello?"), user("Hello"), to="qwen.qwen3-32b-v1:0") == []


def test_the_speakers_take_turns() -> None:
    [(where, rule, said)] = told(user("Hello"), user("Hello?"))
    assert (where, rule) == ("/messages/1/role", "B5")
    assert said.startswith("A conversation must alternate between user and assistant roles.")


def test_a_message_holds_something() -> None:
    said = (
        "The content field in the Message object at messages.1 is empty. Add a ContentBlock object "
        "to the content field and try again."
    )
    assert told(user("Hello"), assistant()) == [("/messages/1/content", "B4", said)]


@pytest.mark.parametrize("blank", ["", " \n"])
def test_a_text_says_something(blank: str) -> None:
    said = (
        "The text field in the ContentBlock object at messages.1.content.0 is blank. Add text to "
        "the text field, and try again."
    )
    assert told(user("Hello"), assistant(blank, "x")) == [
        ("/messages/1/content/0/text", "B4", said)
    ]


def test_results_stand_in_the_next_message() -> None:
    calls = assistant(call("a"), call("b"))
    assert told(user("Hello"), calls, user("And?")) == [
        (
            "/messages/1/content",
            "B1",
            "Expected toolResult blocks at messages.2.content for the following Ids: a, b",
        )
    ]
    assert rules(user("Hello"), calls, user(result("b"), result("c"))) == [
        ("/messages/1/content", "B1")
    ]
    assert rules(user("Hello"), calls) == [("/messages/1/content", "B1")]


def test_there_are_no_more_results_than_calls() -> None:
    said = (
        "The number of toolResult blocks at messages.2.content exceeds the number of toolUse blocks "
        "of previous turn."
    )
    results = user(result("a"), result("a"))
    assert told(user("Hello"), assistant(call("a")), results) == [
        ("/messages/2/content", "B2", said)
    ]
    assert rules(user(result())) == [("/messages/0/content", "B2")]


def test_calls_of_one_message_have_ids_of_their_own() -> None:
    calls, results = assistant(call("a"), call("a")), user(result("a"), result("a"))
    assert rules(user("Hello"), calls, results) == [
        ("/messages/1/content/1/toolUse/toolUseId", "B11")
    ]


@pytest.mark.parametrize("config", [None, {}, {"tools": []}])
def test_tools_are_declared_where_some_were_called(config: Any) -> None:
    said = "The toolConfig field must be defined when using toolUse and toolResult content blocks."
    messages = [user("Hello"), assistant(call()), user(result())]
    assert told(*messages, toolConfig=config) == [("", "B3", said)]
    assert told(user("Hello"), toolConfig=config) == []


def test_the_input_of_a_call_is_an_object() -> None:
    [(where, rule, said)] = told(user("Hello"), assistant(call(input="{}")), user(result()))
    assert (where, rule) == ("/messages/1/content/0/toolUse/input", "B11")
    assert said.startswith(
        "The format of the value at messages.1.content.0.toolUse.input is invalid"
    )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("a b", "Member must satisfy regular expression pattern: [a-zA-Z0-9_.:-]+"),
        ("a" * 65, "Member must have length less than or equal to 64"),
        ("", "Member must satisfy regular expression pattern: [a-zA-Z0-9_.:-]+"),
    ],
)
def test_ids_are_of_one_form(given: str, said: str) -> None:
    found = told(user("Hello"), assistant(call(given)), user(result(given)))
    assert found == [
        (
            f"/messages/{index}/content/0/{kind}/toolUseId",
            "B11",
            (
                f"1 validation error detected: Value '{given}' at 'messages.{index + 1}.member."
                f"content.1.member.{kind}.toolUseId' failed to satisfy constraint: {said}"
            ),
        )
        for index, kind in ((1, "toolUse"), (2, "toolResult"))
    ]


def test_names_are_of_one_form() -> None:
    spec: JsonObject = {"toolSpec": {"name": "a.b", "inputSchema": {"json": {}}}}
    messages = [user("Hello"), assistant(call(name="a.b")), user(result())]
    assert rules(*messages, toolConfig={"tools": [spec]}) == [
        ("/messages/1/content/0/toolUse/name", "B11"),
        ("/toolConfig/tools/0/toolSpec/name", "B11"),
    ]


def test_each_tool_has_a_name_of_its_own() -> None:
    twice: JsonObject = {"tools": TOOLS["tools"] * 2}
    assert rules(user("Hello"), toolConfig=twice) == [
        ("/toolConfig/tools/1/toolSpec/name", "names")
    ]


def test_some_models_want_results_alone() -> None:
    messages = [user("Hello"), assistant(call()), user(result(), "And?")]
    assert rules(*messages, to=LLAMA) == [("/messages/2/content", "B9")]
    with_document = [*messages[:2], user(result(), "And?", document())]
    assert rules(*with_document, to=CLAUDE) == [("/messages/2/content", "B9")]
    assert rules(*with_document, to=NOVA) == []


def test_files_of_results_do_not_lie_in_s3_for_amazons_models() -> None:
    held = result("a", document(source=IN_S3))
    [(where, rule, said)] = told(user("Hello"), assistant(call()), user(held), to=NOVA)
    assert (where, rule) == ("/messages/2/content/0", "B8")
    assert "#/messages/2/content/0: extraneous key [toolResult] is not permitted" in said


def test_anthropics_models_see_no_video() -> None:
    said = (
        "This model doesn't support the video content block that you provided. Update the content "
        "block and try again."
    )
    assert ("/messages/0/content/1/video", "B8", said) in told(user("Look", video()), to=CLAUDE)
    assert told(user("Look", video()), to=NOVA) == []


@pytest.mark.parametrize("kind", ["image", "video", "document"])
def test_anthropics_models_read_no_files_in_s3(kind: str) -> None:
    held = {kind: {"format": "png", "name": "report", "source": IN_S3}}
    breach = (
        f"/messages/0/content/1/{kind}/source",
        "B8",
        "This model doesn't support the s3Uri field.",
    )
    assert breach in told(user("Look", held), to=CLAUDE)
    assert breach not in told(user("Look", held), to=NOVA)
    messages = [user("Hello"), assistant(call()), user(result("a", held))]
    place = f"/messages/2/content/0/toolResult/content/0/{kind}/source"
    assert ((place, "B8") in rules(*messages, to=CLAUDE)) == (kind != "document")


def test_writers_models_take_no_status() -> None:
    messages = [user("Hello"), assistant(call()), user(result(status="success"))]
    assert rules(*messages, to=WRITER) == [("/messages/2/content/0/toolResult/status", "B12")]
    assert rules(*messages, to=CLAUDE) == []


def test_documents_have_a_text_beside_them() -> None:
    said = "A text block must be included when using documents."
    assert told(user(document())) == [("/messages/0/content", "B6", said)]


@pytest.mark.parametrize("name", ["", "a.pdf", "a  b", "a" * 201])
def test_names_of_documents_are_of_one_form(name: str) -> None:
    assert rules(user("Hello", document(name))) == [("/messages/0/content/1/document/name", "B7")]


def test_no_two_documents_have_one_name() -> None:
    held = result("a", document())
    assert rules(user("Hello", document()), assistant(call()), user(held)) == [
        ("/messages/2/content/0/toolResult/content/0/document/name", "B7")
    ]


def test_a_message_holds_so_many_files() -> None:
    documents = [document(f"report {number}") for number in range(6)]
    assert rules(user("Hello", *documents)) == [("/messages/0/content", "B19")]
    assert rules(user("Hello", *[picture()] * 21)) == [("/messages/0/content", "B19")]


def test_reasoning_is_signed_for_anthropics_models() -> None:
    thought = {"reasoningContent": {"reasoningText": {"text": "hm"}}}
    messages = [user("Hello"), assistant(thought, "Yes."), user("And?")]
    assert rules(*messages, to=CLAUDE) == [
        ("/messages/1/content/0/reasoningContent/reasoningText", "B10")
    ]
    assert rules(*messages, to="openai.gpt-oss-120b-1:0") == []


def test_anthropics_models_end_neither_with_a_thought_nor_with_white_space() -> None:
    thought = {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "c2ln"}}}
    assert rules(user("Hello"), assistant(thought), to=CLAUDE) == [("/messages/1/content/0", "B14")]
    assert rules(user("Hello"), assistant("So "), to=CLAUDE) == [
        ("/messages/1/content/0/text", "B14")
    ]
    assert rules(user("Hello"), assistant("So "), to=NOVA) == []


def test_there_are_four_cache_points_at_most() -> None:
    system = [{"text": "Be kind."}, POINT]
    config: JsonObject = {"tools": [*TOOLS["tools"], POINT]}
    messages = [user("Hello", POINT, POINT, POINT)]
    assert rules(*messages, system=system, toolConfig=config) == [("/messages/0/content/3", "B13")]
    assert rules(*messages, system=system) == []
    assert rules(user("Hello", POINT), to=LLAMA) == [("/messages/0/content/1", "B13")]
