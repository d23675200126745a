"""What a worker does next: who is abreast goes together, who is behind catches up by itself."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from onrecord.projections.views.audit import AUDIT
from onrecord.projections.views.planning import (
    LEAST_SHARE,
    LONGEST_WAIT,
    SHORTEST_WAIT,
    Batch,
    Part,
    Room,
    Segment,
    fair_share,
    foremost,
    surplus,
    thread_of,
    trailing,
    wait_after,
)
from onrecord.projections.views.view import Feed

LIVE, NEXT = Feed(AUDIT, 1), Feed(AUDIT, 2)
A, B, C = Part(0, 0), Part(0, 1), Part(1, 0)

FEEDS = (LIVE, NEXT, Feed(replace(AUDIT, name="other"), 1))
PARTS = [Part(shard, part) for shard in range(3) for part in range(3)]


def test_builds_that_are_abreast_are_fed_together_in_all_parts() -> None:
    positions = {A: {LIVE: 5, NEXT: 5}, B: {LIVE: 5, NEXT: 5}}
    assert foremost(positions, {0: 9}, 100) == Batch(
        (LIVE, NEXT), (Segment(A, 5, 9), Segment(B, 5, 9))
    )
    assert trailing(positions, 100) is None


def test_a_build_that_is_behind_does_not_hold_up_the_others() -> None:
    positions = {A: {LIVE: 50, NEXT: 5}}
    assert foremost(positions, {0: 60}, 100) == Batch((LIVE,), (Segment(A, 50, 60),))


def test_a_build_that_is_behind_comes_up_to_the_others_and_no_further() -> None:
    positions = {A: {LIVE: 50, NEXT: 5}, B: {LIVE: 50, NEXT: 5}}
    assert trailing(positions, 100) == Batch((NEXT,), (Segment(A, 5, 50), Segment(B, 5, 50)))
    assert trailing(positions, 20) == Batch((NEXT,), (Segment(A, 5, 25), Segment(B, 5, 25)))


def test_a_part_where_others_are_foremost_does_not_wait_for_ever() -> None:
    positions = {A: {LIVE: 50, NEXT: 50}, B: {LIVE: 50, NEXT: 50}, C: {LIVE: 5, NEXT: 1}}
    batch = foremost(positions, {0: 60, 1: 60}, 100)
    assert batch == Batch((LIVE,), (Segment(C, 5, 60),))


def test_a_build_that_is_little_behind_does_not_wait_for_one_that_is_far() -> None:
    far, little = {LIVE: 500, NEXT: 0}, {LIVE: 500, FEEDS[2]: 498}
    assert trailing({A: far, B: far, C: little}, 100) == Batch((FEEDS[2],), (Segment(C, 498, 500),))


def test_where_nothing_is_new_there_is_nothing_to_do() -> None:
    assert foremost({A: {LIVE: 9}, C: {LIVE: 4}}, {0: 9, 1: 4}, 100) is None
    assert foremost({A: {}}, {0: 9}, 100) is None
    assert trailing({A: {}}, 100) is None


def test_each_shard_has_its_share_of_a_batch() -> None:
    batch = foremost({A: {LIVE: 0}, C: {LIVE: 0}}, {0: 500, 1: 3}, 100)
    assert batch is not None
    assert batch.segments == (Segment(A, 0, 50), Segment(C, 0, 3))


def test_a_batch_takes_the_types_that_any_of_its_views_takes() -> None:
    some, other = (
        Feed(replace(AUDIT, types=frozenset({name})), 1) for name in ("a.happened", "b.happened")
    )
    assert Batch((some, other), ()).types() == {"a.happened", "b.happened"}
    assert Batch((some, LIVE), ()).types() == frozenset()


@given(
    st.dictionaries(
        st.sampled_from(PARTS),
        st.dictionaries(st.sampled_from(FEEDS), st.integers(0, 300)),
    ),
    st.integers(0, 300),
    st.integers(1, 500),
)
def test_turn_by_turn_every_build_folds_every_position_once(
    given_positions: dict[Part, dict[Feed, int]], end: int, room: int
) -> None:
    ends = dict.fromkeys(range(3), 300 + end)
    positions = {place: dict(of) for place, of in given_positions.items()}
    while batches := [foremost(positions, ends, room), trailing(positions, room)]:
        done = [batch for batch in batches if batch is not None]
        if not done:
            break
        batch = done[-1]
        assert room >= LEAST_SHARE or len({at.place.shard for at in batch.segments}) == 1
        for at in batch.segments:
            assert at.after < at.until <= ends[at.place.shard]
            assert at.until - at.after <= room
            for feed in batch.feeds:
                assert positions[at.place][feed] == at.after, "it was folded, or left out"
                positions[at.place][feed] = at.until
    assert all(at == 300 + end for of in positions.values() for at in of.values())


def test_who_finds_nothing_looks_less_often_and_never_seldom() -> None:
    waits = [wait_after(idle) for idle in range(1000)]
    assert waits[0] == SHORTEST_WAIT
    assert waits == sorted(waits)
    assert waits[-1] == LONGEST_WAIT


def test_the_room_of_a_batch_goes_by_the_size_of_events_and_by_time() -> None:
    room = Room()
    for _ in range(20):
        room.took(room.positions, room.positions * 1_000, 0.01)
    plenty = room.positions
    room.took(plenty, plenty * 1_000_000, 0.01)
    few = room.positions
    assert few * 1_000_000 <= 8 * 2**20
    room.took(few, few * 100_000_000, 0.01)
    assert room.positions == 1, "one that is huge goes alone"
    for _ in range(10):
        room.took(room.positions, 0, 0.0)
    more = room.positions
    assert more > 64
    room.took(more, 0, 60.0)
    assert 1 < room.positions < more


def test_what_the_server_gave_up_is_tried_again_with_less() -> None:
    room = Room()
    before = room.positions
    room.failed()
    assert room.positions < before
    for _ in range(20):
        room.failed()
    assert room.positions == 1


@given(st.integers(1, 64), st.integers(1, 10))
def test_shares_cover_all_parts_and_are_even(parts: int, workers: int) -> None:
    share = fair_share(parts, workers)
    assert share * workers >= parts
    assert (share - 1) * workers < parts


def test_what_is_given_up_leaves_every_shard_with_both() -> None:
    held = [Part(shard, part) for shard in range(8) for part in range(4)]
    given_up = surplus(held, 16)
    assert {place.shard for place in given_up} == set(range(8))
    assert {place.shard for place in set(held) - set(given_up)} == set(range(8))


def test_the_parts_of_a_shard_are_spread_over_threads() -> None:
    assert {thread_of(Part(3, part), 2) for part in range(4)} == {0, 1}
