"""What items of OpenAI's Responses API say to other APIs, and to people."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onrecord.domain.content import (
    Document,
    NeutralBlock,
    Opaque,
    Reasoning,
    ServerToolCall,
    ServerToolResult,
    Text,
    ToolCall,
    ToolResult,
)
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.tools import ToolDefinition
from onrecord.projections.api import neutral_of, outcome_of
from onrecord.projections.apis.openai_responses.read import NAME, block, instructions, tool

PNG = "data:image/png;base64,iVBORw0KGgo="


def texts(*said: str) -> tuple[Text, ...]:
    return tuple(Text(text=text) for text in said)


def opaque(kind: str) -> Opaque:
    return Opaque(api=NAME, type=kind)


MESSAGES: list[tuple[JsonObject, NeutralBlock]] = [
    ({"role": "user", "content": "Hi"}, Text(text="Hi")),
    ({"type": "input_text", "text": "Hi"}, Text(text="Hi")),
    (
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "content": [
                {"type": "output_text", "text": "one ", "annotations": []},
                {"type": "refusal", "refusal": "no"},
            ],
        },
        Text(text="one no"),
    ),
    ({"type": "message", "role": "assistant", "content": []}, Text(text="")),
    ({"type": "message", "role": "assistant"}, opaque("message")),
    (
        {"role": "user", "name": "x", "content": [{"type": "input_image", "image_url": PNG}]},
        Document(media_type="image/png", url=PNG),
    ),
    ({"type": "input_image", "image_url": PNG}, Document(media_type="image/png", url=PNG)),
    (
        {"type": "input_image", "image_url": "https://example.com/x"},
        Document(media_type="image/*", url="https://example.com/x"),
    ),
    (
        {"type": "input_image", "file_id": "file-1"},
        Text(text="[image held by the provider as file-1]"),
    ),
    (
        {
            "type": "input_file",
            "filename": "a.pdf",
            "file_data": "data:application/pdf;base64,JVBE",
        },
        Document(
            media_type="application/pdf", name="a.pdf", url="data:application/pdf;base64,JVBE"
        ),
    ),
    (
        {"type": "input_file", "filename": "a.pdf", "file_data": "JVBE"},
        Document(
            media_type="application/pdf", name="a.pdf", url="data:application/pdf;base64,JVBE"
        ),
    ),
    (
        {"type": "input_file", "file_url": "https://example.com/a.pdf"},
        Document(media_type="application/pdf", url="https://example.com/a.pdf"),
    ),
    (
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"},
        Reasoning(text=""),
    ),
    (
        {
            "type": "reasoning",
            "summary": [{"type": "summary_text", "text": t} for t in ("one", "two")],
            "content": [{"type": "reasoning_text", "text": "three"}],
        },
        Reasoning(text="one\n\ntwo\n\nthree"),
    ),
]

CALLS: list[tuple[JsonObject, NeutralBlock]] = [
    (
        {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "c",
            "name": "f",
            "arguments": '{"a":1}',
        },
        ToolCall(id="c", name="f", arguments={"a": 1}),
    ),
    (
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": '{"a":'},
        ToolCall(id="c", name="f", arguments='{"a":'),
    ),
    (
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": ""},
        ToolCall(id="c", name="f", arguments={}),
    ),
    ({"type": "function_call", "name": "f", "arguments": ""}, opaque("function_call")),
    (
        {"type": "custom_tool_call", "call_id": "c", "name": "sql", "input": "SELECT 1"},
        ToolCall(id="c", name="sql", arguments="SELECT 1"),
    ),
    (
        {"type": "computer_call", "id": "cu", "call_id": "c", "action": {"type": "screenshot"}},
        ToolCall(id="c", name="computer", arguments={"type": "screenshot"}),
    ),
    (
        {"type": "computer_call", "id": "cu", "call_id": "c", "actions": [{"type": "wait"}]},
        ToolCall(id="c", name="computer", arguments={"actions": [{"type": "wait"}]}),
    ),
    (
        {"type": "local_shell_call", "call_id": "c", "action": {"type": "exec", "command": ["ls"]}},
        ToolCall(id="c", name="local_shell", arguments={"type": "exec", "command": ["ls"]}),
    ),
    (
        {"type": "shell_call", "call_id": "c", "action": {"commands": ["ls"]}},
        ToolCall(id="c", name="shell", arguments={"commands": ["ls"]}),
    ),
    (
        {
            "type": "shell_call",
            "call_id": "c",
            "action": {"commands": ["ls"]},
            "environment": {"type": "container_reference", "container_id": "cntr_1"},
        },
        ServerToolCall(id="c", name="shell", arguments={"commands": ["ls"]}),
    ),
    (
        {"type": "apply_patch_call", "call_id": "c", "operation": {"type": "delete_file"}},
        ToolCall(id="c", name="apply_patch", arguments={"type": "delete_file"}),
    ),
    (
        {"type": "mcp_approval_request", "id": "mcpr_1", "name": "ask", "arguments": '{"q": 1}'},
        ToolCall(id="mcpr_1", name="ask", arguments={"q": 1}),
    ),
    (
        {
            "type": "tool_search_call",
            "call_id": "c",
            "execution": "client",
            "arguments": {"goal": "x"},
        },
        ToolCall(id="c", name="tool_search", arguments={"goal": "x"}),
    ),
]

RESULTS: list[tuple[JsonObject, NeutralBlock]] = [
    (
        {"type": "function_call_output", "call_id": "c", "output": "found"},
        ToolResult(call_id="c", content=texts("found")),
    ),
    (
        {
            "type": "custom_tool_call_output",
            "call_id": "c",
            "output": [
                {"type": "input_text", "text": "see"},
                {"type": "input_image", "image_url": PNG},
            ],
        },
        ToolResult(
            call_id="c",
            content=(Text(text="see"), Document(media_type="image/png", url=PNG)),
        ),
    ),
    (
        {
            "type": "computer_call_output",
            "call_id": "c",
            "output": {"type": "computer_screenshot", "image_url": PNG},
        },
        ToolResult(call_id="c", content=(Document(media_type="image/png", url=PNG),)),
    ),
    (
        {"type": "local_shell_call_output", "id": "c", "output": "a.txt"},
        ToolResult(call_id="c", content=texts("a.txt")),
    ),
    (
        {
            "type": "shell_call_output",
            "call_id": "c",
            "output": [
                {"stdout": "a", "stderr": "b", "outcome": {"type": "exit", "exit_code": 1}},
                {"stdout": "", "stderr": "", "outcome": {"type": "timeout"}},
            ],
        },
        ToolResult(call_id="c", content=texts("a\nb\nexit code 1", "timed out"), is_error=True),
    ),
    (
        {"type": "apply_patch_call_output", "call_id": "c", "status": "failed", "output": "no"},
        ToolResult(call_id="c", content=texts("no"), is_error=True),
    ),
    (
        {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True},
        ToolResult(call_id="mcpr_1", content=texts("approved")),
    ),
    (
        {
            "type": "mcp_approval_response",
            "approval_request_id": "mcpr_1",
            "approve": False,
            "reason": "too dear",
        },
        ToolResult(call_id="mcpr_1", content=texts("refused: too dear"), is_error=True),
    ),
    (
        {
            "type": "tool_search_output",
            "call_id": "c",
            "execution": "client",
            "tools": [{"name": "f"}, {"name": "g"}],
        },
        ToolResult(call_id="c", content=texts("f\ng")),
    ),
    (
        {
            "type": "tool_search_output",
            "call_id": None,
            "execution": "server",
            "tools": [{"name": "f"}],
        },
        ServerToolResult(call_id="", name="tool_search", content=texts("f")),
    ),
    (
        {"type": "program_output", "call_id": "c", "result": "42", "status": "completed"},
        ServerToolResult(call_id="c", name="program", content=texts("42")),
    ),
]

ONLY_OURS: list[JsonObject] = [
    {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAA"},
    {"type": "item_reference", "id": "msg_1"},
    {"type": "additional_tools", "role": "developer", "tools": []},
    {"type": "configuration_update"},
    {"type": "something_new", "id": "x_1"},
]
NOTHING = [(value, opaque(value["type"])) for value in ONLY_OURS]


@pytest.mark.parametrize(("value", "wanted"), [*MESSAGES, *CALLS, *RESULTS, *NOTHING])
def test_an_item_says_what_it_says(value: JsonObject, wanted: NeutralBlock) -> None:
    assert neutral_of(NAME, value) == wanted


def test_instructions_are_the_text_and_the_items_that_lead() -> None:
    leading = [
        {"role": "developer", "content": "Be kind."},
        {"role": "system", "content": [{"type": "input_text", "text": "Be brief."}]},
    ]
    assert instructions({"instructions": "Help.", "input": leading}) == (
        "Help.\n\nBe kind.\n\nBe brief."
    )
    assert instructions({"instructions": None, "input": leading[:1]}) == "Be kind."
    assert instructions({}) == ""


def test_a_function_is_a_tool_of_anybody() -> None:
    schema = {"type": "object", "properties": {"q": {"type": "string"}}}
    value = {"type": "function", "name": "f", "description": "d", "parameters": schema}
    assert tool(value) == ToolDefinition(name="f", description="d", input_schema=schema)
    custom = tool({"type": "custom", "name": "sql"})
    assert custom is not None
    assert custom.input_schema["required"] == ["arguments"]
    empty = tool({"type": "function", "name": "f", "parameters": None})
    assert empty is not None
    assert empty.input_schema == {"type": "object", "properties": {}}


@pytest.mark.parametrize("kind", ["web_search", "code_interpreter", "namespace", "mcp"])
def test_a_tool_that_the_provider_runs_is_nobodys_else(kind: str) -> None:
    assert tool({"type": kind, "name": "x"}) is None


anything: st.SearchStrategy[object] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5)),
    lambda held: st.one_of(
        st.lists(held, max_size=3), st.dictionaries(st.text(max_size=9), held, max_size=3)
    ),
    max_leaves=8,
)
KINDS = sorted(
    {value["type"] for value, _ in [*MESSAGES, *CALLS, *RESULTS, *NOTHING] if "type" in value}
    | {"web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call"}
    | {"mcp_call", "mcp_list_tools", "program"}
)
MEMBERS = "id call_id name arguments input action operation output outputs content summary code result tools approve error"


@given(st.sampled_from(KINDS), st.dictionaries(st.sampled_from(MEMBERS.split()), anything))
def test_no_item_is_so_odd_that_it_cannot_be_read(kind: str, members: JsonObject) -> None:
    value = {**members, "type": kind}
    assert block(value)
    outcome_of(NAME, value)
    instructions(value)
    tool(value)
