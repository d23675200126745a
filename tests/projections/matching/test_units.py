"""When two blocks are the same unit, and what may be cut from what is in force."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from onrecord.domain.blobs import blob_of, spill
from onrecord.domain.content import (
    Document,
    Native,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
)
from onrecord.domain.events import InstructionsSet, ToolsDeclared
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.tools import ToolDefinition
from onrecord.projections.matching.recorded_units import same_instructions, same_tools
from onrecord.projections.matching.units import (
    RecordedContent,
    Unit,
    piece_of,
    unit_of,
    unit_of_piece,
)

ANTHROPIC, CHAT, RESPONSES = "anthropic-messages", "openai-chat", "openai-responses"
CALL: JsonObject = {"type": "tool_use", "id": "toolu_1", "name": "look_up", "input": {"id": 1}}


def native(value: JsonObject, api: str = ANTHROPIC) -> Native:
    return Native(api=api, value=value)


def result(call_id: str, content: Any = "found") -> JsonObject:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content}


def sent(block: JsonObject, role: str = "user", api: str = ANTHROPIC) -> Unit:
    return unit_of_piece(api, piece_of(0, role, block))


def is_same(one: Unit, other: Unit) -> bool:
    """As an alignment looks at it: one name in common is enough."""
    return not {one.says, *one.ids}.isdisjoint({other.says, *other.ids})


@pytest.mark.parametrize(
    ("recorded", "block"),
    [
        (native({"type": "text", "text": "a", "citations": None}), {"text": "a", "type": "text"}),
        (Text(text="a"), {"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}),
        (Reasoning(text="a"), {"type": "thinking", "thinking": "a", "signature": "s"}),
        (ToolCall(id="toolu_1", name="look_up", arguments={"id": 1}), CALL),
        (native(result("t", "found")), result("t", [{"type": "text", "text": "found"}])),
        (native(result("t")), {**result("t"), "is_error": False}),
        (ToolResult(call_id="t", content=()), {"type": "tool_result", "tool_use_id": "t"}),
        (
            Document(media_type="application/pdf", blob=blob_of(b"%PDF")),
            {
                "type": "document",
                "source": {
                    "type": "base64",
                    "media_type": "application/pdf",
                    "data": base64.b64encode(b"%PDF").decode(),
                },
            },
        ),
        (
            Document(media_type="text/plain", blob=blob_of(b"hi")),
            {"type": "document", "source": {"type": "text", "data": "hi"}},
        ),
        (
            Document(media_type="image/png", url="https://x/y.png"),
            {"type": "image", "source": {"type": "url", "url": "https://x/y.png"}},
        ),
    ],
)
def test_blocks_are_the_same_that_say_the_same(
    recorded: RecordedContent, block: JsonObject
) -> None:
    for role in ("user", "assistant"):
        assert is_same(unit_of(role, recorded), sent(block, role))
        assert not is_same(unit_of(role, recorded), sent({"type": "text", "text": "other"}, role))


def test_a_block_whose_text_is_in_a_blob_is_the_same_unit() -> None:
    block: JsonObject = {"type": "text", "text": "x" * 100_000}
    value, blobs = spill(block)
    assert blobs
    assert is_same(unit_of("user", native(value)), sent(block))


def test_a_document_is_the_same_whether_its_base64_is_in_a_blob_or_not() -> None:
    data = base64.b64encode(b"%PDF" * 30_000).decode()
    source = {"type": "base64", "media_type": "application/pdf", "data": data}
    block: JsonObject = {"type": "document", "source": source}
    value, blobs = spill(block)
    assert blobs
    held = Document(media_type="application/pdf", blob=blob_of(b"%PDF" * 30_000))
    assert is_same(unit_of("user", native(value)), sent(block))
    assert is_same(unit_of("user", held), sent(block))


Spelled = tuple[str, str, JsonObject]
SPELLED: list[tuple[Spelled, Spelled]] = [
    (
        (ANTHROPIC, "assistant", {"type": "text", "text": "Hi"}),
        (CHAT, "assistant", {"role": "assistant", "content": "Hi", "annotations": []}),
    ),
    (
        (ANTHROPIC, "assistant", {"type": "text", "text": "Hi"}),
        (
            RESPONSES,
            "assistant",
            {
                "type": "message",
                "role": "assistant",
                "id": "msg_1",
                "content": [{"type": "output_text", "text": "Hi", "annotations": []}],
            },
        ),
    ),
    (
        (ANTHROPIC, "assistant", CALL),
        (
            CHAT,
            "assistant",
            {
                "type": "function",
                "id": "toolu_1",
                "function": {"name": "look_up", "arguments": '{"id": 1}'},
            },
        ),
    ),
    (
        (ANTHROPIC, "user", result("toolu_1")),
        (CHAT, "tool", {"role": "tool", "tool_call_id": "toolu_1", "content": "found"}),
    ),
    (
        (CHAT, "tool", {"role": "tool", "tool_call_id": "c", "content": "found"}),
        (
            RESPONSES,
            "tool",
            {"type": "function_call_output", "call_id": "c", "output": "found"},
        ),
    ),
]


@pytest.mark.parametrize(("one", "other"), SPELLED)
def test_blocks_are_the_same_in_another_apis_spelling(one: Spelled, other: Spelled) -> None:
    units = [sent(block, role, api) for api, role, block in (one, other)]
    assert is_same(*units)
    assert units[0].result_of == units[1].result_of


def test_who_says_it_counts() -> None:
    text: JsonObject = {"type": "text", "text": "yes"}
    assert not is_same(sent(text, "user"), sent(text, "assistant"))


def test_an_item_is_known_by_its_id_whatever_was_lost_of_it() -> None:
    item: JsonObject = {"type": "reasoning", "id": "rs_1", "encrypted_content": "s", "summary": []}
    echo: JsonObject = {"type": "reasoning", "id": "rs_1"}
    assert is_same(sent(item, "assistant", RESPONSES), sent(echo, "assistant", RESPONSES))


def test_instructions_and_tools_are_compared_by_what_they_say() -> None:
    brief = InstructionsSet(content="Be brief.")
    spelled = native({"system": [{"type": "text", "text": "Be brief."}]})
    assert same_instructions(None, InstructionsSet(content=""))
    assert same_instructions(brief, InstructionsSet(content=spelled))
    assert not same_instructions(brief, InstructionsSet(content=""))
    tool = ToolDefinition(name="look_up", input_schema={"type": "object"})
    definition: JsonObject = {"input_schema": {"type": "object"}, "name": "look_up"}
    natives = ToolsDeclared(tools=(native(definition),))
    assert same_tools(ToolsDeclared(tools=(tool,)), natives)
    assert same_tools(natives, ToolsDeclared(tools=(native({**definition, "strict": None}),)))
    assert same_tools(None, ToolsDeclared(tools=()))
    assert not same_tools(ToolsDeclared(tools=(tool,)), ToolsDeclared(tools=()))


@pytest.mark.parametrize(
    "spelled",
    [
        "<think>why</think>a",
        "<think>\nwhy\n</think>\n\na",
        "<thinking>why</thinking>\n<reasoning>so</reasoning>a\n",
        "a<think></think>",
    ],
)
def test_reasoning_in_tags_is_no_part_of_what_an_answer_says(spelled: str) -> None:
    answer, other = (sent({"type": "text", "text": it}, "assistant") for it in ("a", spelled))
    assert is_same(answer, other)
    prompt, quoted = (sent({"type": "text", "text": it}) for it in ("a", spelled))
    assert not is_same(prompt, quoted)


def test_reasoning_in_tags_alone_says_nothing() -> None:
    assert sent({"type": "text", "text": "<think>why</think>\n"}, "assistant").is_blank


@pytest.mark.parametrize("text", ["<think>why", "why</think>a", "<think>why</thinking>a"])
def test_tags_that_are_not_closed_are_words(text: str) -> None:
    assert not is_same(
        sent({"type": "text", "text": text}, "assistant"),
        sent({"type": "text", "text": "a"}, "assistant"),
    )


def test_a_long_answer_is_known_again_out_of_its_blob() -> None:
    text = f"<think>why</think>\n{'a' * 70_000}\n"
    value: JsonObject = {"type": "text", "text": text}
    spilled, blobs = spill(value)
    assert blobs
    assert is_same(unit_of("assistant", native(spilled)), sent(value, "assistant"))
