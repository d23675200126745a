"""The usage of models that answers do not name: Bedrock's, by what each request asked."""

from __future__ import annotations

from uuid import uuid4

import pytest

from onrecord.domain.log import RecordedEvent
from onrecord.projections.views.usage import USAGE
from tests.adapters.views.histories import Happening, recorded
from tests.adapters.views.row_stores import RowStore
from tests.adapters.views.used import asked, ended, shown, totals
from tests.factories import TENANT, drafted


def answered_by_bedrock(gap: int) -> list[RecordedEvent]:
    """A request to Bedrock and its answer, with this many other events in between."""
    conversation = uuid4()
    request = drafted(asked("eu.anthropic.claude-sonnet-5"), conversation)
    answer = ended(None, 8, api="bedrock-converse", request=request.event_id)
    between = [Happening(1, ended(), None, 0) for _ in range(gap)]
    return recorded([Happening(0, request, None, 0), *between, Happening(0, answer, None, 0)])


@pytest.mark.parametrize("gap", [0, 3])
def test_a_response_of_bedrock_counts_for_the_model_that_was_asked(
    rows: RowStore, gap: int
) -> None:
    for event in answered_by_bedrock(gap):
        assert rows.step(USAGE, [event]) == []
    told = [entry for entry in shown(rows) if entry[1] == "bedrock-converse"]
    assert told == [
        ("2026-11-18", "bedrock-converse", "eu.anthropic.claude-sonnet-5", 1, 8),
    ]


def test_a_request_counts_nothing_until_it_is_answered(rows: RowStore) -> None:
    sent, answer = answered_by_bedrock(0)
    rows.step(USAGE, [sent])
    assert shown(rows) == []
    assert totals(rows) == []
    rows.step(USAGE, [answer])
    assert len(shown(rows)) == 1


def answers_to(api: str) -> list[RecordedEvent]:
    """A request to Bedrock, and two answers to it that name no model."""
    conversation = uuid4()
    request = drafted(asked("claude-5"), conversation)
    answers = [ended(None, n, api=api, request=request.event_id) for n in (1, 2)]
    told = (Happening(0, answer, None, 0) for answer in answers)
    return recorded([Happening(0, request, None, 0), *told])


@pytest.mark.parametrize(
    ("api", "named"),
    [("bedrock-converse", {"claude-5": 1, "": 2}), ("openai-chat", {"": 3})],
)
def test_one_answer_of_bedrock_counts_for_what_was_asked(
    rows: RowStore, api: str, named: dict[str, int]
) -> None:
    history = answers_to(api)
    for generation, steps in enumerate(([history], [[event] for event in history]), 1):
        for each in steps:
            assert rows.step(USAGE, each, generation=generation) == []
        shown_now = rows.page(USAGE, TENANT, generation=generation)
        assert {row["model"]: row["input_tokens"] for row in shown_now} == named


def test_a_generation_knows_its_own_requests_only(rows: RowStore) -> None:
    sent, answer = answered_by_bedrock(0)
    rows.step(USAGE, [sent], generation=1)
    rows.step(USAGE, [sent], generation=2)
    rows.step(USAGE, [answer], generation=2)
    rows.step(USAGE, [answer], generation=3)
    models = [rows.page(USAGE, TENANT, generation=number) for number in (1, 2, 3)]
    assert [[row["model"] for row in page] for page in models] == [
        [],
        ["eu.anthropic.claude-sonnet-5"],
        [""],
    ]


def test_forgetting_leaves_the_sums_and_takes_what_is_open(rows: RowStore) -> None:
    sent, answer = answered_by_bedrock(0)
    rows.step(USAGE, recorded([Happening(0, ended(), None, 0)]))
    rows.step(USAGE, [sent])
    rows.forget(USAGE, sent.conversation_id)
    rows.step(USAGE, [answer])
    assert [(model, taken) for _, _, model, _, taken in shown(rows)] == [
        ("claude-sonnet-5", 100),
        ("", 8),
    ]
