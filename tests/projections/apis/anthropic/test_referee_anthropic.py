"""What Anthropic refuses, each rule broken once, and what it takes."""

from __future__ import annotations

import pytest

from onrecord.domain.jsontext import JsonObject
from tests.projections.happenings import (
    code_of,
    result_of,
    search_result,
    server_tool_use,
    text,
    thinking,
    tool_change,
    tool_use,
)
from tests.projections.refused import refused
from tests.projections.spoken import HELLO, assistant, operator, told, user

SEARCH = server_tool_use("srvtoolu_1")
FOUND = search_result("srvtoolu_1")


ACCEPTED: dict[str, list[JsonObject]] = {
    "a prompt": [HELLO],
    "a prefill": [HELLO, assistant(text("I say"))],
    "neighbours of one role": [HELLO, HELLO, assistant(text("a")), assistant(text("b")), HELLO],
    "a round of tools, in any order": [
        HELLO,
        assistant(tool_use("toolu_1"), tool_use("toolu_2")),
        user(result_of("toolu_2"), result_of("toolu_1"), text("and this")),
    ],
    "results in two messages of the user's": [
        HELLO,
        assistant(tool_use("toolu_1"), tool_use("toolu_2")),
        user(result_of("toolu_1")),
        user(result_of("toolu_2")),
    ],
    "a paused turn": [HELLO, assistant(text("I look. "), SEARCH)],
    "a paused turn that goes on": [
        HELLO,
        assistant(SEARCH),
        assistant(FOUND, text("Here.")),
        HELLO,
    ],
    "a tool in flight while results follow": [
        HELLO,
        assistant(SEARCH, tool_use("toolu_1")),
        user(result_of("toolu_1")),
    ],
    "a result that comes after the round of tools": [
        HELLO,
        assistant(SEARCH, tool_use("toolu_1")),
        user(result_of("toolu_1")),
        assistant(FOUND, text("Here.")),
        HELLO,
    ],
    "blank text beside another": [user(text(" "), text("real"))],
    "a compaction that sums up what precedes it": [
        HELLO,
        assistant({"type": "compaction", "content": "They said hello."}),
        HELLO,
    ],
    "a note of the operator's at the end": [HELLO, operator(text("Be kind."))],
    "a change of tools": [HELLO, operator(tool_change("look_up")), assistant(text("Yes.")), HELLO],
}


@pytest.mark.parametrize("messages", ACCEPTED.values(), ids=ACCEPTED)
def test_what_the_service_takes_breaks_no_rule(messages: list[JsonObject]) -> None:
    assert told(*messages) == []


def test_a_call_is_answered_in_the_next_message() -> None:
    [breach] = told(HELLO, assistant(tool_use("toolu_1")), HELLO)
    assert breach == (
        "/messages/1/content/0",
        "R1",
        (
            "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: "
            "toolu_1. Each `tool_use` block must have a corresponding `tool_result` block in the next "
            "message."
        ),
    )


def test_results_come_before_text() -> None:
    answer = user(text("look:"), result_of("toolu_1"))
    [(_, rule, said)] = told(HELLO, assistant(tool_use("toolu_1")), answer)
    assert (rule, "immediately after: toolu_1" in said) == ("R1", True)


def test_a_call_at_the_end_waits_for_its_result() -> None:
    [(where, rule, _)] = told(HELLO, assistant(text("I look."), tool_use("toolu_1")))
    assert (where, rule) == ("/messages/1/content/1", "R1")


def test_a_note_between_a_call_and_its_result_parts_them() -> None:
    rules = [
        rule
        for _, rule, _ in told(
            HELLO, assistant(tool_use("toolu_1")), operator(text("hm")), user(result_of("toolu_1"))
        )
    ]
    assert rules == ["R1", "R2", "R21", "R21"]


def test_a_result_has_its_call_in_the_turn_before() -> None:
    assert told(user(result_of("toolu_1"))) == [
        (
            "/messages/0/content/0",
            "R2",
            (
                "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: "
                "toolu_1. Each `tool_result` block must have a corresponding `tool_use` block in the "
                "previous message."
            ),
        )
    ]


def test_the_service_counts_messages_after_it_has_joined_neighbours() -> None:
    [(where, _, said)] = told(HELLO, user(result_of("toolu_1")))
    assert where == "/messages/1/content/0"
    assert said.startswith("messages.0.content.1: unexpected `tool_use_id`")


def test_a_call_has_one_result() -> None:
    twice = user(result_of("toolu_1"), result_of("toolu_1"))
    [(where, rule, said)] = told(HELLO, assistant(tool_use("toolu_1")), twice)
    assert (where, rule) == ("/messages/2/content/1", "R2")
    assert "must have a single result" in said


def test_a_result_of_the_services_own_has_its_call_before_it() -> None:
    [(_, rule, said)] = told(HELLO, assistant(FOUND, text("Here.")), HELLO)
    assert rule == "R2"
    assert said.endswith(
        "unexpected `tool_use_id` found in `web_search_tool_result` blocks: srvtoolu_1. Each "
        "`web_search_tool_result` block must have a corresponding `server_tool_use` block before "
        "it."
    )


def test_a_second_result_of_the_services_own_has_no_call_left() -> None:
    [(where, rule, _)] = told(HELLO, assistant(SEARCH, FOUND, FOUND, text("Here.")), HELLO)
    assert (where, rule) == ("/messages/1/content/2", "R2")


def test_a_call_of_the_services_own_that_nothing_answers_is_refused_once_others_spoke() -> None:
    [(_, rule, said)] = told(HELLO, assistant(SEARCH), HELLO)
    assert (rule, said) == (
        "R3",
        (
            "messages.1.content.0: `web_search` tool use with id `srvtoolu_1` was found without a "
            "corresponding `web_search_tool_result` block"
        ),
    )


def test_code_in_flight_may_go_on_calling_tools() -> None:
    code = server_tool_use("srvtoolu_1", "code_execution")
    first, second = (tool_use(name, caller=code_of("srvtoolu_1")) for name in ("a", "b"))
    messages = [
        HELLO,
        assistant(code, first),
        user(result_of("a")),
        assistant(second),
        user(result_of("b")),
    ]
    assert told(*messages, container="container_1") == []
    assert [rule for _, rule, _ in told(*messages)] == ["R13"]


def test_the_advisors_blocks_need_its_tool() -> None:
    call = server_tool_use("srvtoolu_1", "advisor")
    advice: JsonObject = {"type": "advisor_tool_result", "tool_use_id": "srvtoolu_1", "content": {}}
    messages = (HELLO, assistant(call, advice, text("Done.")), HELLO)
    assert [rule for _, rule, _ in told(*messages)] == ["R14", "R14"]
    assert told(*messages, tools=[{"type": "advisor_20260301", "name": "advisor"}]) == []


def test_a_results_content_is_not_an_empty_list() -> None:
    empty: JsonObject = {**result_of("toolu_1"), "content": []}
    [(where, rule, _)] = told(HELLO, assistant(tool_use("toolu_1")), user(empty))
    assert (where, rule) == ("/messages/2/content/0/content", "R14")


def test_a_tool_that_is_referred_to_is_among_the_tools() -> None:
    reference = {"type": "tool_reference", "tool_name": "weather"}
    result = {**result_of("toolu_1"), "content": [reference]}
    messages = (HELLO, assistant(tool_use("toolu_1")), user(result))
    [(where, rule, said)] = told(*messages)
    assert (where, rule) == ("/messages/2/content/0/content/0", "R14")
    assert "'weather' has no corresponding tool definition" in said
    assert told(*messages, tools=[{"name": "weather", "input_schema": {"type": "object"}}]) == []


def test_a_tool_that_is_referred_to_may_be_one_of_a_server_that_the_service_knows() -> None:
    result = {
        **result_of("toolu_1"),
        "content": [{"type": "tool_reference", "tool_name": "weather"}],
    }
    tools = [{"type": "mcp_toolset", "mcp_server_name": "maps"}]
    servers = [{"type": "url", "name": "maps", "url": "https://maps.example"}]
    messages = (HELLO, assistant(tool_use("toolu_1")), user(result))
    assert told(*messages, tools=tools, mcp_servers=servers) == []


def test_tools_of_a_server_want_it_among_the_servers_of_the_call() -> None:
    tools = [{"type": "mcp_toolset", "mcp_server_name": "maps"}]
    [(where, rule, said)] = told(HELLO, tools=tools)
    assert (where, rule) == ("/tools/0/mcp_server_name", "R24")
    assert "'maps'" in said
    others = [{"type": "url", "name": "parcels", "url": "https://parcels.example"}]
    [(_, rule, _)] = told(HELLO, tools=tools, mcp_servers=others)
    assert rule == "R24"


CONTINUED: JsonObject = {"type": "continue", "previous_message_id": "msg_1"}


@pytest.mark.parametrize(
    "messages",
    [[], [user(result_of("toolu_1"))], [user(result_of("toolu_1")), operator(text("Look at 2."))]],
)
def test_what_stands_before_a_threads_messages_is_the_services(messages: list[JsonObject]) -> None:
    assert told(*messages, thread=CONTINUED) == []
    assert told(*messages) != []
    assert told(*messages, thread={"type": "create"}) != []


def test_a_round_within_a_threads_messages_is_whole() -> None:
    said = told(user(text("?")), assistant(text("a")), user(result_of("c1")), thread=CONTINUED)
    assert [rule for _, rule, _ in said] == ["R2"]


def test_ids_have_one_form() -> None:
    call, result = tool_use("call 3"), result_of("call 3")
    assert [(where, rule) for where, rule, _ in told(HELLO, assistant(call), user(result))] == [
        ("/messages/1/content/0/id", "R15"),
        ("/messages/2/content/0/tool_use_id", "R15"),
    ]


def test_ids_stand_for_one_call_each() -> None:
    round_of = (assistant(tool_use("toolu_1")), user(result_of("toolu_1")))
    [(where, rule, _)] = told(HELLO, *round_of, *round_of)
    assert (where, rule) == ("/messages/3/content/0", "R15")


@pytest.mark.parametrize("block", [tool_use("toolu_1"), SEARCH, thinking()])
def test_a_user_neither_calls_nor_thinks(block: JsonObject) -> None:
    [said] = [said for _, rule, said in told(user(text("Look: "), block)) if rule == "roles"]
    assert said == f"messages.0: `{block['type']}` blocks can only be in `assistant` messages"


def test_a_tool_has_a_name_of_its_own() -> None:
    tools = [{"name": "look up"}, {"name": "weather"}, {"name": "weather"}]
    assert [(where, rule) for where, rule, _ in told(HELLO, tools=tools)] == [
        ("/tools/0/name", "tools"),
        ("/tools", "tools"),
    ]


def test_each_breach_says_what_to_do() -> None:
    [breach] = refused("anthropic-messages", {"messages": []})
    assert breach.advice == "leave the empty message out"


NONSENSE: list[JsonObject] = [
    {},
    {"messages": "hi"},
    {"messages": [1, {"content": 3}, {"role": []}]},
]


@pytest.mark.parametrize("request_", NONSENSE)
def test_nonsense_is_refused_and_breaks_nothing(request_: JsonObject) -> None:
    assert refused("anthropic-messages", request_)
