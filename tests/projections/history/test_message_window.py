"""Windows by messages: which messages stay, in both of the ways that other frameworks have."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

import onrecord
from onrecord.domain import events
from onrecord.domain.content import Document, Text, ToolCall
from onrecord.domain.errors import InvalidInput, NothingToSend, UnsupportedDocument
from onrecord.domain.events import Event
from onrecord.projections.apis.request import APIS, Options, render
from onrecord.projections.history.history import History
from onrecord.projections.history.turns import history
from onrecord.projections.history.windows import MessageWindow, exchanges_of, in_window, messages_of
from tests.projections.apis.mixed_histories import MODELS, NAMED, answered_by
from tests.projections.happenings import Story, tool_use, words
from tests.projections.history.test_signals import signal
from tests.projections.marked import BLOBS
from tests.projections.mixed_answers import Happening
from tests.projections.mixed_happenings import everything, happened, within

PICTURE = Document(media_type="image/png", name="map.png", url="https://a.example/map.png")
SLIDING = "sliding-window"


def view(told: Story | list[tuple[int, Event]], most: int, strategy: str = "") -> History:
    listed = told.events if isinstance(told, Story) else told
    window = MessageWindow.model_validate(
        {"messages": most, "strategy": strategy or "message-window"}
    )
    return in_window(history(listed), window)


def kept(story: Story, most: int, strategy: str = "") -> list[str]:
    blocks = [block for turn in view(story, most, strategy).turns for block in turn.blocks]
    return ["[document]" if block.mark == "document" else words(block) for block in blocks]


def prompts(story: Story, count: int) -> Story:
    for number in range(1, count + 1):
        story.user(str(number))
    return story


def looks_up(story: Story, *call_ids: str, shows: bool = False) -> None:
    """A round of calls and their results: two messages, and a document that does not count."""
    story.ask()
    story.answer(*(tool_use(call_id) for call_id in call_ids), stop="tool_use")
    for call_id in call_ids:
        story.result(call_id, "found")
    if shows:
        story.happen(events.DocumentExtracted(document=PICTURE, call_id=call_ids[0]))


def seen_in(first: int, last: int) -> list[str]:
    return [str(number) for number in range(first, last + 1)]


# The message window.


def test_the_last_messages_stay() -> None:
    assert kept(prompts(Story(), 10), 8) == seen_in(3, 10)


def test_the_instructions_count_and_stay() -> None:
    story = Story()
    story.instruct("be kind")
    prompts(story, 10)
    made = view(story, 8)
    assert made.instructions is not None
    assert kept(story, 8) == seen_in(4, 10)


def test_as_many_messages_as_the_window_has_are_left_as_they_are() -> None:
    story = prompts(Story(), 8)
    assert view(story, 8) == history(story.events) or kept(story, 8) == seen_in(1, 8)
    assert view(story, 8).left_out == 0


def test_calls_go_with_all_their_results() -> None:
    """Two messages go where one would do: a window can end up smaller than it may be."""
    story = Story()
    looks_up(story, "toolu_1", "toolu_2")
    prompts(story, 7)
    assert kept(story, 9)[:2] == ["toolu_1", "toolu_2"]
    assert kept(story, 8) == seen_in(1, 7)


def test_a_document_does_not_count() -> None:
    story = Story()
    story.user("look")
    looks_up(story, "toolu_1", shows=True)
    prompts(story, 5)
    assert len(kept(story, 8)) == 9
    assert "[document]" in kept(story, 8)


def test_a_document_goes_with_its_result() -> None:
    story = Story()
    looks_up(story, "toolu_1", shows=True)
    prompts(story, 8)
    assert kept(story, 8) == seen_in(1, 8)


def test_a_document_that_is_left_alone_behind_the_instructions_goes() -> None:
    story = Story()
    story.instruct("be kind")
    story.user("look")
    story.happen(events.DocumentExtracted(document=PICTURE))
    prompts(story, 7)
    assert kept(story, 8) == seen_in(1, 7)


@pytest.mark.parametrize("strategy", ["message-window", SLIDING])
def test_calls_of_which_nobody_told_the_response_are_one_message(strategy: str) -> None:
    told: list[Event] = [
        events.MessageRecorded(role="assistant", content=(Text(text="One moment."),)),
        *(
            events.ToolCallRecorded(
                call_id=call_id,
                name="look",
                content=ToolCall(id=call_id, name="look", arguments={}),
            )
            for call_id in ("toolu_1", "toolu_2")
        ),
    ]
    story = prompts(Story(), 1)
    for event in told:
        story.happen(event)
    for call_id in ("toolu_1", "toolu_2"):
        story.result(call_id, "found")
    whole = ["One moment.", "toolu_1", "toolu_2", "toolu_1: found", "toolu_2: found"]
    assert kept(story, 3, strategy) == ["1", *whole]
    assert kept(story, 2, strategy) == whole
    assert kept(story, 1, strategy) == []


@pytest.mark.parametrize(
    ("most", "wanted"),
    [
        (4, ["look", "toolu_1", "toolu_1: found", "so"]),
        (3, ["toolu_1", "toolu_1: found", "so"]),
        (2, ["so"]),
    ],
)
def test_a_round_stays_whole_or_goes_whole(most: int, wanted: list[str]) -> None:
    story = Story()
    story.user("look")
    looks_up(story, "toolu_1")
    story.ask()
    story.answer("so")
    assert kept(story, most) == wanted


@pytest.mark.parametrize(
    ("most", "wanted"),
    [(3, ["toolu_1", "toolu_1: found", "[document]", "so"]), (2, ["so"])],
)
def test_a_round_stays_or_goes_with_its_document(most: int, wanted: list[str]) -> None:
    story = Story()
    story.user("look")
    looks_up(story, "toolu_1", shows=True)
    story.ask()
    story.answer("so")
    assert kept(story, most) == wanted


def test_a_prompt_that_speaks_of_documents_counts() -> None:
    """What rides is told by where it came from, not by what it says."""
    story = prompts(Story(), 2)
    story.user('Documents extracted from tool call results: <document tool-name="x" />')
    assert kept(story, 2)[0] == "2"


def test_a_signal_counts_once_whatever_it_shows() -> None:
    story = Story()
    signal(story, "a bell rang", PICTURE, PICTURE)
    prompts(story, 2)
    assert len(kept(story, 3)) == 5
    assert kept(story, 2) == ["1", "2"]


@pytest.mark.parametrize("strategy", ["message-window", SLIDING])
@pytest.mark.parametrize("most", [-1, -20])
def test_a_negative_number_of_messages_is_an_error(strategy: str, most: int) -> None:
    with pytest.raises(InvalidInput) as caught:
        view(prompts(Story(), 1), most, strategy)
    assert str(caught.value) == f"maxMessages must not be negative (was {most})"


@pytest.mark.parametrize("strategy", ["message-window", SLIDING])
def test_a_window_with_the_instructions_alone_is_empty(strategy: str) -> None:
    story = Story()
    story.instruct("be kind")
    prompts(story, 2)
    for most in (0, 1):
        assert kept(story, most, strategy) == []
    with pytest.raises(NothingToSend):
        render(story.events, Options(window=MessageWindow(messages=0)))


def test_the_record_and_its_history_stay_as_they_are() -> None:
    story = prompts(Story(), 10)
    whole = history(story.events)
    in_window(whole, MessageWindow(messages=1))
    assert len(whole.turns[0].blocks) == 10


@pytest.mark.parametrize("api", APIS)
def test_the_report_says_what_stands_outside_of_the_window(api: str) -> None:
    request = render(
        prompts(Story(), 10).events, Options(api=api, window=MessageWindow(messages=8))
    )
    [note] = request.report.of("window")
    assert "2 events" in note.why


def test_twenty_messages_stay_where_nobody_says_how_many() -> None:
    assert MessageWindow().messages == 20


# The sliding window.


def test_a_sliding_window_keeps_instructions_and_the_last_messages() -> None:
    story = Story()
    story.instruct("be kind")
    prompts(story, 10)
    assert kept(story, 4, SLIDING) == seen_in(8, 10)


def test_a_sliding_window_begins_with_no_result_whose_call_is_gone() -> None:
    story = Story()
    story.user("look")
    looks_up(story, "toolu_1", "toolu_2", shows=True)
    story.ask()
    story.answer("so")
    assert kept(story, 2, SLIDING) == ["so"]
    assert kept(story, 3, SLIDING) == ["toolu_1", "toolu_2", *kept(story, 4)[3:]]


def test_notes_stand_first_where_a_sliding_window_leaves_anything_out() -> None:
    story = prompts(Story(), 2)
    story.note("be short")
    story.user("3")
    assert kept(story, 4, SLIDING) == ["1", "2", "be short", "3"]
    assert kept(story, 3, SLIDING) == ["be short", "2", "3"]
    assert kept(story, 2, SLIDING) == ["be short", "3"]


@pytest.mark.parametrize("most", [0, 1])
def test_notes_that_fill_a_sliding_window_leave_room_for_nothing(most: int) -> None:
    """And not for everything, as a slice from -0 on would."""
    story = prompts(Story(), 3)
    story.note("be short")
    assert kept(story, most, SLIDING) == ["be short"]


@pytest.mark.parametrize("strategy", ["message-window", SLIDING])
@pytest.mark.parametrize("most", [0, 3, 20])
def test_a_result_of_no_call_never_leads_as_one(strategy: str, most: int) -> None:
    """Nothing need be left out for that: the fold makes words of it."""
    story = Story()
    story.result("toolu_9", "found")
    story.user("and?")
    blocks = [block for turn in view(story, most, strategy).turns for block in turn.blocks]
    assert {block.mark for block in blocks} <= {"late", ""}


# Any history.


happenings = st.lists(everything, max_size=14)
windows = st.builds(
    MessageWindow,
    messages=st.integers(0, 12),
    strategy=st.sampled_from(["message-window", SLIDING]),
)


@given(happenings, windows)
def test_no_call_or_result_is_alone_and_no_more_is_kept_than_may_be(
    deeds: list[Happening], window: MessageWindow
) -> None:
    whole = history(happened(deeds).events)
    made = in_window(whole, window)
    called, answered = pairs(made)
    assert answered <= called
    # A call that is to be gone on with has none before either.
    assert called - answered <= pairs(whole)[0] - pairs(whole)[1]
    counted = [message for message in messages_of(made.turns) if message.counts]
    others = [message for message in counted if message.kind != "note"]
    instructions = 0 if made.instructions is None else 1
    if window.strategy == "message-window":
        assert len(counted) <= max(0, window.messages - instructions)
    else:
        notes = len(counted) - len(others)
        assert len(others) <= max(0, window.messages - instructions - notes)


def pairs(told: History) -> tuple[set[int | None], set[int | None]]:
    blocks = [block for turn in told.turns for block in turn.blocks]
    called = {block.call for block in blocks if block.mark in ("call", "unawaited")}
    return called, {block.call for block in blocks if block.mark in ("result", "missing")}


@given(happenings, windows)
def test_speakers_take_turns_in_a_window(deeds: list[Happening], window: MessageWindow) -> None:
    roles = [turn.role for turn in in_window(history(happened(deeds).events), window).turns]
    assert all(one != next_one for one, next_one in pairwise(roles))


@pytest.mark.parametrize("api", APIS)
@given(happenings, windows, st.data())
def test_any_api_takes_what_is_left_or_nothing_is_left(
    api: str, deeds: list[Happening], window: MessageWindow, data: st.DataObject
) -> None:
    story = happened(deeds)
    wished = Options(
        api=api,
        window=window,
        model=data.draw(st.sampled_from([None, *MODELS[api]])),
        cache=data.draw(st.booleans()),
        missing=data.draw(st.sampled_from(["cancel", "drop"])),
    )
    try:
        request = render(within(story, exchanges_of(window)), wished, BLOBS)
    except (NothingToSend, UnsupportedDocument):
        return
    model = wished.model or answered_by(story, api)
    named: dict[str, object] = {NAMED.get(api, "model"): model} if model else {}
    if model and api == "anthropic-messages":
        named["max_tokens"] = 1024
    assert onrecord.check_request(api, {**request.body, **named}).violations == ()


def prompts_once(story: Story) -> None:
    story.user(f"prompt {len(story.events)}")


def rings(story: Story) -> None:
    signal(story, f"bell {len(story.events)}")


def answers(story: Story) -> None:
    story.ask()
    story.answer(f"answer {len(story.events)}")


def looks(story: Story) -> None:
    place = len(story.events)
    looks_up(story, f"toolu_{place}", f"toolu_{place}b", shows=bool(place % 2))


def is_interrupted(story: Story) -> None:
    place = len(story.events)
    story.ask()
    story.answer(tool_use(f"toolu_{place}"), stop="tool_use")
    story.cancelled(f"toolu_{place}")
    signal(story, "stop", interrupts=True)


@given(
    st.lists(
        st.sampled_from([prompts_once, rings, answers, looks, is_interrupted]),
        min_size=1,
        max_size=16,
    ),
    windows,
)
def test_no_more_exchanges_are_read_than_there_are_messages_and_all_that_is_needed(
    deeds: list[Callable[[Story], None]], window: MessageWindow
) -> None:
    story = Story()
    story.instruct("be kind")
    story.user("begin")
    for deed in deeds:
        deed(story)
    read = in_window(history(within(story, exchanges_of(window))), window)
    whole = in_window(history(story.events), window)
    assert said_in(read) == said_in(whole)


def said_in(told: History) -> list[tuple[str, list[object]]]:
    return [(turn.role, [block.plain for block in turn.blocks]) for turn in told.turns]
