"""read, read_log, head, latest, exchange_start: what was said, from any side."""

from dataclasses import replace
from uuid import uuid4

import pytest

from onrecord.domain.errors import StaleCursor
from onrecord.domain.head import Effect, Head
from onrecord.domain.log import Backend, Cursor
from tests.factories import (
    answer,
    appending,
    prompt,
    raw_event,
    started,
    tool_call,
    tool_result,
)

POINTS_AT_INSTRUCTIONS = Effect(points="instructions")
POINTS_AT_TOOLS = Effect(points="tools")


def beginning(backend: Backend) -> Cursor:
    """The beginning of the shard that has the most."""
    return replace(max(backend.cursors(), key=lambda cursor: cursor.position), position=0)


@pytest.mark.parametrize(
    ("after", "until", "limit", "versions"),
    [
        (0, None, None, [1, 2, 3, 4, 5]),
        (2, None, None, [3, 4, 5]),
        (0, 3, None, [1, 2, 3]),
        (1, 4, None, [2, 3, 4]),
        (0, None, 2, [1, 2]),
        (1, 4, 2, [2, 3]),
        (1, 4, 99, [2, 3, 4]),
        (5, None, None, []),
        (9, None, None, []),
        (3, 2, None, []),
        (0, 0, None, []),
        (0, None, 0, []),
    ],
)
def test_a_part_of_a_conversation_is_read_in_order(
    backend: Backend, after: int, until: int | None, limit: int | None, versions: list[int]
) -> None:
    conversation = uuid4()
    backend.append([appending(conversation, *(answer(str(n)) for n in range(5)))])
    found = backend.read(conversation, after=after, until=until, limit=limit)
    assert [event.version for event in found] == versions


def test_a_long_conversation_is_read_whole(backend: Backend) -> None:
    conversation, other = uuid4(), uuid4()
    for _ in range(3):
        backend.append(
            [
                appending(conversation, *(raw_event() for _ in range(400))),
                appending(other, raw_event()),
            ]
        )
    assert [event.version for event in backend.read(conversation)] == list(range(1, 1201))


def test_the_first_events_of_several_conversations_come_at_one_go(backend: Backend) -> None:
    conversations = [uuid4() for _ in range(3)]
    for conversation in conversations:
        backend.append([appending(conversation, started(), prompt(), answer())])
    backend.forget(conversations[0])
    found = backend.first_events([uuid4(), *conversations[:2]])
    assert {event.conversation_id: event for event in found} == {
        conversation: next(backend.read(conversation, limit=1))
        for conversation in conversations[:2]
    }
    assert backend.first_events([]) == backend.first_events([uuid4()]) == []


def test_events_may_be_appended_while_a_conversation_is_read(backend: Backend) -> None:
    conversation = uuid4()
    backend.append([appending(conversation, answer("a"), answer("b"))])
    reading = backend.read(conversation)
    assert next(reading).version == 1
    backend.append([appending(conversation, answer("c"))])
    assert [event.version for event in reading][:1] == [2]


def test_a_conversation_that_has_not_begun_is_empty(backend: Backend) -> None:
    unknown = uuid4()
    assert list(backend.read(unknown)) == []
    assert backend.head(unknown) == Head()
    assert backend.pointed(unknown, "instructions", 9, 1) == []
    assert backend.exchange_start(unknown, 1) == 0


def test_the_log_is_read_after_a_cursor(backend: Backend) -> None:
    conversation = uuid4()
    backend.append([appending(conversation, *(answer(str(n)) for n in range(5)))])
    start = beginning(backend)
    assert [event.position for event in backend.read_log(start, 99)] == [1, 2, 3, 4, 5]
    assert [event.position for event in backend.read_log(start, 2)] == [1, 2]
    assert [event.position for event in backend.read_log(replace(start, position=3), 99)] == [4, 5]
    assert backend.read_log(replace(start, position=5), 99) == []


def test_the_cursor_of_a_shard_is_its_last_position(backend: Backend) -> None:
    assert all(cursor.position == 0 for cursor in backend.cursors())
    backend.append([appending(uuid4(), started(), prompt())])
    assert max(cursor.position for cursor in backend.cursors()) == 2
    shards = [cursor.shard for cursor in backend.cursors()]
    assert sorted(set(shards)) == sorted(shards)
    assert len({cursor.incarnation for cursor in backend.cursors()}) == 1


def test_a_cursor_of_another_incarnation_is_stale(backend: Backend) -> None:
    stale = replace(beginning(backend), incarnation=uuid4())
    with pytest.raises(StaleCursor, match="from its beginning"):
        backend.read_log(stale, 1)
    with pytest.raises(StaleCursor), backend.subscribe(stale) as subscription:
        next(subscription)


def test_a_cursor_beyond_the_last_position_is_stale(backend: Backend) -> None:
    beyond = replace(beginning(backend), position=1)
    with pytest.raises(StaleCursor):
        backend.read_log(beyond, 1)


def test_the_head_follows_calls_and_results(backend: Backend) -> None:
    conversation = uuid4()
    backend.append([appending(conversation, started(), prompt(), tool_call("a"), tool_call("b"))])
    assert dict(backend.head(conversation).open_calls) == {"a": 3, "b": 4}
    backend.append([appending(conversation, tool_result("a"), prompt("and?"))])
    head = backend.head(conversation)
    assert (head.version, head.exchange, dict(head.open_calls)) == (6, 1, {"b": 4})
    backend.append([appending(conversation, tool_result("b"), prompt("well?"))])
    assert backend.head(conversation) == Head(version=8, exchange=2)


def test_events_know_their_exchange(backend: Backend) -> None:
    conversation = uuid4()
    backend.append([appending(conversation, started(), prompt(), answer(), prompt(), answer())])
    assert [event.exchange for event in backend.read(conversation)] == [0, 1, 1, 2, 2]
    assert [backend.exchange_start(conversation, n) for n in range(4)] == [0, 2, 4, 0]


def test_an_exchange_starts_at_its_first_prompt_not_at_one_amid_a_round(backend: Backend) -> None:
    conversation = uuid4()
    backend.append([appending(conversation, prompt(), tool_call("a"), prompt(), tool_result("a"))])
    assert backend.exchange_start(conversation, 1) == 1
    assert backend.exchange_start(conversation, 2) == 0


@pytest.mark.parametrize(
    ("exchange", "until", "versions"),
    [
        (0, None, [1, 2, 3, 4, 5, 6]),
        (0, 3, [1, 2, 3]),
        (1, None, [2, 3, 4, 5, 6]),
        (2, None, [4, 5, 6]),
        (2, 5, [4, 5]),
        (2, 3, []),
        (3, None, [6]),
        (4, None, []),
    ],
)
def test_a_fold_is_told_events_from_a_prompt_on(
    backend: Backend, exchange: int, until: int | None, versions: list[int]
) -> None:
    conversation, other = uuid4(), uuid4()
    said = (started(), prompt(), answer(), prompt(), answer(), prompt())
    backend.append([appending(other, *said), appending(conversation, *said)])
    told = list(backend.tell(conversation, exchange=exchange, until=until))
    assert [event.version for event in told] == versions
    recorded = [event for event in backend.read(conversation) if event.version in versions]
    assert told == [event.told() for event in recorded]
    assert [event.event() for event in told] == [event.event() for event in recorded]


def test_a_fold_is_told_a_long_conversation_whole(backend: Backend) -> None:
    conversation = uuid4()
    backend.append([appending(conversation, prompt(), *(raw_event() for _ in range(300)))])
    backend.append([appending(conversation, prompt(), *(raw_event() for _ in range(600)))])
    assert [event.version for event in backend.tell(conversation)] == list(range(1, 903))
    from_second = backend.tell(conversation, exchange=2)
    assert [event.version for event in from_second] == list(range(302, 903))


def test_a_fold_is_told_that_an_event_was_erased(backend: Backend) -> None:
    conversation = uuid4()
    backend.append([appending(conversation, prompt())])
    backend.forget(conversation)
    assert [event.body for event in backend.tell(conversation)] == [None]


def test_a_pointer_finds_what_was_in_force_at_a_version(backend: Backend) -> None:
    conversation, other = uuid4(), uuid4()
    pointing = raw_event(effect=POINTS_AT_INSTRUCTIONS)
    backend.append([appending(other, raw_event(effect=POINTS_AT_INSTRUCTIONS))])
    backend.append(
        [
            appending(
                conversation,
                raw_event(),
                pointing,
                raw_event(effect=POINTS_AT_TOOLS),
                raw_event(effect=POINTS_AT_INSTRUCTIONS),
            )
        ]
    )
    found = {
        until: backend.pointed(conversation, "instructions", until, 1)
        for until in (0, 1, 2, 3, 4, 9, 2**62)
    }
    versions = {until: [event.version for event in events] for until, events in found.items()}
    assert versions == {0: [], 1: [], 2: [2], 3: [2], 4: [4], 9: [4], 2**62: [4]}
    assert found[2][0].event_id == pointing.event_id
    assert backend.pointed(conversation, "request", 2**62, 1) == []


def test_the_last_events_that_point_come_last_one_first(backend: Backend) -> None:
    conversation = uuid4()
    for effect in (POINTS_AT_TOOLS, Effect(), POINTS_AT_TOOLS, POINTS_AT_TOOLS):
        backend.append([appending(conversation, raw_event(effect=effect))])

    def versions(until: int, limit: int) -> list[int]:
        found = backend.pointed(conversation, "tools", until, limit)
        return [event.version for event in found]

    assert versions(9, 9) == [4, 3, 1]
    assert versions(9, 2) == [4, 3]
    assert versions(3, 9) == [3, 1]
    assert versions(0, 9) == []
    assert backend.pointed(conversation, "request", 9, 9) == []
    assert backend.pointed(uuid4(), "tools", 9, 9) == []


def test_cursors_are_of_the_incarnation_that_the_log_has(backend: Backend) -> None:
    assert {cursor.incarnation for cursor in backend.cursors()} == {backend.incarnation()}


def test_one_read_tells_where_a_conversation_stands_and_what_came_since(backend: Backend) -> None:
    conversation, other = uuid4(), uuid4()
    backend.append([appending(conversation, started(), prompt(), tool_call("call_1"))])
    backend.append([appending(other, started(), prompt())])
    found = backend.new_since(conversation, 1, 10)
    assert found.head == backend.head(conversation)
    assert found.head.open_calls == {"call_1": 3}
    assert found.events == list(backend.read(conversation, after=1))
    assert found.incarnation == backend.incarnation()
    assert found.erasures == backend.erasures()


@pytest.mark.parametrize(("after", "limit", "versions"), [(3, 9, []), (0, 2, [1, 2]), (9, 9, [])])
def test_one_read_tells_no_more_than_came(
    backend: Backend, after: int, limit: int, versions: list[int]
) -> None:
    conversation = uuid4()
    backend.append([appending(conversation, *(answer(str(n)) for n in range(3)))])
    found = backend.new_since(conversation, after, limit)
    assert [event.version for event in found.events] == versions


def test_of_what_has_not_begun_one_read_tells_how_often_was_erased(backend: Backend) -> None:
    conversation = uuid4()
    backend.append([appending(conversation, started(), prompt())])
    before = backend.new_since(uuid4(), 0, 10)
    assert (before.head, before.events, before.erasures) == (Head(), [], backend.erasures())
    backend.forget(conversation)
    assert backend.new_since(uuid4(), 0, 10).erasures == before.erasures + 1
    assert [event.body for event in backend.new_since(conversation, 0, 10).events] == [None, None]
