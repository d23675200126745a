"""A reader of a tail gets every event once, in order, as the log has it, whatever Redis does."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import islice
from uuid import UUID, uuid4

import pytest

import onrecord
from onrecord.adapters.redis import relay as relaying
from onrecord.adapters.redis.accelerator import Accelerator
from onrecord.adapters.redis.relay import Relay
from onrecord.adapters.redis.tails import mark_key
from onrecord.domain.log import RecordedEvent, Subscription
from tests.adapters.redis.followers import Followers, relayed
from tests.adapters.redis.stores import Reads
from tests.factories import OTHER_TENANT, TENANT, answer, appending, started
from tests.patience import PATIENCE, until

READERS = 50


# -- what a relay and a reader do ----------------------------------------------------------------


def test_an_event_comes_through_redis_as_the_log_has_it(
    followers: Followers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relaying, "LEASE_MILLISECONDS", 60_000)
    assert followers.relay.step()
    followers.say("one", "two")
    assert followers.relay.step()
    expected = followers.log()
    with followers.follow() as reader:
        reads = Reads(followers.backend, monkeypatch)
        assert list(islice(reader, 2)) == expected
    assert reads.times == 0
    assert [event.position for event in expected] == [2, 3]


def test_many_readers_of_one_tail_cost_the_log_no_read_each(
    own_log: Followers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relaying, "LEASE_MILLISECONDS", 60_000)

    def heard(reader: Subscription) -> list[int]:
        return [event.position for event in islice(reader, 20)]

    assert own_log.relay.step()
    readers = [own_log.follow() for _ in range(READERS)]
    own_log.say(*(f"said {number}" for number in range(20)))
    reads = Reads(own_log.backend, monkeypatch)
    assert own_log.relay.step()
    relayed_by = reads.times
    with ThreadPoolExecutor(READERS) as pool:
        seen = list(pool.map(heard, readers))
    assert relayed_by == 1
    assert reads.times == relayed_by
    assert seen == [list(range(2, 22))] * READERS


def test_readers_that_wait_hear_of_an_event_through_redis(
    own_log: Followers, monkeypatch: pytest.MonkeyPatch
) -> None:
    with relayed(own_log), ThreadPoolExecutor(4) as pool:
        until(own_log.is_relayed)
        following = [pool.submit(next, own_log.follow()) for _ in range(4)]
        own_log.say("one")
        assert {reader.result(timeout=PATIENCE).position for reader in following} == {2}


def test_a_tenants_reader_gets_that_tenants_events_alone(
    followers: Followers, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert followers.relay.step()
    followers.say("ours")
    other = uuid4()
    followers.backend.append([appending(other, started(), answer(), tenant=OTHER_TENANT)])
    followers.say("ours again")
    assert followers.relay.step()
    with followers.follow(tenant=TENANT) as reader:
        assert [event.conversation_id for event in islice(reader, 2)] == [
            followers.conversation
        ] * 2


def test_without_a_relay_readers_follow_the_log(followers: Followers) -> None:
    with followers.follow(0) as reader:
        assert next(reader).position == 1
        followers.say("one")
        assert next(reader).position == 2


def test_what_came_before_the_tail_is_taken_from_the_log(followers: Followers) -> None:
    followers.say("one", "two")
    assert followers.relay.step()
    followers.say("three")
    assert followers.relay.step()
    assert followers.ids() == [4]
    with followers.follow(0) as reader:
        assert [event.position for event in islice(reader, 4)] == [1, 2, 3, 4]


def test_a_reader_that_is_behind_when_a_relay_begins_does_not_wait_for_it(
    own_log: Followers,
) -> None:
    with own_log.follow() as reader:
        own_log.say("one")
        assert own_log.relay.step()
        assert own_log.ids() == []
        assert next(reader).position == 2


def test_a_long_tail_is_cut_and_readers_far_behind_read_the_log(
    own_log: Followers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relaying, "LENGTH", 10)
    assert own_log.relay.step()
    for number in range(30):
        own_log.say(*(f"said {number}, {count}" for count in range(20)))
    assert own_log.relay.step()
    assert own_log.ids() == list(range(592, 602))
    with own_log.follow() as reader:
        assert [event.position for event in islice(reader, 600)] == list(range(2, 602))


def test_a_large_event_is_taken_from_the_log(
    own_log: Followers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relaying, "LARGEST", 600)
    assert own_log.relay.step()
    own_log.say("small", "".join(chr(32 + number * 7919 % 90) for number in range(2_000)), "small")
    assert own_log.relay.step()
    with own_log.follow() as reader:
        assert list(islice(reader, 3)) == own_log.log()


def test_a_cursor_of_another_log_is_stale(own_log: Followers) -> None:
    with pytest.raises(onrecord.StaleCursor):
        Accelerator(own_log.beside, own_log.backend).subscribe(
            replace(own_log.end, incarnation=uuid4()), None
        )


def test_a_stopped_reader_ends_though_it_waits_for_redis(own_log: Followers) -> None:
    with relayed(own_log), ThreadPoolExecutor(1) as pool:
        reader = own_log.follow()
        rest = pool.submit(list[RecordedEvent], reader)
        reader.stop()
        assert rest.result(timeout=PATIENCE) == []


@pytest.mark.parametrize("close", ["backend", "beside"])
def test_closing_the_store_ends_its_readers(own_log: Followers, close: str) -> None:
    assert own_log.relay.step()
    reader = own_log.follow()
    with ThreadPoolExecutor(1) as pool:
        rest = pool.submit(list[RecordedEvent], reader)
        getattr(own_log, close).close()
        assert rest.result(timeout=PATIENCE) == []


def test_no_position_is_missed_or_reordered_while_many_write(followers: Followers) -> None:
    def write(conversation: UUID) -> None:
        for _ in range(10):
            followers.backend.append([appending(conversation, answer(), answer())])

    def follow() -> list[RecordedEvent]:
        with followers.follow() as reader:
            return list(islice(reader, 80))

    with relayed(followers), ThreadPoolExecutor(8) as pool:
        following = [pool.submit(follow) for _ in range(4)]
        list(pool.map(write, [uuid4() for _ in range(4)]))
        seen = [reader.result(timeout=PATIENCE) for reader in following]
    assert all(events == followers.log() for events in seen)


# -- what was erased -------------------------------------------------------------------------------


def test_what_is_forgotten_leaves_the_tail_and_reaches_readers_erased(
    followers: Followers,
) -> None:
    assert followers.relay.step()
    followers.say("a secret")
    assert followers.relay.step()
    assert followers.ids() == [2]
    followers.backend.forget(followers.conversation)
    Accelerator(followers.beside, followers.backend).forget(followers.conversation)
    assert followers.ids() == []
    with followers.follow() as reader:
        assert next(reader).body is None


def test_without_a_relay_nobody_reads_in_the_tail_what_may_be_forgotten(
    own_log: Followers,
) -> None:
    assert own_log.relay.step()
    own_log.say("a secret")
    assert own_log.relay.step()
    own_log.beside.ask(("DEL", mark_key(own_log.end.incarnation)))
    own_log.backend.forget(own_log.conversation)
    assert own_log.ids() == [2]
    with own_log.follow() as reader:
        assert next(reader).body is None


def test_what_a_process_without_redis_forgets_leaves_the_tail_by_the_relay(
    followers: Followers,
) -> None:
    assert followers.relay.step()
    followers.say("a secret")
    assert followers.relay.step()
    followers.backend.forget(followers.conversation)
    assert followers.relay.step()
    assert followers.ids() == []
    with followers.follow() as reader:
        assert next(reader).body is None


def test_what_was_forgotten_while_nobody_relayed_leaves_the_tail_when_a_relay_begins(
    own_log: Followers,
) -> None:
    assert own_log.relay.step()
    own_log.say("a secret")
    assert own_log.relay.step()
    own_log.backend.forget(own_log.conversation)
    own_log.lose_lease()
    assert Relay(own_log.beside, own_log.backend).step()
    assert own_log.ids() == []


def test_a_relay_that_lost_its_lease_takes_back_what_it_added_last(own_log: Followers) -> None:
    assert own_log.relay.step()
    own_log.say("a secret")
    assert own_log.relay.step()
    own_log.backend.forget(own_log.conversation)
    own_log.lose_lease(to="another")
    assert not own_log.relay.step()
    assert own_log.ids() == []
