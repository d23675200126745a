"""Histories imported twice, in parts, and interrupted: each is whole or absent, and there once."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

import onrecord
from onrecord.adapters.histories.intake import take_in
from onrecord.adapters.store import Store, backend_of
from onrecord.domain.errors import StorageFull
from onrecord.domain.events import InstructionsSet
from onrecord.domain.log import Append, Verdict
from tests.adapters.histories.any_histories import Message, lists
from tests.adapters.histories.kept_histories import (
    ANTHROPIC,
    APIS,
    CHAT,
    WHOLE,
    content_of,
    contents_of,
    events_of,
    history,
    memory,
    taken_in,
)
from tests.factories import BECAUSE

Result = TypeVar("Result")


@given(lists())
def test_importing_twice_changes_nothing(kept: tuple[str, list[Message]]) -> None:
    store = memory()
    first = taken_in(store, *kept)
    before = content_of(store)
    again = taken_in(store, *kept)
    assert first.outcome == "recorded"
    assert (again.outcome, again.recorded, again.doubts) == ("unchanged", 0, first.doubts)
    assert content_of(store) == before


@given(lists(), st.sets(st.integers(1, 7)))
def test_importing_a_list_as_it_grows_comes_to_importing_it_at_its_end(
    kept: tuple[str, list[Message]], cuts: set[int]
) -> None:
    api, messages = kept
    grown, at_once = memory(), memory()
    for cut in [*sorted(cuts), len(messages)]:
        assert taken_in(grown, api, messages[:cut]).outcome != "refused"
    taken_in(at_once, api, messages)
    assert content_of(grown) == content_of(at_once)


def test_a_turn_that_was_kept_while_it_went_on_is_another_one_at_its_end() -> None:
    """Contents of Gemini's model are one answer: its texts are joined, as those of a stream are."""
    store = memory()
    begun = [WHOLE["gemini"][0], {"role": "model", "parts": [{"text": "It "}]}]
    taken_in(store, "gemini", begun)
    before = content_of(store)
    done = taken_in(store, "gemini", [*begun, {"role": "model", "parts": [{"text": "rains."}]}])
    assert done.outcome == "refused"
    assert content_of(store) == before


@given(lists(), st.data())
def test_an_older_list_changes_nothing(
    kept: tuple[str, list[Message]], data: st.DataObject
) -> None:
    api, messages = kept
    store = memory()
    taken_in(store, api, messages)
    before = content_of(store)
    shorter = data.draw(st.integers(1, len(messages)))
    assert taken_in(store, api, messages[:shorter]).outcome == "unchanged"
    assert content_of(store) == before


def failing(work: Callable[..., Result], at: int, *, after: bool) -> Callable[..., Result]:
    """Work that fails at its `at`th time, before or after it is done, and from then on."""
    times = 0

    def fail(*given: Any) -> Result:
        nonlocal times
        times += 1
        if times < at:
            return work(*given)
        if after and times == at:
            work(*given)
        raise StorageFull("no room")

    return fail


@given(
    st.lists(lists(most=4), min_size=1, max_size=4),
    st.sampled_from(["append", "put_blob", "open"]),
    st.integers(1, 5),
    st.booleans(),
)
def test_an_import_that_is_interrupted_leaves_whole_conversations_and_is_completed_by_the_next(
    kept: list[tuple[str, list[Message]]], verb: str, at: int, after: bool
) -> None:
    def import_all(store: Store) -> None:
        for number, (api, messages) in enumerate(kept):
            take_in(store, history(api, messages), f"kept/{number}")

    store, clean = memory(), memory()
    import_all(clean)
    fault = failing(getattr(backend_of(store), verb), at, after=after)
    with patch.object(backend_of(store), verb, fault), suppress(StorageFull):
        import_all(store)
    there = contents_of(store)
    assert there.items() <= contents_of(clean).items()
    import_all(store)
    assert contents_of(store) == contents_of(clean)
    assert store.verify().faults == ()


@pytest.mark.parametrize("api", APIS)
def test_another_beginning_is_refused_and_mixed_with_nothing(api: str) -> None:
    store = memory()
    taken_in(store, api, WHOLE[api])
    before = content_of(store)
    done = taken_in(store, api, [*WHOLE[api][2:], *WHOLE[api]])
    assert (done.outcome, done.recorded) == ("refused", 0)
    assert "another key" in (done.why or "")
    assert content_of(store) == before


def test_what_was_recorded_under_the_key_is_not_mixed_with() -> None:
    store = memory()
    store.conversation("kept").user("Hello")
    done = taken_in(store, "anthropic-messages", ANTHROPIC)
    assert done.outcome == "refused"
    assert len(content_of(store)) == 2


def test_what_went_on_here_takes_no_other_end() -> None:
    store = memory()
    taken_in(store, "anthropic-messages", ANTHROPIC[:3])
    store.conversation("kept").user("Something else")
    assert taken_in(store, "anthropic-messages", ANTHROPIC[:3]).outcome == "unchanged"
    assert taken_in(store, "anthropic-messages", ANTHROPIC).outcome == "refused"


def test_a_remark_does_not_keep_a_conversation_from_going_on() -> None:
    store = memory()
    taken_in(store, "anthropic-messages", ANTHROPIC[:3])
    store.conversation("kept").annotate({"reviewed": "yes"})
    assert taken_in(store, "anthropic-messages", ANTHROPIC).outcome == "extended"


def test_a_closed_conversation_takes_nothing_new() -> None:
    store = memory()
    taken_in(store, "anthropic-messages", ANTHROPIC[:3])
    store.conversation("kept").end()
    assert taken_in(store, "anthropic-messages", ANTHROPIC[:3]).outcome == "unchanged"
    assert taken_in(store, "anthropic-messages", ANTHROPIC).outcome == "refused"


def test_what_was_forgotten_does_not_come_back_by_importing() -> None:
    store = memory()
    taken_in(store, "openai-chat", CHAT)
    store.forget("kept", **BECAUSE)
    done = taken_in(store, "openai-chat", CHAT)
    assert done.outcome == "refused"
    assert done.why == "it was forgotten here: `onrecord audit` says when and why"


def test_other_instructions_come_into_force_with_what_is_new() -> None:
    store = memory()
    taken_in(store, "anthropic-messages", ANTHROPIC[:3], system="Monday.")
    older = taken_in(store, "anthropic-messages", ANTHROPIC[:3], system="Sunday.")
    newer = taken_in(store, "anthropic-messages", ANTHROPIC, system="Tuesday.")
    again = taken_in(store, "anthropic-messages", ANTHROPIC, system="Tuesday.")
    assert (older.outcome, newer.outcome, again.outcome) == ("unchanged", "extended", "unchanged")
    told = [it.content for it in events_of(store) if isinstance(it, InstructionsSet)]
    assert told == ["Monday.", "Tuesday."]


def test_two_keys_hold_the_same_history_apart() -> None:
    store = memory()
    for key in ("one", "two"):
        assert take_in(store, history("openai-chat", CHAT), key).outcome == "recorded"
    one, two = contents_of(store).values()
    assert {it[0] for it in one}.isdisjoint(it[0] for it in two)


def test_ids_tell_nobody_else_what_they_stand_for() -> None:
    here, there = memory(), onrecord.connect("memory://")
    for store in (here, there):
        taken_in(store, "openai-chat", CHAT)
    assert {it[0] for it in content_of(here)}.isdisjoint(it[0] for it in content_of(there))
    assert here.conversation("kept").conversation_id != there.conversation("kept").conversation_id


def test_a_dry_run_says_what_would_be_and_records_nothing() -> None:
    store = memory()
    for done in (1, 2):
        told = take_in(store, history("openai-chat", CHAT), "kept", dry_run=True)
        assert (told.outcome, told.recorded) == ("recorded", 8), done
    assert list(store.conversations()) == []
    taken_in(store, "openai-chat", CHAT[:4])
    told = take_in(store, history("openai-chat", CHAT), "kept", dry_run=True)
    assert (told.outcome, told.recorded) == ("extended", 2)
    assert taken_in(store, "openai-chat", CHAT).conversation_id == told.conversation_id


@pytest.mark.parametrize("ahead", [3, 6])
def test_an_import_that_another_overtakes_records_only_what_that_one_left(ahead: int) -> None:
    store = memory()
    append = backend_of(store).append
    waiting = [ahead]

    def overtaken(appends: Sequence[Append]) -> list[Verdict]:
        if waiting:
            taken_in(store, "openai-chat", CHAT[: waiting.pop()])
        return append(appends)

    with patch.object(backend_of(store), "append", overtaken):
        done = taken_in(store, "openai-chat", CHAT)
    assert done.outcome == ("unchanged" if ahead == len(CHAT) else "extended")
    alone = memory()
    taken_in(alone, "openai-chat", CHAT)
    assert content_of(store) == content_of(alone)
