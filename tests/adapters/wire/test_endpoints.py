"""What a request is for, by its method and path."""

import pytest

from onrecord.adapters.wire.wires import Purpose, endpoint_of

CHAT = "openai-chat"
RESPONSES = "openai-responses"
ANTHROPIC = "anthropic-messages"


@pytest.mark.parametrize(
    ("path", "api"),
    [
        ("/v1/messages", ANTHROPIC),
        ("/v1/messages/", ANTHROPIC),
        ("/gateway/anthropic/v1/messages", ANTHROPIC),
        ("/v1/chat/completions", CHAT),
        ("/chat/completions", CHAT),
        ("/api/paas/v4/chat/completions", CHAT),
        ("/openai/deployments/gpt-4o/chat/completions", CHAT),
        ("/openai/deployments/responses/chat/completions", CHAT),
        ("/openai/v1/chat/completions", CHAT),
        ("/v1/responses", RESPONSES),
        ("/responses", RESPONSES),
        ("/openai/responses", RESPONSES),
        ("/openai/v1/responses/", RESPONSES),
        ("/gateway/openai/responses", RESPONSES),
    ],
)
def test_an_endpoint_is_known_under_any_prefix(path: str, api: str) -> None:
    assert endpoint_of("POST", path) == Purpose(api, "turn")


@pytest.mark.parametrize("path", ["/v1/responses/compact", "/openai/responses/compact/"])
def test_a_summary_is_a_turn_that_says_so(path: str) -> None:
    assert endpoint_of("POST", path) == Purpose(RESPONSES, "turn", compacts=True)


@pytest.mark.parametrize("path", ["/v1/responses/resp_1", "/openai/v1/responses/resp_1/"])
def test_a_response_that_is_asked_for_by_its_id_is_an_answer(path: str) -> None:
    assert endpoint_of("GET", path) == Purpose(RESPONSES, "answer")


@pytest.mark.parametrize("path", ["/v1/batches", "/batches"])
def test_a_batch_of_a_file_is_answered_later(path: str) -> None:
    assert endpoint_of("POST", path) == Purpose(CHAT, "later")


@pytest.mark.parametrize(
    ("method", "path", "kind"),
    [
        ("POST", "/v1/files", "upload"),
        ("GET", "/openai/v1/files/file-1/content", "results"),
        ("GET", "/v1/batches/batch_1", "status"),
        ("GET", "/v1beta/batches/123", "status"),
        ("POST", "/v1/batches/batch_1/cancel", "status"),
        ("POST", "/v1beta/models/gemini-3:batchGenerateContent", "batch"),
    ],
)
def test_what_else_is_said_of_batches_is_known(method: str, path: str, kind: str) -> None:
    assert endpoint_of(method, path).kind == kind


def test_a_batch_of_messages_is_recorded_as_are_its_results() -> None:
    assert endpoint_of("POST", "/v1/messages/batches") == Purpose(ANTHROPIC, "batch")
    results = "/gateway/v1/messages/batches/msgbatch_01/results"
    assert endpoint_of("GET", results) == Purpose(ANTHROPIC, "results")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/messages/count_tokens"),
        ("GET", "/v1/messages/batches"),
        ("GET", "/v1/messages/batches/msgbatch_01"),
        ("POST", "/v1/messages/batches/msgbatch_01/cancel"),
        ("GET", "/v1/chat/completions"),
        ("GET", "/v1/chat/completions/chatcmpl_1"),
        ("POST", "/v1/completions"),
        ("POST", "/v1/responses/input_tokens"),
        ("POST", "/v1/responses/resp_1/cancel"),
        ("GET", "/v1/responses/resp_1/input_items"),
        ("GET", "/v1/responses"),
        ("DELETE", "/v1/responses/resp_1"),
        ("POST", "/v1/embeddings"),
        ("POST", "/openai/deployments/gpt-4o/embeddings"),
        ("GET", "/v1/models"),
        ("POST", "/v1/images/generations"),
        ("POST", "/v1/audio/speech"),
        ("POST", "/v1/moderations"),
        ("POST", "/v1/conversations"),
        ("POST", "/v1/threads/thread_1/messages"),
        ("POST", "/"),
    ],
)
def test_what_is_no_turn_passes_through(method: str, path: str) -> None:
    assert endpoint_of(method, path).kind == "none"
