"""Whatever a backend recorded, its heads are what the events come to, and every leaf holds."""

from uuid import UUID, uuid4

import pytest

from onrecord.adapters.verifying import Verified, verify_conversation, verify_log
from onrecord.domain import events
from onrecord.domain.content import Blob
from onrecord.domain.events import Event
from onrecord.domain.log import Backend, Recorded
from onrecord.domain.request_template import Template
from tests.factories import (
    TENANT,
    answer,
    appending,
    attachment,
    prompt,
    started,
    tool_call,
    tool_result,
)

SIDE = UUID(int=7)


def story(blob: Blob) -> list[Event]:
    """Each kind of effect that an event can have, more than once."""
    return [
        started(),
        events.InstructionsSet(content="Be brief."),
        events.ToolsDeclared(tools=()),
        prompt("one"),
        attachment(blob),
        tool_call("toolu_1"),
        tool_call("toolu_2"),
        events.ResponseCompleted(
            response=UUID(int=1), api="x", envelope={}, input_tokens=2**53 - 1, output_tokens=7
        ),
        tool_result("toolu_2"),
        prompt("in the round"),
        sent(),
        tool_result("toolu_1"),
        prompt("two"),
        answer(),
        events.ResponseInterrupted(response=UUID(int=2), api="x", reason="cut", input_tokens=9),
        events.InstructionsSet(content="Be kind."),
        events.MessageRecorded(role="user", content=(), line=SIDE),
        tool_call("toolu_3"),
        events.ConversationClosed(),
        events.AnnotationAdded(labels={"a": "b"}),
    ]


def sent() -> Event:
    template = Template(spans=(), sha256="", size=0)
    return events.RequestSent(api="x", endpoint="/", template=template)


def test_what_is_recorded_event_by_event_holds(backend: Backend) -> None:
    conversation = uuid4()
    told = story(backend.put_blob(TENANT, conversation, [b"report"]))
    for event in told:
        (verdict,) = backend.append([appending(conversation, event)])
        assert isinstance(verdict, Recorded)
    assert verify_log(backend, TENANT) == Verified(len(told), 0, 1, ())


def test_what_is_recorded_at_once_holds(backend: Backend) -> None:
    conversation, other = uuid4(), uuid4()
    told = story(backend.put_blob(TENANT, conversation, [b"report"]))
    backend.append([appending(conversation, *told), appending(other, *told[:4])])
    assert verify_conversation(backend, conversation) == Verified(len(told), 0, 1, ())
    assert verify_log(backend, TENANT) == Verified(len(told) + 4, 0, 2, ())


def test_what_was_forgotten_holds(backend: Backend) -> None:
    conversation = uuid4()
    told = story(backend.put_blob(TENANT, conversation, [b"report"]))
    backend.append([appending(conversation, *told)])
    backend.forget(conversation)
    assert verify_log(backend, TENANT) == Verified(len(told), len(told), 1, ())


@pytest.mark.parametrize("verb", ["get_blob", "head"])
def test_what_is_forgotten_meanwhile_holds(
    backend: Backend, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    conversation = uuid4()
    blob = backend.put_blob(TENANT, conversation, [b"report"])
    backend.append([appending(conversation, started(), attachment(blob), tool_call("toolu_1"))])
    asked = getattr(backend, verb)

    def forgetting(*given: object) -> object:
        backend.forget(conversation)
        return asked(*given)

    monkeypatch.setattr(backend, verb, forgetting)
    assert verify_log(backend, TENANT) == Verified(3, 0, 1, ())
