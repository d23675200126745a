"""What the main branch is made of once it went on from an earlier place."""

from __future__ import annotations

from uuid import UUID

import pytest
from uuid_utils.compat import uuid7

import onrecord
from onrecord.adapters.conversation.conversation import stream_of
from onrecord.adapters.streams.event_reading import events_for, in_force, since_request
from onrecord.adapters.streams.lineage import Lineages, lineage
from onrecord.domain import events
from onrecord.domain.content import Text
from onrecord.domain.events import Event
from onrecord.domain.log import Told
from onrecord.domain.request_template import Template
from onrecord.projections.history.windows import Window

API = "anthropic-messages"
TEMPLATE = Template(spans=(), sha256="", size=0)
SIDE, OTHER = uuid7(), uuid7()


def chat() -> onrecord.Conversation:
    return onrecord.connect("memory://").conversation("talk")


def user(text: str, line: UUID | None = None) -> Event:
    return events.MessageRecorded(role="user", content=(Text(text=text),), line=line)


def answer(text: str, line: UUID | None = None) -> Event:
    return events.MessageRecorded(role="assistant", content=(Text(text=text),), line=line)


def sent(line: UUID | None = None) -> Event:
    return events.RequestSent(api=API, endpoint="/v1/messages", template=TEMPLATE, line=line)


def exchange(number: str, line: UUID | None = None) -> tuple[Event, ...]:
    return user(f"prompt {number}", line), sent(line), answer(f"answer {number}", line)


def adopted(line: UUID | None, begun: int | None, after: int, as_of: int | None = None) -> Event:
    return events.LineAdopted(adopted=line, begun=begun, after=after, as_of=as_of)


def words(
    told: onrecord.Conversation, window: Window | None = None, at: int | None = None
) -> list[str]:
    """What the main branch says at a version, in order."""
    segments = stream_of(told).lineage(told.head().version if at is None else at)
    return [
        said(item) for item in events_for(stream_of(told).backend, segments, window) if said(item)
    ]


def said(item: Told) -> str:
    event = item.event()
    if not isinstance(event, events.MessageRecorded) or event.line is not None:
        return ""
    (block,) = event.content
    return block.text if isinstance(block, Text) else ""


@pytest.fixture
def edited() -> onrecord.Conversation:
    """Two exchanges (2-4, 5-7), an edit of the second prompt (8-10), and what went on from it."""
    told = chat()
    told.log.append(*exchange("1"), *exchange("2"), *exchange("2b", SIDE))
    told.log.append(adopted(SIDE, 8, 4), *exchange("3"))
    return told


def test_the_main_line_goes_on_with_what_a_side_line_said(edited: onrecord.Conversation) -> None:
    assert words(edited) == [
        *("prompt 1", "answer 1"),
        *("prompt 2b", "answer 2b"),
        *("prompt 3", "answer 3"),
    ]


def test_what_the_main_line_was_before_is_still_told(edited: onrecord.Conversation) -> None:
    assert words(edited, at=10) == ["prompt 1", "answer 1", "prompt 2", "answer 2"]


def test_the_next_edit_may_go_on_from_what_was_given_up(edited: onrecord.Conversation) -> None:
    edited.log.append(adopted(None, None, 7), user("prompt 4"))
    assert words(edited) == ["prompt 1", "answer 1", "prompt 2", "answer 2", "prompt 4"]


def test_an_edit_may_be_cut_within_a_line_that_was_adopted(edited: onrecord.Conversation) -> None:
    until = edited.head().version
    edited.log.append(adopted(None, None, 8, as_of=until), user("prompt 4"))
    assert words(edited) == ["prompt 1", "answer 1", "prompt 2b", "prompt 4"]


def test_a_line_of_a_line_is_adopted_behind_it() -> None:
    told = chat()
    told.log.append(*exchange("1"), *exchange("2", SIDE), *exchange("3", OTHER))
    told.log.append(adopted(SIDE, 5, 2), adopted(OTHER, 8, 5, as_of=11), user("prompt 4"))
    assert words(told) == ["prompt 1", "prompt 2", "prompt 3", "answer 3", "prompt 4"]


def test_what_is_in_force_is_what_the_main_line_set(edited: onrecord.Conversation) -> None:
    told = chat()
    told.instruct("one")
    told.log.append(*exchange("1"))
    told.instruct("two")
    told.log.append(*exchange("2"), *exchange("2b", SIDE), adopted(SIDE, 10, 5), user("prompt 3"))
    head = told.head()
    found = in_force(
        stream_of(told).backend, stream_of(told).lineage(head.version, head), "instructions"
    )
    assert found is not None
    assert found.event() == events.InstructionsSet(content="one")
    assert told.request(API)["system"] == "one"


def test_what_is_since_the_last_request_begins_in_the_line_that_was_adopted() -> None:
    told = chat()
    told.log.append(*exchange("1"), *exchange("2", SIDE), adopted(SIDE, 5, 2), user("prompt 3"))
    since = since_request(stream_of(told).backend, stream_of(told).lineage(told.head().version))
    assert [event.version for event in since] == [6, 7, 8, 9]


@pytest.mark.parametrize("pinned", [0, 1, 2])
@pytest.mark.parametrize("exchanges", [1, 2, 3, 4])
def test_a_window_counts_the_exchanges_of_the_main_line_as_it_is(
    exchanges: int, pinned: int
) -> None:
    told, straight = chat(), chat()
    told.log.append(*exchange("1"), *exchange("2"), *exchange("2b", SIDE), *exchange("3b", SIDE))
    told.log.append(adopted(SIDE, 8, 4), *exchange("4"), *exchange("5"))
    for number in ("1", "2b", "3b", "4", "5"):
        straight.log.append(*exchange(number))
    window = Window(exchanges=exchanges, step=1, pinned=pinned)
    assert words(told, window) == words(straight, window)


def test_a_fork_goes_on_from_the_main_line_as_it_stood(edited: onrecord.Conversation) -> None:
    fork = edited.fork("fork", at=10)
    fork.user("prompt 4")
    assert words(fork) == ["prompt 1", "answer 1", "prompt 2", "answer 2", "prompt 4"]
    late = edited.fork("late")
    late.user("prompt 4")
    assert words(late) == [*words(edited), "prompt 4"]


def test_settled_lineages_are_read_once(edited: onrecord.Conversation) -> None:
    lineages = Lineages(stream_of(edited).backend, edited.conversation_id)
    head = edited.head()
    assert lineages.at(head.version, head) == lineages.at(head.version, head)
    assert lineages.at(head.version) == lineage(
        stream_of(edited).backend, edited.conversation_id, head.version
    )


def test_a_thousand_edits_are_as_many_stretches() -> None:
    told = chat()
    told.log.append(user("prompt 0"))
    for number in range(1000):
        told.log.append(adopted(None, None, 2), user(f"prompt {number}"))
    assert words(told) == ["prompt 0", "prompt 999"]


def test_what_was_given_up_does_not_count_as_outside_of_the_window(
    edited: onrecord.Conversation,
) -> None:
    assert not edited.request(API).report.of("window")
