"""What comes back through gateways: tools that are discovered, and results as a model knows them."""

import base64
import json
from typing import Any

import pytest

import onrecord
from onrecord.adapters.bpmn.gateways import (
    Gateway,
    a2a_discovery,
    answers_of,
    mcp_call,
    mcp_discovery,
)
from onrecord.adapters.conversation.ingest import inputs_of
from onrecord.domain.content import Document, Text, ToolResult
from onrecord.domain.errors import InvalidContent
from tests.adapters.found_results import call, extracted, result

PDF = b"%PDF-1.7 the report"
ENCODED = base64.b64encode(PDF).decode()
GATEWAYS = (Gateway("mcpClient", "Files", None), Gateway("a2aClient", "Travel", None))


def entry(content: object, **others: object) -> dict[str, Any]:
    return {"id": "call_1", "name": "Files", "content": content, **others}


def gave(*blocks: object, **others: object) -> dict[str, Any]:
    """What an element gives for the tool `read` of its server."""
    return entry({"name": "read", "content": list(blocks), **others})


@pytest.fixture
def chat() -> onrecord.Conversation:
    chat = onrecord.connect("memory://").conversation("support/4711")
    call(chat, "MCP_Files___read")
    return chat


def taken(chat: onrecord.Conversation, given: dict[str, Any]) -> ToolResult:
    """The result of the call, as the log has it."""
    assert chat.ingest(answers_of([given], GATEWAYS).inputs) == "ready"
    return result(chat)


def test_a_result_has_the_name_that_the_model_called() -> None:
    results = [gave({"type": "text", "text": "7"}), {"id": "call_2", "name": "Travel"}]
    assert [each.name for each in answers_of(results, GATEWAYS).inputs] == [
        "MCP_Files___read",
        "A2A_Travel",
    ]


def test_a_result_of_one_text_is_that_text(chat: onrecord.Conversation) -> None:
    said = taken(chat, gave({"type": "text", "text": "7"}))
    assert said.content == (Text(text="7"),)
    assert not said.is_error


def test_a_tool_that_failed_says_so(chat: onrecord.Conversation) -> None:
    assert taken(chat, gave({"type": "text", "text": "no such file"}, isError=True)).is_error


@pytest.mark.parametrize("content", [[], None])
def test_a_tool_that_gave_nothing_has_no_content(
    chat: onrecord.Conversation, content: object
) -> None:
    assert taken(chat, entry({"name": "read", "content": content})).content == ()


def test_blocks_keep_their_order_and_documents_are_found_where_they_stood(
    chat: onrecord.Conversation,
) -> None:
    said = taken(
        chat,
        gave(
            {"type": "text", "text": "Two:"},
            {"type": "blob", "blob": ENCODED, "mimeType": "application/pdf"},
            {"type": "object", "content": {"pages": 3}},
            {"type": "resource_link", "uri": "https://a.example/b.pdf", "name": "b.pdf"},
        ),
    )
    parts = [part.text if isinstance(part, Text) else part.name for part in said.content]
    assert parts == ["Two:", None, '{"pages":3}', "b.pdf"]
    assert [each.path for each in extracted(chat)] == ["/content/1", "/content/3"]


@pytest.mark.parametrize(
    ("block", "name", "media_type"),
    [
        ({"type": "blob", "blob": ENCODED}, None, "application/pdf"),
        ({"type": "image", "data": ENCODED, "mimeType": 4}, None, "application/pdf"),
        (
            {"type": "resource", "resource": {"uri": "file:///a.pdf", "blob": ENCODED}},
            "a.pdf",
            "application/pdf",
        ),
        (
            {
                "type": "resource",
                "resource": {"uri": "file:///a.csv", "text": "a,b", "mimeType": "text/csv"},
            },
            "a.csv",
            "text/csv",
        ),
    ],
)
def test_bytes_and_embedded_texts_are_documents(
    chat: onrecord.Conversation, block: dict[str, Any], name: str | None, media_type: str
) -> None:
    (document,) = taken(chat, gave(block)).content
    assert isinstance(document, Document)
    assert (document.name, document.media_type) == (name, media_type)


@pytest.mark.parametrize(
    "block",
    [
        {"type": "blob", "blob": "no base64!"},
        {"type": "document", "document": {"camunda.document.type": "camunda", "documentId": "d"}},
        {"type": "resource_link", "uri": "file:///a.pdf", "name": "a.pdf"},
        {"type": "hologram"},
        "words",
    ],
)
def test_what_is_neither_text_nor_document_stays_as_it_is(
    chat: onrecord.Conversation, block: object
) -> None:
    (part,) = taken(chat, gave(block)).content
    assert isinstance(part, Text)
    assert json.loads(part.text) == block
    assert not extracted(chat)


@pytest.mark.parametrize(
    "given",
    [
        {"id": "call_1", "name": "Track", "content": {"name": "read", "content": []}},
        {"id": None, "name": "Files", "content": {"name": "read", "content": []}},
        entry("The server cannot be reached"),
        entry(None, interrupted=True),
        entry({"error": "timeout"}),
    ],
)
def test_entries_of_others_signals_and_what_no_server_said_stay_as_they_are(
    given: dict[str, Any],
) -> None:
    assert answers_of([given], GATEWAYS).inputs == inputs_of([given])


def test_what_gateways_offer_is_declared_under_names_that_lead_back_to_them() -> None:
    tool = {"name": "read", "description": "Reads", "inputSchema": {"type": "object"}}
    answers = answers_of(
        [
            {
                "id": mcp_discovery("Files").id,
                "name": "Files",
                "content": {"toolDefinitions": [tool]},
            },
            {"id": a2a_discovery("Travel").id, "name": "Travel", "content": {"name": "Reisen"}},
        ],
        GATEWAYS,
    )
    assert answers.inputs == ()
    chat = onrecord.connect("memory://").conversation("support/4711")
    chat.tools.declare(answers.discovered)
    chat.user("Read it")
    told = chat.request("anthropic-messages")["tools"]
    assert [each["name"] for each in told] == ["MCP_Files___read", "A2A_Travel"]
    assert told[0]["description"] == "Reads"
    assert [each.source.name for each in answers.discovered] == ["Files", "Reisen"]
    assert mcp_call("call_1", told[0]["name"], {}).element == "Files"


def test_the_list_of_the_protocol_itself_is_read_too() -> None:
    listed = {"tools": [{"name": "read", "inputSchema": {"type": "object"}}]}
    (toolset,) = answers_of([{"id": "MCP_toolsList_Files", "content": listed}], ()).discovered
    assert [tool.name for tool in toolset.tools] == ["MCP_Files___read"]


UNREAD: list[dict[str, Any]] = [
    {"id": "MCP_toolsList_Files", "content": None},
    {"id": "MCP_toolsList_Files", "content": {"toolDefinitions": [{}]}},
    {"id": "A2A_fetchAgentCard_Files", "content": "unreachable"},
]


@pytest.mark.parametrize("given", UNREAD)
def test_an_answer_that_lists_nothing_names_its_element(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidContent, match=r"^what 'Files' offers cannot be read: "):
        answers_of([given], GATEWAYS)
