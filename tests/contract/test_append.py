"""append: all of a request or nothing, a verdict for each, nothing twice."""

from functools import reduce
from uuid import uuid4

import pytest
from uuid_utils.compat import uuid7

from onrecord.domain.errors import StorageUnavailable
from onrecord.domain.head import MOST_TOKENS, Effect, Head, advance
from onrecord.domain.log import Backend, Conflict, Duplicate, Forgotten, Mismatch, Recorded
from tests.factories import answer, appending, drafted, prompt, raw_event, started, tool_result
from tests.ledger import verified_log


def test_events_get_dense_versions_and_positions(backend: Backend) -> None:
    first, second = uuid4(), uuid4()
    verdicts = backend.append(
        [
            appending(first, started(), prompt()),
            appending(second, started("other")),
            appending(first, answer()),
        ]
    )
    assert verdicts == [Recorded(1, 2, 2), Recorded(1, 1, 3), Recorded(3, 3, 4)]
    events = verified_log(backend)
    assert [(event.conversation_id, event.version) for event in events] == [
        (first, 1),
        (first, 2),
        (second, 1),
        (first, 3),
    ]


def test_what_was_given_is_kept_byte_for_byte(backend: Backend) -> None:
    conversation = uuid4()
    given = drafted(prompt("naïve \N{SNOWMAN}"), conversation)
    backend.append([appending(conversation, given)])
    (event,) = backend.read(conversation)
    assert event.event_id == given.event_id
    assert (event.type, event.schema_version) == (given.type, given.schema_version)
    assert (event.header, event.salt, event.body) == (given.header, given.salt, given.body)
    assert event.event() == prompt("naïve \N{SNOWMAN}")


def test_a_body_may_be_large_and_of_any_bytes(backend: Backend) -> None:
    conversation = uuid4()
    body = bytes(range(256)) * 16_384
    backend.append([appending(conversation, raw_event(body=body))])
    (event,) = backend.read(conversation)
    assert event.body == body


def test_no_requests_get_no_verdicts(backend: Backend) -> None:
    assert backend.append([]) == []


def test_a_request_without_events_changes_nothing(backend: Backend) -> None:
    assert backend.append([appending(uuid4())]) == [Duplicate(0, 0)]
    assert verified_log(backend) == []


def test_an_append_at_the_expected_version_is_recorded(backend: Backend) -> None:
    conversation = uuid4()
    assert backend.append([appending(conversation, started(), expected_version=0)]) == [
        Recorded(1, 1, 1)
    ]
    assert backend.append([appending(conversation, prompt(), expected_version=1)]) == [
        Recorded(2, 2, 2)
    ]


@pytest.mark.parametrize("expected", [0, 1, 3])
def test_an_append_at_another_version_is_a_conflict(backend: Backend, expected: int) -> None:
    conversation = uuid4()
    backend.append([appending(conversation, started(), prompt())])
    late = appending(conversation, answer(), expected_version=expected)
    assert backend.append([late]) == [Conflict(2)]
    assert backend.head(conversation).version == 2


def test_a_conflict_costs_the_rest_of_the_batch_nothing(backend: Backend) -> None:
    first, second = uuid4(), uuid4()
    verdicts = backend.append(
        [
            appending(first, started(), expected_version=0),
            appending(second, started(), expected_version=7),
            appending(first, prompt(), expected_version=0),
            appending(first, prompt(), answer(), expected_version=1),
        ]
    )
    assert verdicts == [Recorded(1, 1, 1), Conflict(0), Conflict(1), Recorded(2, 3, 3)]
    assert len(verified_log(backend)) == 3
    assert list(backend.read(second)) == []


def test_an_event_recorded_twice_changes_nothing(backend: Backend) -> None:
    conversation = uuid4()
    request = appending(conversation, started(), prompt())
    backend.append([request])
    assert backend.append([request]) == [Duplicate(1, 2)]
    assert len(verified_log(backend)) == 2


def test_a_retry_is_a_duplicate_whatever_version_it_expected(backend: Backend) -> None:
    conversation = uuid4()
    request = appending(conversation, started(), expected_version=0)
    backend.append([request, appending(conversation, prompt())])
    assert backend.append([request]) == [Duplicate(1, 1)]


def test_a_retry_may_bear_another_time_and_another_salt(backend: Backend) -> None:
    conversation, event_id = uuid4(), uuid7()
    first = drafted(prompt(), conversation, event_id=event_id)
    again = drafted(prompt(), conversation, event_id=event_id, occurred_at=1)
    assert first.salt != again.salt
    backend.append([appending(conversation, first)])
    assert backend.append([appending(conversation, again)]) == [Duplicate(1, 1)]
    (event,) = backend.read(conversation)
    assert event.header == first.header


def test_duplicates_name_the_lowest_and_the_highest_version(backend: Backend) -> None:
    conversation = uuid4()
    one, two, three = (drafted(answer(str(n)), conversation) for n in range(3))
    backend.append([appending(conversation, one, two, three)])
    assert backend.append([appending(conversation, three, one)]) == [Duplicate(1, 3)]
    assert backend.append([appending(conversation, two)]) == [Duplicate(2, 2)]


def test_an_id_that_stands_for_another_body_is_a_mismatch(backend: Backend) -> None:
    conversation = uuid4()
    first, second = (drafted(answer(text), conversation) for text in "ab")
    backend.append([appending(conversation, first, second)])
    changed = drafted(answer("c"), conversation, event_id=second.event_id)
    assert backend.append([appending(conversation, first, changed)]) == [Mismatch(1)]
    assert len(verified_log(backend)) == 2


def test_an_id_that_stands_for_another_type_is_a_mismatch(backend: Backend) -> None:
    conversation = uuid4()
    first = drafted(started(), conversation)
    backend.append([appending(conversation, first)])
    other = raw_event(event_id=first.event_id, body=first.body)
    assert backend.append([appending(conversation, other)]) == [Mismatch(0)]


def test_an_id_of_another_conversation_is_a_mismatch(backend: Backend) -> None:
    first, second = uuid4(), uuid4()
    event = raw_event()
    backend.append([appending(first, event)])
    assert backend.append([appending(second, event)]) == [Mismatch(0)]
    assert backend.head(second).version == 0


def test_the_same_id_in_two_requests_of_a_batch_stands_for_the_first(backend: Backend) -> None:
    first, second, third = uuid4(), uuid4(), uuid4()
    event = raw_event()
    verdicts = backend.append(
        [
            appending(first, event),
            appending(second, event),
            appending(first, event),
            appending(third, answer(), event),
            appending(second, answer()),
        ]
    )
    assert verdicts == [
        Recorded(1, 1, 1),
        Mismatch(0),
        Duplicate(1, 1),
        Mismatch(1),
        Recorded(1, 1, 2),
    ]
    assert len(verified_log(backend)) == 2


def test_the_requests_of_a_batch_are_recorded_in_their_order(backend: Backend) -> None:
    chats = [uuid4() for _ in range(4)]
    order = [0, 0, 1, 0, 2, 2, 1, 3, 1, 0]
    verdicts = backend.append([appending(chats[chat], answer(), prompt()) for chat in order])
    positions = [verdict.position for verdict in verdicts if isinstance(verdict, Recorded)]
    assert positions == [2 * place + 2 for place in range(len(order))]
    told = [event.conversation_id for event in verified_log(backend)]
    assert told == [chats[chat] for chat in order for _ in range(2)]


def test_a_batch_of_many_tenants_is_answered_in_its_order(backend: Backend) -> None:
    tenants = [uuid4() for _ in range(5)]
    order = [0, 1, 2, 3, 4, 1, 0, 3, 0, 2, 4, 1]
    chats = {tenant: uuid4() for tenant in tenants}
    verdicts = backend.append(
        [appending(chats[tenants[at]], answer(), tenant=tenants[at]) for at in order]
    )
    versions = [order[: place + 1].count(at) for place, at in enumerate(order)]
    told = [verdict.last for verdict in verdicts if isinstance(verdict, Recorded)]
    assert told == versions


def test_each_request_of_a_batch_is_told_what_became_of_it_alone(backend: Backend) -> None:
    told, forgotten, moved, named = (uuid4() for _ in range(4))
    said = drafted(answer(), told)
    backend.append([appending(told, said), appending(forgotten, started())])
    backend.append([appending(moved, started()), appending(named, tool_result("c1"))])
    backend.forget(forgotten)
    verdicts = backend.append(
        [
            appending(uuid4(), answer()),
            appending(told, said, expected_version=0),
            appending(forgotten, answer()),
            appending(moved, answer(), expected_version=0),
            appending(uuid4()),
            appending(named, tool_result("c1", "another")),
            appending(uuid4(), answer(), answer()),
        ]
    )
    assert verdicts == [
        Recorded(1, 1, 5),
        Duplicate(1, 1),
        Forgotten(),
        Conflict(1),
        Duplicate(0, 0),
        Mismatch(0),
        Recorded(1, 2, 7),
    ]
    assert len(verified_log(backend)) == 7


def test_a_batch_moves_each_head_by_its_own_events(backend: Backend) -> None:
    effects = {
        uuid4(): [Effect(prompts=True), Effect(opens_call="a"), Effect(opens_call="b")],
        uuid4(): [Effect(opens_call="b"), Effect(prompts=True), Effect(closes_call="b")],
        uuid4(): [Effect(input_tokens=MOST_TOKENS), Effect(input_tokens=1, output_tokens=2)],
        uuid4(): [Effect(points="request", gives_up=True), Effect(closes=True)],
        uuid4(): [Effect()],
    }
    for _ in range(2):
        backend.append(
            [
                appending(chat, *[raw_event(effect=effect) for effect in own])
                for chat, own in effects.items()
            ]
        )
    for chat, own in effects.items():
        assert backend.head(chat) == reduce(advance, own * 2, Head())


def test_a_request_of_which_only_a_part_is_known_is_a_mismatch(backend: Backend) -> None:
    conversation = uuid4()
    known = drafted(answer("known"), conversation)
    backend.append([appending(conversation, known)])
    partly = appending(conversation, answer("new"), known)
    assert backend.append([partly]) == [Mismatch(1)]
    assert backend.head(conversation).version == 1


def test_the_same_id_twice_in_one_request_is_a_mismatch(backend: Backend) -> None:
    conversation = uuid4()
    event = drafted(answer(), conversation)
    assert backend.append([appending(conversation, event, event)]) == [Mismatch(1)]
    assert verified_log(backend) == []


def test_a_message_id_is_recorded_once_under_any_event_id(backend: Backend) -> None:
    conversation = uuid4()
    message = prompt("hello", message_id="m1")
    assert backend.append([appending(conversation, message)]) == [Recorded(1, 1, 1)]
    assert backend.append([appending(conversation, message)]) == [Duplicate(1, 1)]
    changed = prompt("good-bye", message_id="m1")
    assert backend.append([appending(conversation, changed)]) == [Mismatch(0)]
    assert len(verified_log(backend)) == 1


def test_a_result_recorded_twice_changes_nothing(backend: Backend) -> None:
    conversation = uuid4()
    backend.append([appending(conversation, tool_result("c1"))])
    assert backend.append([appending(conversation, tool_result("c1"))]) == [Duplicate(1, 1)]
    other = tool_result("c1", "something else")
    assert backend.append([appending(conversation, other)]) == [Mismatch(0)]


def test_a_name_stands_once_in_each_conversation(backend: Backend) -> None:
    first, second = uuid4(), uuid4()
    assert backend.append(
        [appending(first, tool_result("c1")), appending(second, tool_result("c1"))]
    ) == [Recorded(1, 1, 1), Recorded(1, 1, 2)]


def test_the_same_name_twice_in_one_request_is_a_mismatch(backend: Backend) -> None:
    conversation = uuid4()
    twice = appending(conversation, answer(), tool_result("c1"), tool_result("c1"))
    assert backend.append([twice]) == [Mismatch(2)]
    assert verified_log(backend) == []


def test_later_requests_of_a_batch_see_earlier_ones(backend: Backend) -> None:
    conversation = uuid4()
    event = drafted(answer("a"), conversation)
    changed = drafted(answer("b"), conversation, event_id=event.event_id)
    verdicts = backend.append(
        [
            appending(conversation, event, expected_version=0),
            appending(conversation, event),
            appending(conversation, changed),
            appending(conversation, answer(), expected_version=0),
            appending(conversation, tool_result("c1"), expected_version=1),
            appending(conversation, tool_result("c1"), expected_version=1),
        ]
    )
    assert verdicts == [
        Recorded(1, 1, 1),
        Duplicate(1, 1),
        Mismatch(0),
        Conflict(1),
        Recorded(2, 2, 2),
        Duplicate(2, 2),
    ]


def test_recorded_events_never_change_as_others_follow(backend: Backend) -> None:
    conversation = uuid4()
    backend.append([appending(conversation, started(), prompt())])
    before = list(backend.read(conversation))
    backend.append([appending(conversation, answer()), appending(uuid4(), started())])
    assert list(backend.read(conversation, until=2)) == before


def test_a_closed_backend_says_so(backend: Backend) -> None:
    backend.close()
    with pytest.raises(StorageUnavailable, match="closed"):
        backend.append([appending(uuid4(), started())])
    with pytest.raises(StorageUnavailable, match="closed"):
        backend.head(uuid4())
    with pytest.raises(StorageUnavailable, match="closed"):
        backend.cursors()
