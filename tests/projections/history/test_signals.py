"""Signals in the fold: when the model is told of one, and in which words."""

from __future__ import annotations

import json
from typing import Any

import pytest

from onrecord.domain import events
from onrecord.domain.content import Blob, Document, Text, ToolResult
from onrecord.domain.conversation import CANCELLED
from onrecord.projections.apis.answers import NO_RESULT
from onrecord.projections.apis.request import APIS, Options, render
from onrecord.projections.history.history import Block, Turn
from onrecord.projections.history.turns import history, turns
from tests.projections.happenings import Story, tool_use, words
from tests.projections.recorded import recorded

WAITED = (
    "An event was triggered but no content was returned. "
    "Execution waited for all in-flight tool executions to complete before proceeding."
)
INTERRUPTED = (
    "An event was triggered but no content was returned. "
    "All in-flight tool executions were canceled."
)
PICTURE = Document(media_type="image/png", name="map.png", blob=Blob(sha256="ab" * 32, size=4))
BLOBS = {"ab" * 32: b"\x89PNG"}


def signal(story: Story, *said: str | Document, interrupts: bool = False) -> int:
    content = tuple(Text(text=each) if isinstance(each, str) else each for each in said)
    return story.happen(events.SignalReceived(content=content, interrupts=interrupts))


def asked_twice() -> Story:
    story = Story()
    story.user("go")
    story.ask()
    story.answer("looking", tool_use("toolu_1"), tool_use("toolu_2"), stop="tool_use")
    return story


def told(story: Story) -> list[tuple[str, list[str]]]:
    folded = [as_words(turn) for turn in turns(story.events)]
    assert [as_words(turn) for turn in turns(recorded(story))] == folded
    return folded


def as_words(turn: Turn) -> tuple[str, list[str]]:
    return turn.role, [words(block) for block in turn.blocks]


def gives_up(story: Story, call_id: str, *said: Text) -> int:
    result = ToolResult(call_id=call_id, content=said, is_error=True)
    return story.happen(
        events.ToolResultRecorded(call_id=call_id, content=result, is_error=True, cancelled=True)
    )


@pytest.mark.parametrize(
    "order",
    [("s", "1", "2"), ("1", "s", "2"), ("1", "2", "s"), ("s", "2", "1"), ("2", "s", "1")],
)
def test_a_signal_amid_a_round_stands_behind_all_its_results(order: tuple[str, ...]) -> None:
    story = asked_twice()
    for happening in order:
        if happening == "s":
            signal(story, "a bell rang")
        else:
            story.result(f"toolu_{happening}", happening)
    assert told(story)[-1] == ("user", ["toolu_1: 1", "toolu_2: 2", "a bell rang"])


def test_signals_keep_the_order_in_which_they_came() -> None:
    story = asked_twice()
    for said in ("one", "two", "three"):
        signal(story, said)
    story.result("toolu_1", "1")
    story.result("toolu_2", "2")
    assert told(story)[-1][1][2:] == ["one", "two", "three"]


def test_a_signal_while_a_request_is_out_comes_after_the_answer() -> None:
    story = Story()
    story.user("go")
    story.ask()
    signal(story, "a bell rang")
    story.answer("gone")
    assert told(story)[1:] == [("assistant", ["gone"]), ("user", ["a bell rang"])]


def test_a_signal_that_a_request_had_not_seen_comes_after_its_answer() -> None:
    story = Story()
    seen = story.user("go")
    signal(story, "a bell rang")
    story.ask(seen=seen)
    story.answer("gone")
    assert told(story) == [
        ("user", ["go"]),
        ("assistant", ["gone"]),
        ("user", ["a bell rang"]),
    ]


@pytest.mark.parametrize("said", [(), ("",), (" \n",)])
@pytest.mark.parametrize(("interrupts", "wanted"), [(False, WAITED), (True, INTERRUPTED)])
def test_a_signal_without_content_says_what_became_of_the_calls(
    said: tuple[str, ...], interrupts: bool, wanted: str
) -> None:
    story = Story()
    story.user("go")
    signal(story, *said, interrupts=interrupts)
    assert told(story)[-1][1][-1] == wanted


def test_a_signal_of_documents_alone_needs_no_words() -> None:
    story = Story()
    signal(story, PICTURE)
    [turn] = turns(story.events)
    assert [block.plain["kind"] for block in turn.blocks] == ["document"]


def test_the_documents_of_a_signal_stand_behind_its_text_and_are_told_from_a_users() -> None:
    story = Story()
    story.user("look", PICTURE)
    story.happen(events.SignalReceived(content=(PICTURE, Text(text="a bell rang")), name="bell"))
    [turn] = turns(story.events)
    assert [marks(block) for block in turn.blocks] == [
        ("", False),
        ("", False),
        ("", True),
        ("document", True),
    ]
    assert turn.blocks[-1].call_id is None
    assert turn.blocks[-1].name is None


def marks(block: Block) -> tuple[str, bool]:
    return block.mark, block.signal


def test_a_signal_that_interrupts_stands_behind_the_cancelled_results() -> None:
    story = asked_twice()
    story.result("toolu_2", "two")
    gives_up(story, "toolu_1")
    signal(story, interrupts=True)
    assert told(story)[-1] == (
        "user",
        [f"toolu_1: {CANCELLED}", "toolu_2: two", INTERRUPTED],
    )


@pytest.mark.parametrize("api", APIS)
def test_a_cancelled_result_says_so_whether_its_log_holds_the_words_or_not(api: str) -> None:
    """Logs of earlier releases hold them."""
    bodies: list[dict[str, Any]] = []
    for said in ((), (Text(text=" "),), (Text(text=CANCELLED),)):
        story = asked_twice()
        gives_up(story, "toolu_1", *said)
        story.result("toolu_2", "two")
        bodies.append(dict(render(story.events, Options(api=api)).body))
    assert bodies[0] == bodies[1] == bodies[2]
    assert CANCELLED in json.dumps(bodies[0])


@pytest.mark.parametrize("api", APIS)
def test_a_cancelled_result_that_comes_late_is_told_once(api: str) -> None:
    story = asked_twice()
    story.ask()
    story.answer("gone")
    version = gives_up(story, "toolu_1")
    story.user("and?")
    request = render(story.events, Options(api=api))
    assert [note.version for note in request.report.of("late")] == [version]
    # Once for each of the two calls, when the request went out without their results.
    assert json.dumps(request.body).count(CANCELLED) == 2


@pytest.mark.parametrize("api", APIS)
def test_a_late_result_that_happens_to_say_so_is_no_cancelled_one(api: str) -> None:
    story = asked_twice()
    story.ask()
    story.answer("gone")
    story.result("toolu_1", CANCELLED)
    request = render(story.events, Options(api=api))
    assert json.dumps(request.body).count(CANCELLED) == 3


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("said", ["", " ", "\n\t"])
def test_a_result_without_content_has_its_constant_in_the_request_alone(
    api: str, said: str
) -> None:
    story = asked_twice()
    story.result("toolu_1", said)
    story.result("toolu_2", "two")
    assert NO_RESULT in json.dumps(render(story.events, Options(api=api)).body)
    assert NO_RESULT not in str(story.events)


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("said", ["[]", "{}", "0", "false", "null"])
def test_an_empty_list_and_an_empty_mapping_are_results(api: str, said: str) -> None:
    story = asked_twice()
    story.result("toolu_1", said)
    story.result("toolu_2", "two")
    body = json.dumps(render(story.events, Options(api=api)).body)
    assert NO_RESULT not in body
    assert f'"{said}"' in body


@pytest.mark.parametrize("api", APIS)
def test_a_signal_reaches_every_api_behind_the_results(api: str) -> None:
    story = asked_twice()
    signal(story, "a bell rang", PICTURE)
    story.result("toolu_1", "one")
    story.result("toolu_2", "two")
    request = render(story.events, Options(api=api), BLOBS)
    body = json.dumps(request.body)
    assert body.index("one") < body.index("two") < body.index("a bell rang")
    assert body.index("a bell rang") < body.index("document-short-id")
    assert "Documents extracted" not in body


def test_a_signal_that_was_redacted_is_told_no_more() -> None:
    story = asked_twice()
    version = signal(story, "a bell rang", PICTURE)
    story.result("toolu_1", "one")
    story.result("toolu_2", "two")
    story.redact(version)
    assert told(story)[-1] == ("user", ["toolu_1: one", "toolu_2: two"])
    assert [note.rule for note in history(story.events).notes] == ["redacted"]


# Calls without a result.


def test_a_history_names_the_calls_of_the_open_round_that_have_no_result() -> None:
    story = asked_twice()
    story.result("toolu_2", "two")
    assert history(story.events).awaited == ("toolu_1",)
    story.result("toolu_1", "one")
    assert history(story.events).awaited == ()


def test_calls_that_went_out_without_a_result_await_none() -> None:
    story = asked_twice()
    story.ask()
    assert history(story.events).awaited == ()


def test_a_call_without_a_result_is_dropped_and_its_text_kept() -> None:
    """As AG2 does it (tests of its Anthropic mapper, "orphans")."""
    story = asked_twice()
    story.result("toolu_2", "two")
    assert [as_words(turn) for turn in history(story.events, "drop").turns] == [
        ("user", ["go"]),
        ("assistant", ["looking", "toolu_2"]),
        ("user", ["toolu_2: two"]),
    ]


def test_a_response_of_dropped_calls_alone_is_no_turn() -> None:
    story = Story()
    story.user("go")
    story.ask()
    story.answer(tool_use("toolu_1"), stop="tool_use")
    signal(story, "a bell rang")
    [turn] = history(story.events, "drop").turns
    assert [words(block) for block in turn.blocks] == ["go", "a bell rang"]


@pytest.mark.parametrize("api", APIS)
def test_a_dropped_call_is_reported(api: str) -> None:
    story = asked_twice()
    story.user("and?")
    request = render(story.events, Options(api=api, missing="drop"))
    assert [note.version for note in request.report.of("missing")] == [4, 5]
    assert "toolu_1" not in json.dumps(request.body)
