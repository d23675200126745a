"""Programs that send an answer back in their own spelling: the record goes on, with the answer as it was."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from onrecord.domain.jsontext import JsonObject
from tests.adapters.recorded_calls import Recorded
from tests.adapters.recording.own_history import (
    Anthropic,
    Chat,
    List,
    Program,
    Responses,
    Spelling,
    completion,
    output_message,
    response,
)

COUNT = 4


@dataclass(frozen=True)
class Respelling:
    """What a model answers, and how a program puts it into its list."""

    name: str
    spelling: Spelling
    answer: Callable[[int], JsonObject]
    echo: Callable[[int], List]


def said(text: str) -> List:
    return [{"role": "assistant", "content": text}]


def think(number: int) -> str:
    return f"<think>\nwhy {number}\n</think>"


def chat(content: str, reasoning: str | None = None) -> JsonObject:
    more = {} if reasoning is None else {"reasoning_content": reasoning}
    return completion({"role": "assistant", "content": content, **more})


def thinking(number: int, text: str) -> JsonObject:
    answer = Anthropic().answer(text, ())
    thought = {"type": "thinking", "thinking": f"why {number}", "signature": f"sealed {number}"}
    return {**answer, "content": [thought, *answer["content"]]}


def searched(number: int, text: str) -> JsonObject:
    answer = Anthropic().answer(text, ())
    call = {"type": "server_tool_use", "id": f"srvtoolu_{number}", "name": "web_search"}
    found: JsonObject = {
        "type": "web_search_tool_result",
        "tool_use_id": f"srvtoolu_{number}",
        "content": [],
    }
    return {**answer, "content": [{**call, "input": {}}, found, *answer["content"]]}


def reasoned(number: int, text: str) -> JsonObject:
    item: JsonObject = {
        "type": "reasoning",
        "id": f"rs_{number}",
        "summary": [],
        "encrypted_content": "sealed",
    }
    return response([item, output_message(text)])


def web(number: int, text: str) -> JsonObject:
    action = {"type": "search", "query": "it"}
    call = {"type": "web_search_call", "id": f"ws_{number}", "status": "completed"}
    return response([{**call, "action": action}, output_message(text)])


REEVERY = [
    Respelling(
        "reasoning is left out",
        Chat(),
        lambda n: chat(f"a{n}", f"why {n}"),
        lambda n: said(f"a{n}"),
    ),
    Respelling(
        "reasoning is in tags",
        Chat(),
        lambda n: chat(f"a{n}", f"why {n}"),
        lambda n: said(f"{think(n)}\n\na{n}"),
    ),
    Respelling(
        "tags are taken out",
        Chat(),
        lambda n: chat(f"{think(n)}\n\na{n}"),
        lambda n: said(f"a{n}"),
    ),
    Respelling(
        "tags are spaced otherwise",
        Chat(),
        lambda n: chat(f"{think(n)}\na{n}\n"),
        lambda n: said(f"<think>\n\nwhy {n}</think>\n\na{n}"),
    ),
    Respelling("blanks are cut", Chat(), lambda n: chat(f"a{n}\n"), lambda n: said(f"a{n}")),
    Respelling(
        "thinking is left out", Anthropic(), lambda n: thinking(n, f"a{n}"), lambda n: said(f"a{n}")
    ),
    Respelling(
        "thinking is text",
        Anthropic(),
        lambda n: thinking(n, f"a{n}"),
        lambda n: [
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": f"<thinking>\nwhy {n}\n</thinking>"},
                    {"type": "text", "text": f"a{n}"},
                ],
            }
        ],
    ),
    Respelling(
        "a search is left out", Anthropic(), lambda n: searched(n, f"a{n}"), lambda n: said(f"a{n}")
    ),
    Respelling(
        "only the output text", Responses(), lambda n: reasoned(n, f"a{n}"), lambda n: said(f"a{n}")
    ),
    Respelling(
        "a summary in tags",
        Responses(),
        lambda n: reasoned(n, f"a{n}"),
        lambda n: [*said(think(n)), *said(f"a{n}")],
    ),
    Respelling(
        "only what was found", Responses(), lambda n: web(n, f"a{n}"), lambda n: said(f"a{n}")
    ),
]


@pytest.fixture(params=REEVERY, ids=lambda it: f"{it.spelling.api}: {it.name}")
def respelling(request: pytest.FixtureRequest) -> Respelling:
    found: Respelling = request.param
    return found


def converse(program: Program, respelling: Respelling) -> List:
    history: List = []
    for number in range(COUNT):
        history = [*history, *program.user(f"u{number}")]
        program.answered(program.send(history), respelling.answer(number))
        history = [*history, *respelling.echo(number)]
    return history


def test_a_program_goes_on_from_an_answer_in_its_own_spelling(
    tmp_path: Path, respelling: Respelling
) -> None:
    program = Program(Recorded(tmp_path), respelling.spelling)
    converse(program, respelling)
    assert program.relations() == ["extends"] * COUNT
    assert program.said() == [f"u{number}" for number in range(COUNT)]


def test_what_the_model_said_stays_the_record(tmp_path: Path, respelling: Respelling) -> None:
    program = Program(Recorded(tmp_path), respelling.spelling)
    converse(program, respelling)
    responses = [event for event in program.recorded.types() if event == "response.completed"]
    assert len(responses) == COUNT
    known = program.recorded.types()
    assert known.count("message.recorded") == 2 * COUNT


def test_another_answer_in_its_place_is_no_spelling_of_it(tmp_path: Path) -> None:
    for spelling in (Anthropic(), Chat(), Responses()):
        program = Program(Recorded(tmp_path / spelling.api), spelling)
        program.ask(program.user("u1"), "a1")
        program.ask([*program.user("u1"), *said("I never said so"), *program.user("u2")], "a2")
        assert program.relations() == ["extends", "branches aside"]
