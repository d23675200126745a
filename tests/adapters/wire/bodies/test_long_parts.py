"""Of blocks that broke off an event holds a bounded part, however many texts they are made of."""

from __future__ import annotations

from typing import Any

import pytest

from onrecord.adapters.wire.answer import Answer, shortened
from onrecord.domain import jsontext
from onrecord.domain.events import Unfinished

MIB = 1024 * 1024


def broken_off(*values: Any, partial: str = "") -> Answer:
    unfinished = tuple(
        Unfinished(index=at, value=value, partial=partial) for at, value in enumerate(values)
    )
    return Answer("openai-responses", interruption="cut", unfinished=unfinished)


def length(answer: Answer) -> int:
    return sum(len(jsontext.write(it.value)) + len(it.partial) for it in answer.unfinished)


@pytest.mark.parametrize(
    "answer",
    [
        broken_off({"type": "texts", "content": [{"text": "x" * MIB} for _ in range(40)]}),
        broken_off({"type": "texts", "content": [list(range(1000)) for _ in range(700)]}),
        broken_off({"type": "texts", **{str(at): "x" * 100 for at in range(60_000)}}),
        broken_off(*[{"type": "texts", "text": "x" * MIB} for _ in range(40)]),
        broken_off({"type": "texts"}, {"type": "texts"}, partial="x" * (3 * MIB)),
        broken_off(*[{"type": "texts"} for _ in range(8)], partial="x" * MIB),
    ],
)
def test_many_long_texts_are_bounded_together_and_say_so(answer: Answer) -> None:
    short = shortened(answer)
    assert length(short) <= 8 * MIB
    assert len(short.anomalies) == 1
    assert {it.value["type"] for it in short.unfinished} == {"texts"}


def test_one_long_text_is_kept_up_to_a_million_characters() -> None:
    (block,) = shortened(broken_off({"type": "text", "text": "x" * (MIB + 1)})).unfinished
    assert block.value == {"type": "text", "text": "x" * MIB}


def test_what_is_short_enough_stays_as_it_is() -> None:
    answer = broken_off({"type": "text", "text": "x" * MIB}, partial="y" * MIB)
    assert shortened(answer) is answer
