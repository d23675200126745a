"""Sessions as frameworks write them, spelled by hand, and what each of them says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import onrecord
from onrecord.adapters.frameworks.session import ItemSession, NewItem
from onrecord.adapters.frameworks.sessions import Sessions
from onrecord.adapters.store import Store
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.api import known_rules
from onrecord.projections.apis.rules import Violation

CLAUDE, AGENTS, ADK = "claude-agent-sdk", "openai-agents", "google-adk"
APIS = tuple(known_rules())
MODELS: dict[str, JsonObject] = {
    "anthropic-messages": {"model": "claude-sonnet-4-5", "max_tokens": 1024},
    "openai-chat": {"model": "gpt-5"},
    "openai-responses": {"model": "gpt-5"},
    "gemini": {},
    "ollama": {"model": "qwen3"},
    "bedrock-converse": {"modelId": "anthropic.claude-sonnet-4-5-20250929-v1:0"},
}
PICTURE = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="
)


def entry(number: int, speaker: str, content: Any, **members: Any) -> NewItem:
    """An entry of a transcript, as the Claude Agent SDK hands it over; it follows the one before."""
    message: dict[str, Any] = {"role": speaker, "content": content}
    if speaker == "assistant":
        message = {
            "id": f"msg_{number}",
            "type": "message",
            "model": "claude-sonnet-4-5",
            **message,
        }
    before = f"uuid-{number - 1}" if number > 1 else None
    message |= members.pop("message", {})
    spelled = {"parentUuid": before, "isSidechain": False, "type": speaker, "message": message}
    spelled |= {"uuid": f"uuid-{number}", "timestamp": f"2026-01-01T00:00:{number:02}Z"}
    return NewItem({**spelled, **members}, f"uuid-{number}")


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


TRANSCRIPT = (
    NewItem({"type": "queue-operation", "operation": "enqueue"}),
    entry(1, "user", "Where is parcel NW-1?"),
    entry(2, "assistant", [{"type": "thinking", "thinking": "Look.", "signature": "c2ln"}]),
    entry(3, "assistant", [text("Let me look.")], message={"id": "msg_2"}),
    entry(
        4,
        "assistant",
        [{"type": "tool_use", "id": "toolu_1", "name": "track", "input": {"parcel": "NW-1"}}],
        message={"id": "msg_2"},
    ),
    entry(
        5,
        "user",
        [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "in depot North"}],
        toolUseResult={"stdout": "in depot North"},
    ),
    entry(6, "assistant", [text("In depot North.")]),
    entry(
        7,
        "user",
        [
            text("Is this it?"),
            {
                "type": "image",
                "source": {"type": "base64", "media_type": "image/png", "data": PICTURE},
            },
        ],
    ),
    entry(8, "assistant", [text("Yes.")]),
    entry(9, "user", "Thanks. And NW-2?"),
)

SPELLED: tuple[dict[str, Any], ...] = (
    {"role": "user", "content": "Where is parcel NW-1?"},
    {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "Look."}],
        "encrypted_content": "gAAAA",
    },
    {
        "type": "message",
        "id": "msg_0",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "Let me look.", "annotations": []}],
    },
    {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "call_1",
        "name": "track",
        "arguments": '{"parcel":"NW-1"}',
        "status": "completed",
    },
    {"type": "function_call_output", "call_id": "call_1", "output": "in depot North"},
    {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "In depot North.", "annotations": []}],
    },
    {
        "role": "user",
        "content": [
            {"type": "input_text", "text": "Is this it?"},
            {
                "type": "input_image",
                "image_url": f"data:image/png;base64,{PICTURE}",
                "detail": "auto",
            },
        ],
    },
    {
        "type": "message",
        "id": "__fake_id__",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "Yes.", "annotations": []}],
        "provider_data": {"model": "another", "response_id": "r"},
    },
    {"role": "user", "content": "Thanks. And NW-2?"},
)
ITEMS = tuple(map(NewItem, SPELLED))


def event(number: int, author: str, *parts: dict[str, Any], **members: Any) -> NewItem:
    """An event of ADK, as its services store it."""
    is_users = author == "user" or any("function_response" in part for part in parts)
    spelled: dict[str, Any] = {
        "id": f"event-{number}",
        "invocation_id": f"invocation-{number}",
        "author": author,
        "timestamp": 1_700_000_000.25 + number,
        "actions": {"state_delta": {}, "artifact_delta": {}, **members.pop("actions", {})},
        "node_info": {"path": ""},
    }
    if parts:
        spelled["content"] = {"parts": list(parts), "role": "user" if is_users else "model"}
    return NewItem({**spelled, **members}, f"event-{number}")


EVENTS = (
    event(1, "user", {"text": "Where is parcel NW-1?"}),
    event(
        2,
        "desk",
        {"text": "Look.", "thought": True},
        {"text": "Let me look."},
        {
            "function_call": {"id": "adk-1", "args": {"parcel": "NW-1"}, "name": "track"},
            "thought_signature": "-_8A",
        },
        long_running_tool_ids=[],
    ),
    event(
        3,
        "desk",
        {
            "function_response": {
                "id": "adk-1",
                "name": "track",
                "response": {"result": "in depot North"},
            }
        },
    ),
    event(4, "desk", actions={"state_delta": {"parcel": "NW-1"}}),
    event(5, "desk", {"text": "In depot North."}),
    event(
        6,
        "user",
        {"text": "Is this it?"},
        {
            "inline_data": {
                "data": PICTURE.replace("+", "-").replace("/", "_"),
                "mime_type": "image/png",
            }
        },
    ),
    event(7, "desk", {"text": "Yes."}),
    event(8, "user", {"text": "Thanks. And NW-2?"}),
)

WRITTEN = {
    CLAUDE: (("project", "one"), TRANSCRIPT),
    AGENTS: (("one",), ITEMS),
    ADK: (("session", "desk", "ana", "one"), EVENTS),
}
SAID = [
    ("user", "Where is parcel NW-1?"),
    ("assistant", "Let me look."),
    ("user", ""),
    ("assistant", "In depot North."),
    ("user", "Is this it?"),
    ("assistant", "Yes."),
    ("user", "Thanks. And NW-2?"),
]


def session_of(store: Store, framework: str, *outer_id: str) -> ItemSession:
    return Sessions(store, framework).session(*(outer_id or WRITTEN[framework][0]))


def conversation_of(store: Store, framework: str) -> onrecord.Conversation:
    key = Sessions(store, framework).key(*WRITTEN[framework][0])
    return store.conversation(key)


def write(store: Store, framework: str) -> onrecord.Conversation:
    session_of(store, framework).record(WRITTEN[framework][1])
    return conversation_of(store, framework)


def complaints(api: str, request: onrecord.Request) -> Sequence[Violation]:
    return onrecord.check_request(api, {**request.body, **MODELS[api]}).violations


def texts(conversation: onrecord.Conversation) -> list[tuple[str, str]]:
    return [(turn.role, turn.text) for turn in conversation.history()]
