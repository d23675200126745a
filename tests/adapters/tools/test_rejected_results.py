"""Results that come late, twice, or for no call: recorded as such, never a crash, never silent."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

import onrecord
from onrecord.adapters.conversation.conversation import stream_of
from onrecord.domain.content import Text, ToolResult
from onrecord.domain.events import AnnotationAdded, Event, ToolResultRejected
from onrecord.domain.log import Duplicate, Recorded
from tests.adapters.found_results import call, extracted
from tests.patience import PATIENCE

PDF = b"%PDF-1.7 the report"
APIS = (
    *("anthropic-messages", "openai-chat", "openai-responses"),
    *("gemini", "ollama", "bedrock-converse"),
)


@pytest.fixture(params=["memory", "sqlite"])
def chat(request: pytest.FixtureRequest, tmp_path: Any) -> onrecord.Conversation:
    url = "memory://" if request.param == "memory" else f"sqlite:///{tmp_path}/talks.db"
    return onrecord.connect(url).conversation("support/4711")


def events(chat: onrecord.Conversation) -> list[Event]:
    return [
        event for each in chat.log.read() if isinstance(event := each.event(), ToolResultRejected)
    ]


def test_a_second_result_is_kept_beside_the_history(chat: onrecord.Conversation) -> None:
    call(chat)
    chat.tool_result("call_1", "sunny")
    done = chat.tool_result("call_1", "rain", is_error=True)
    version = chat.head().version
    assert done == onrecord.Rejected(version, version, "duplicate")
    content = ToolResult(call_id="call_1", content=(Text(text="rain"),), is_error=True)
    assert events(chat) == [
        ToolResultRejected(call_id="call_1", content=content, is_error=True, reason="duplicate")
    ]


def test_a_second_result_again_changes_nothing(chat: onrecord.Conversation) -> None:
    call(chat)
    chat.tool_result("call_1", "sunny")
    first = chat.tool_result("call_1", "rain")
    version = chat.head().version
    assert chat.tool_result("call_1", "rain") == Duplicate(first.first, first.last)
    assert isinstance(chat.tool_result("call_1", "sunny"), Duplicate)
    assert chat.head().version == version
    chat.tool_result("call_1", "snow")
    assert len(events(chat)) == 2


def test_a_result_of_a_call_that_was_given_up_is_rejected_as_cancelled(
    chat: onrecord.Conversation,
) -> None:
    call(chat)
    chat.cancel("call_1")
    done = chat.tool_result("call_1", "sunny")
    assert isinstance(done, onrecord.Rejected)
    assert done.reason == "cancelled"


def test_giving_up_a_call_that_has_its_result_is_rejected(chat: onrecord.Conversation) -> None:
    call(chat)
    chat.tool_result("call_1", "sunny")
    done = chat.cancel("call_1")
    assert isinstance(done, onrecord.Rejected)
    assert done.reason == "duplicate"
    assert isinstance(chat.cancel("call_1"), Duplicate)


def test_giving_up_a_call_twice_changes_nothing(chat: onrecord.Conversation) -> None:
    call(chat)
    chat.cancel("call_1")
    assert isinstance(chat.cancel("call_1"), Duplicate)


def test_a_second_result_with_documents_is_kept_with_them(chat: onrecord.Conversation) -> None:
    call(chat)
    chat.tool_result("call_1", "sunny")
    assert isinstance(chat.tool_result("call_1", {"map": PDF}), onrecord.Rejected)
    assert isinstance(chat.tool_result("call_1", {"map": PDF}), Duplicate)
    assert extracted(chat) == []


def test_a_second_result_is_logged_without_its_content(
    chat: onrecord.Conversation, caplog: pytest.LogCaptureFixture
) -> None:
    call(chat)
    chat.tool_result("call_1", "sunny")
    with caplog.at_level(logging.WARNING, "onrecord"):
        chat.tool_result("call_1", "Ada")
    assert caplog.messages == [
        "call call_1 has a result already (duplicate): the other one is kept beside the history"
    ]


def given_once(chat: onrecord.Conversation) -> None:
    chat.tool_result("call_1", "sunny")


def given_up(chat: onrecord.Conversation) -> None:
    chat.cancel("call_1")


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(("first", "rule"), [(given_once, "duplicate"), (given_up, "cancelled")])
def test_no_request_tells_a_rejected_result_and_its_report_says_so(
    chat: onrecord.Conversation, api: str, first: Callable[[onrecord.Conversation], None], rule: str
) -> None:
    call(chat)
    first(chat)
    before = chat.request(api)
    chat.tool_result("call_1", "rain")
    after = chat.request(api)
    assert dict(after) == dict(before)
    (note,) = after.report.of(rule)
    assert (note.deed, note.version) == ("left out", chat.head().version)


def test_a_rejected_result_opens_and_closes_nothing(chat: onrecord.Conversation) -> None:
    call(chat)
    chat.tool_result("call_1", "sunny")
    before = chat.head()
    chat.tool_result("call_1", "rain")
    after = chat.head()
    assert (after.exchange, after.open_calls) == (before.exchange, before.open_calls)


def test_a_result_that_matches_no_call_is_recorded_and_said_to_match_none(
    chat: onrecord.Conversation,
) -> None:
    chat.user("Hello")
    done = chat.tool_result("nowhere", "sunny")
    assert isinstance(done, onrecord.Unmatched)
    assert (done.first, done.last) == (chat.head().version, chat.head().version)
    assert chat.events(after=done.first - 1)[0].type == "tool_result.recorded"
    assert isinstance(chat.cancel("elsewhere"), onrecord.Unmatched)
    assert isinstance(chat.tool_result("nowhere", "sunny"), Duplicate)
    assert isinstance(chat.tool_result("nowhere", "rain"), onrecord.Rejected)


def test_a_result_of_a_call_whose_answer_was_retracted_matches_it(
    chat: onrecord.Conversation,
) -> None:
    call(chat)
    chat.retract_answer()
    assert isinstance(chat.tool_result("call_1", "sunny"), Recorded)


def test_a_late_result_is_recorded(chat: onrecord.Conversation) -> None:
    call(chat)
    chat.user("Never mind.")
    chat.user("And now?")
    assert isinstance(chat.tool_result("call_1", "sunny"), Recorded)


def test_a_result_of_a_fork_is_its_own(chat: onrecord.Conversation) -> None:
    call(chat)
    fork = chat.fork("support/4711/otherwise")
    chat.tool_result("call_1", "sunny")
    assert isinstance(fork.tool_result("call_1", "rain"), Recorded)


def together(*deeds: Callable[[], object]) -> list[object]:
    """What several threads are told that begin at the same time."""
    barrier = threading.Barrier(len(deeds), timeout=PATIENCE)

    def do(deed: Callable[[], object]) -> object:
        barrier.wait()
        return deed()

    with ThreadPoolExecutor(len(deeds)) as pool:
        return list(pool.map(do, deeds))


@pytest.mark.parametrize("content", ["sunny", {"map": PDF}], ids=["text", "document"])
def test_of_many_who_give_the_same_result_one_records_it(
    chat: onrecord.Conversation, content: object
) -> None:
    call(chat)
    told = together(*[partial(chat.tool_result, "call_1", content)] * 6)
    assert sorted(type(each).__name__ for each in told) == [*["Duplicate"] * 5, "Recorded"]


def test_of_many_who_give_other_results_one_is_history_and_each_other_one_is_kept_once(
    chat: onrecord.Conversation,
) -> None:
    call(chat)
    chat.tool_result("call_1", "sunny")
    deeds = [partial(chat.tool_result, "call_1", text) for text in ("rain", "rain", "snow", "snow")]
    told = together(*deeds)
    assert sorted(type(each).__name__ for each in told) == [
        *("Duplicate", "Duplicate", "Rejected", "Rejected")
    ]
    assert len(events(chat)) == 2


def test_a_result_of_a_call_of_long_ago_matches_none_however_long_the_conversation_is(
    chat: onrecord.Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    call(chat)
    chat.log.append(*(AnnotationAdded(labels={"n": str(n)}) for n in range(900)))
    chat.user("Never mind.")
    chat.request("openai-chat")
    read: list[int] = []
    backend = stream_of(chat).backend
    log_read = backend.read

    def counted(*args: Any, **options: Any) -> Any:
        for event in log_read(*args, **options):
            read.append(event.version)
            yield event

    monkeypatch.setattr(backend, "read", counted)
    assert isinstance(chat.tool_result("misspelt", "sunny"), onrecord.Unmatched)
    assert len(read) < 450
