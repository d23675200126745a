"""What agents give that are called by A2A: their JSON, with references in the place of files."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from a2a import types
from a2a.compat.v0_3 import types as v0_3
from google.protobuf import json_format  # type: ignore[import-untyped]  # it has no stubs

import onrecord
from tests.adapters.found_results import blob, call, extracted, result, text

PDF = b"%PDF-1.7 the report"
PNG = b"\x89PNG\r\n\x1a\n a picture"


@pytest.fixture
def chat() -> onrecord.Conversation:
    chat = onrecord.connect("memory://").conversation("support/4711")
    call(chat, "A2A_helper")
    return chat


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def raw(data: bytes, name: str) -> dict[str, Any]:
    return {"raw": encoded(data), "filename": name, "mediaType": "application/pdf"}


def read(kind: Any, given: dict[str, Any]) -> Any:
    """A message of version 1 as an agent sends it, read by the SDK."""
    return json_format.ParseDict(given, kind())


def references(chat: onrecord.Conversation) -> dict[str, str]:
    return {each.path or "": each.document.name or "" for each in extracted(chat)}


TASK = {
    "id": "task-1",
    "contextId": "context-1",
    "status": {
        "state": "TASK_STATE_COMPLETED",
        "message": {"messageId": "m0", "role": "ROLE_AGENT", "parts": [raw(b"status", "s.pdf")]},
    },
    "history": [
        {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "hi"}, raw(PNG, "h.png")]},
        {"messageId": "m2", "role": "ROLE_AGENT", "parts": [raw(PDF, "again.pdf")]},
    ],
    "artifacts": [
        {"artifactId": "a1", "parts": [raw(PDF, "a.pdf"), {"data": {"n": 1, "x": 1.5}}]},
        {"artifactId": "a2", "parts": [{"text": "done"}, raw(b"%PDF-2", "b.pdf")]},
    ],
}


def test_the_documents_of_a_task_are_those_of_its_artifacts_then_of_its_history(
    chat: onrecord.Conversation,
) -> None:
    chat.tool_result("call_1", read(types.Task, TASK))
    assert list(references(chat).items()) == [
        ("/artifacts/0/parts/0/raw", "a.pdf"),
        ("/artifacts/1/parts/1/raw", "b.pdf"),
        ("/history/0/parts/1/raw", "h.png"),
        ("/history/1/parts/0/raw", "again.pdf"),
    ]
    assert blob(chat, extracted(chat)[0].document) == [PDF]
    assert extracted(chat)[2].document.media_type == "image/png"


def test_the_message_of_a_status_is_not_looked_through_and_its_bytes_stay_out(
    chat: onrecord.Conversation,
) -> None:
    chat.tool_result("call_1", read(types.Task, TASK))
    status = text(chat)["status"]
    assert status["message"]["parts"] == [{"filename": "s.pdf", "mediaType": "application/pdf"}]
    assert encoded(b"status") not in str(text(chat))


def test_the_json_of_a_task_keeps_what_the_next_call_needs(chat: onrecord.Conversation) -> None:
    chat.tool_result("call_1", read(types.Task, TASK))
    told = text(chat)
    assert (told["id"], told["contextId"]) == ("task-1", "context-1")
    assert told["artifacts"][1]["parts"][0] == {"text": "done"}


def test_whole_numbers_of_data_stay_whole(chat: onrecord.Conversation) -> None:
    chat.tool_result("call_1", read(types.Task, TASK))
    data = text(chat)["artifacts"][0]["parts"][1]["data"]
    assert repr(data) == "{'n': 1, 'x': 1.5}"


def test_a_message_is_told_with_its_files_in_place(chat: onrecord.Conversation) -> None:
    message = {
        "messageId": "m",
        "role": "ROLE_AGENT",
        "parts": [{"text": "Look:"}, {**raw(PDF, "../../a.pdf"), "metadata": {"page": 2}}],
    }
    chat.tool_result("call_1", read(types.Message, message))
    (found,) = extracted(chat)
    assert (found.path, found.tool_name) == ("/parts/1/raw", "A2A_helper")
    assert found.document.name == "a.pdf"
    part = text(chat)["parts"][1]
    assert part["raw"]["name"] == "a.pdf"
    assert part["metadata"] == {"page": 2}


def test_an_address_of_the_web_is_a_document_and_another_one_stays(
    chat: onrecord.Conversation,
) -> None:
    parts = [
        {"url": "https://example.com/a.pdf", "mediaType": "application/pdf"},
        {"url": "ftp://example.com/a.pdf"},
    ]
    chat.tool_result("call_1", read(types.Message, {"messageId": "m", "parts": parts}))
    (found,) = extracted(chat)
    assert (found.path, found.document.url) == ("/parts/0/url", "https://example.com/a.pdf")
    assert text(chat)["parts"][1] == {"url": "ftp://example.com/a.pdf"}


def test_the_bytes_in_a_data_url_are_those_of_a_document(chat: onrecord.Conversation) -> None:
    parts = [{"url": f"data:application/pdf;base64,{encoded(PDF)}"}, {"url": "data:a/b;base64,?"}]
    chat.tool_result("call_1", read(types.Message, {"messageId": "m", "parts": parts}))
    (found,) = extracted(chat)
    assert (found.path, found.document.media_type) == ("/parts/0/url", "application/pdf")
    assert blob(chat, found.document) == [PDF]
    assert text(chat)["parts"][1] == {"url": "data:a/b;base64,?"}


@pytest.mark.parametrize("state", ["TASK_STATE_FAILED", "TASK_STATE_REJECTED"])
def test_a_task_that_failed_is_a_failed_result(chat: onrecord.Conversation, state: str) -> None:
    chat.tool_result("call_1", read(types.Task, {"id": "t", "status": {"state": state}}))
    assert result(chat).is_error


def test_an_answer_and_the_events_of_a_stream_are_told_by_what_they_hold(
    chat: onrecord.Conversation,
) -> None:
    chat.tool_result("call_1", read(types.StreamResponse, {"task": TASK}))
    chat.tool_result("call_2", read(types.SendMessageResponse, {"task": TASK}))
    update = {"taskId": "t", "artifact": {"artifactId": "a", "parts": [raw(PDF, "u.pdf")]}}
    chat.tool_result("call_3", read(types.StreamResponse, {"artifactUpdate": update}))
    paths = [each.path for each in extracted(chat)]
    assert paths[0] == paths[4] == "/task/artifacts/0/parts/0/raw"
    assert paths[-1] == "/artifactUpdate/artifact/parts/0/raw"


@pytest.mark.parametrize(
    "given",
    [
        {"task": {"id": "t", "status": {"state": "TASK_STATE_FAILED"}}},
        {"statusUpdate": {"taskId": "t", "status": {"state": "TASK_STATE_FAILED"}}},
    ],
    ids=["task", "update"],
)
def test_a_failed_task_within_an_answer_is_a_failed_result(
    chat: onrecord.Conversation, given: dict[str, Any]
) -> None:
    chat.tool_result("call_1", read(types.StreamResponse, given))
    assert result(chat).is_error


def test_data_that_looks_like_a_message_is_data(chat: onrecord.Conversation) -> None:
    data = {"parts": [raw(PDF, "a.pdf")], "artifacts": [{"parts": [raw(PDF, "b.pdf")]}]}
    chat.tool_result("call_1", read(types.Message, {"messageId": "m", "parts": [{"data": data}]}))
    assert text(chat)["parts"][0] == {"data": data}
    assert extracted(chat) == []


def old_file(data: bytes, name: str) -> v0_3.Part:
    held = v0_3.FileWithBytes(bytes=encoded(data), name=name, mime_type="application/pdf")
    return v0_3.Part(v0_3.FilePart(file=held))


def test_a_message_of_version_0_3_is_told_alike(chat: onrecord.Conversation) -> None:
    linked = v0_3.FilePart(file=v0_3.FileWithUri(uri="https://example.com/b.pdf"))
    parts = [
        v0_3.Part(v0_3.TextPart(text="Look:")),
        old_file(PDF, "a.pdf"),
        v0_3.Part(linked),
        v0_3.Part(v0_3.DataPart(data={"n": 1})),
    ]
    message = v0_3.Message(role=v0_3.Role.agent, message_id="m", parts=parts)
    chat.tool_result("call_1", message)
    assert references(chat) == {"/parts/1/file": "a.pdf", "/parts/2/file": "b.pdf"}
    assert text(chat)["parts"][3]["data"] == {"n": 1}


def test_a_task_of_version_0_3_is_told_alike(chat: onrecord.Conversation) -> None:
    said = v0_3.Message(role=v0_3.Role.user, message_id="m", parts=[old_file(PNG, "h.png")])
    status = v0_3.Message(role=v0_3.Role.agent, message_id="s", parts=[old_file(b"s", "s.pdf")])
    task = v0_3.Task(
        id="t",
        context_id="c",
        status=v0_3.TaskStatus(state=v0_3.TaskState.failed, message=status),
        history=[said],
        artifacts=[v0_3.Artifact(artifact_id="a", parts=[old_file(PDF, "a.pdf")])],
    )
    chat.tool_result("call_1", task)
    assert list(references(chat)) == ["/artifacts/0/parts/0/file", "/history/0/parts/0/file"]
    assert result(chat).is_error
    assert encoded(b"s") not in str(text(chat))
