"""The store's own operations as spans: what each tells, and that nobody pays who does not look."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor
from opentelemetry.trace import SpanKind, StatusCode

import onrecord
from tests.adapters.telemetry.observing import (
    Observed,
    attributes,
    id_of,
    observing,
    parent_of,
)

CALLS = (
    "chat = onrecord.connect('memory://').conversation('a'); chat.user('Hello');"
    "chat.request('anthropic-messages'); chat.events(); chat.history();"
)


@pytest.fixture
def observed() -> Iterator[Observed]:
    with pytest.MonkeyPatch.context() as patch, observing(patch) as told:
        yield told


@pytest.fixture
def chat() -> onrecord.Conversation:
    return onrecord.connect("memory://").conversation("support/4711", actor="ana")


def test_an_append_a_read_and_a_request_have_a_span_with_key_and_version(
    observed: Observed, chat: onrecord.Conversation
) -> None:
    chat.user("Hello")
    chat.events()
    chat.history()
    chat.request("anthropic-messages")
    assert [(span.name, attributes(span)) for span in observed.spans()] == [
        (name, {"onrecord.conversation": "support/4711", "onrecord.version": 2})
        for name in ("onrecord.append", "onrecord.read", "onrecord.read", "onrecord.request")
    ]
    assert {span.kind for span in observed.spans()} == {SpanKind.INTERNAL}
    assert observed.points() == {}


def test_an_operation_is_a_child_of_the_span_that_it_is_called_in(
    observed: Observed, chat: onrecord.Conversation
) -> None:
    with observed.tracer.start_as_current_span("program") as program:
        chat.user("Hello")
        assert trace.get_current_span() is program
    assert [parent_of(span) for span in observed.spans()] == [id_of(program)]


@pytest.mark.parametrize("url", ["memory://", "sqlite:///{}/talks.db"])
async def test_awaited_operations_are_children_of_the_task_that_awaits(
    observed: Observed, tmp_path: Path, url: str
) -> None:
    async with onrecord.connect_async(url.format(tmp_path)) as store:
        chat = store.conversation("a")
        with observed.tracer.start_as_current_span("program") as program:
            await chat.user("Hello")
            await chat.request("openai-chat")
    names = [(span.name, parent_of(span)) for span in observed.spans()]
    assert names == [("onrecord.append", id_of(program)), ("onrecord.request", id_of(program))]


def test_an_error_is_told_by_its_type_alone(
    observed: Observed, chat: onrecord.Conversation
) -> None:
    chat.user("Hello")
    with pytest.raises(onrecord.VersionConflict):
        chat.user("Once more", expected_version=1)
    *_, failed = observed.spans()
    assert failed.status.status_code is StatusCode.ERROR
    assert failed.status.description is None
    assert failed.events == ()
    assert attributes(failed) == {
        "onrecord.conversation": "support/4711",
        "error.type": "VersionConflict",
    }


class Broken(SpanProcessor):
    """What a program set up, and that fails."""

    def on_start(self, span: ReadableSpan, parent_context: object = None) -> None:
        raise RuntimeError("the exporter is broken")

    def on_end(self, span: ReadableSpan) -> None:
        raise RuntimeError("the exporter is broken")


def test_a_broken_exporter_keeps_nothing_from_being_recorded(chat: onrecord.Conversation) -> None:
    with pytest.MonkeyPatch.context() as patch, observing(patch, Broken()):
        chat.user("Hello")
        assert len(chat.events()) == 2
    assert not trace.get_current_span().get_span_context().is_valid


def test_a_provider_that_cannot_be_loaded_is_asked_once(
    chat: onrecord.Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[None] = []

    def broken() -> None:
        asked.append(None)
        raise RuntimeError("no such provider")

    monkeypatch.setattr("onrecord.adapters.telemetry.providers._broken", set[str]())
    monkeypatch.setattr("onrecord.adapters.telemetry.providers._NAMED", True)
    monkeypatch.setattr("opentelemetry.trace.get_tracer_provider", broken)
    chat.user("Hello")
    chat.events()
    assert asked == [None]


@pytest.mark.parametrize("before", ["", "import opentelemetry.trace, opentelemetry.metrics; "])
def test_without_a_provider_nothing_of_spans_is_loaded(before: str) -> None:
    program = (
        f"{before}import sys, onrecord; {CALLS}"
        "assert 'onrecord.adapters.telemetry.spans' not in sys.modules;"
        f"assert ('opentelemetry' in sys.modules) is {bool(before)}"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_provider_that_comes_later_is_found(chat: onrecord.Conversation) -> None:
    chat.user("Before")
    with pytest.MonkeyPatch.context() as patch, observing(patch) as told:
        chat.user("Within")
        assert len(told.spans()) == 1
    chat.user("After")
    assert len(told.spans()) == 1
