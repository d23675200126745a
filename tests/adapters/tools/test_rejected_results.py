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
from onrecord.domain.content import Text, ToolResult
from onrecord.domain.events import Event, ToolResultRejected
from onrecord.domain.log import Duplicate, Recorded
from tests.adapters.found_results import call, extracted
from tests.patience import PATIENCE

PDF = b"%PDF-1.7 the report"
APIS = (
    *("anthropic-messages", "openai-chat", "openai-responses"),
    *("gemini", "ollama", "bedrock-converse"),
)


@pytest.fixture(params=["memory", "sqlite"])
def talk(request: pytest.FixtureRequest, tmp_path: Any) -> onrecord.Talk:
    url = "memory://" if request.param == "memory" else f"sqlite:///{tmp_path}/talks.db"
    return onrecord.connect(url).conversation("support/4711")


def events(talk: onrecord.Talk) -> list[Event]:
    return [
        event for each in talk.log.read() if isinstance(event := each.event(), ToolResultRejected)
    ]


def test_a_second_result_is_kept_beside_the_history(talk: onrecord.Talk) -> None:
    call(talk)
    talk.tool_result("call_1", "sunny")
    done = talk.tool_result("call_1", "rain", is_error=True)
    version = talk.head().version
    assert done == onrecord.Rejected(version, version, "duplicate")
    content = ToolResult(call_id="call_1", content=(Text(text="rain"),), is_error=True)
    assert events(talk) == [
        ToolResultRejected(call_id="call_1", content=content, is_error=True, reason="duplicate")
    ]


def test_a_second_result_again_changes_nothing(talk: onrecord.Talk) -> None:
    call(talk)
    talk.tool_result("call_1", "sunny")
    first = talk.tool_result("call_1", "rain")
    version = talk.head().version
    assert talk.tool_result("call_1", "rain") == Duplicate(first.first, first.last)
    assert isinstance(talk.tool_result("call_1", "sunny"), Duplicate)
    assert talk.head().version == version
    talk.tool_result("call_1", "snow")
    assert len(events(talk)) == 2


def test_a_result_of_a_call_that_was_given_up_is_rejected_as_cancelled(talk: onrecord.Talk) -> None:
    call(talk)
    talk.cancel("call_1")
    done = talk.tool_result("call_1", "sunny")
    assert isinstance(done, onrecord.Rejected)
    assert done.reason == "cancelled"


def test_giving_up_a_call_that_has_its_result_is_rejected(talk: onrecord.Talk) -> None:
    call(talk)
    talk.tool_result("call_1", "sunny")
    done = talk.cancel("call_1")
    assert isinstance(done, onrecord.Rejected)
    assert done.reason == "duplicate"
    assert isinstance(talk.cancel("call_1"), Duplicate)


def test_giving_up_a_call_twice_changes_nothing(talk: onrecord.Talk) -> None:
    call(talk)
    talk.cancel("call_1")
    assert isinstance(talk.cancel("call_1"), Duplicate)


def test_a_second_result_with_documents_is_kept_with_them(talk: onrecord.Talk) -> None:
    call(talk)
    talk.tool_result("call_1", "sunny")
    assert isinstance(talk.tool_result("call_1", {"map": PDF}), onrecord.Rejected)
    assert isinstance(talk.tool_result("call_1", {"map": PDF}), Duplicate)
    assert extracted(talk) == []


def test_a_second_result_is_logged_without_its_content(
    talk: onrecord.Talk, caplog: pytest.LogCaptureFixture
) -> None:
    call(talk)
    talk.tool_result("call_1", "sunny")
    with caplog.at_level(logging.WARNING, "onrecord"):
        talk.tool_result("call_1", "Ada")
    assert caplog.messages == [
        "call call_1 has a result already (duplicate): the other one is kept beside the history"
    ]


def given_once(talk: onrecord.Talk) -> None:
    talk.tool_result("call_1", "sunny")


def given_up(talk: onrecord.Talk) -> None:
    talk.cancel("call_1")


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(("first", "rule"), [(given_once, "duplicate"), (given_up, "cancelled")])
def test_no_request_tells_a_rejected_result_and_its_report_says_so(
    talk: onrecord.Talk, api: str, first: Callable[[onrecord.Talk], None], rule: str
) -> None:
    call(talk)
    first(talk)
    before = talk.request(api)
    talk.tool_result("call_1", "rain")
    after = talk.request(api)
    assert dict(after) == dict(before)
    (note,) = after.report.of(rule)
    assert (note.deed, note.version) == ("left out", talk.head().version)


def test_a_rejected_result_opens_and_closes_nothing(talk: onrecord.Talk) -> None:
    call(talk)
    talk.tool_result("call_1", "sunny")
    before = talk.head()
    talk.tool_result("call_1", "rain")
    after = talk.head()
    assert (after.exchange, after.open_calls) == (before.exchange, before.open_calls)


def test_a_result_that_matches_no_call_is_recorded(talk: onrecord.Talk) -> None:
    talk.user("Hello")
    assert isinstance(talk.tool_result("nowhere", "sunny"), Recorded)
    assert isinstance(talk.tool_result("nowhere", "sunny"), Duplicate)
    assert isinstance(talk.tool_result("nowhere", "rain"), onrecord.Rejected)


def test_a_late_result_is_recorded(talk: onrecord.Talk) -> None:
    call(talk)
    talk.user("Never mind.")
    talk.user("And now?")
    assert isinstance(talk.tool_result("call_1", "sunny"), Recorded)


def test_a_result_of_a_fork_is_its_own(talk: onrecord.Talk) -> None:
    call(talk)
    fork = talk.fork("support/4711/otherwise")
    talk.tool_result("call_1", "sunny")
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
    talk: onrecord.Talk, content: object
) -> None:
    call(talk)
    told = together(*[partial(talk.tool_result, "call_1", content)] * 6)
    assert sorted(type(each).__name__ for each in told) == [*["Duplicate"] * 5, "Recorded"]


def test_of_many_who_give_other_results_one_is_history_and_each_other_one_is_kept_once(
    talk: onrecord.Talk,
) -> None:
    call(talk)
    talk.tool_result("call_1", "sunny")
    deeds = [partial(talk.tool_result, "call_1", text) for text in ("rain", "rain", "snow", "snow")]
    told = together(*deeds)
    assert sorted(type(each).__name__ for each in told) == [
        *("Duplicate", "Duplicate", "Rejected", "Rejected")
    ]
    assert len(events(talk)) == 2
