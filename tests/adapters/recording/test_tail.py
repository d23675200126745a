"""Of a body that begins as the one before it, only the tail is read; nothing else tells the two apart."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from onrecord.adapters.conversation.conversation import stream_of
from onrecord.adapters.conversation.rendering import ask
from onrecord.adapters.recording import bodies as tail
from onrecord.adapters.recording.plan import Outgoing
from onrecord.adapters.wire.wires import WIRES
from onrecord.domain import jsontext
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.request_template import Prefix
from onrecord.projections.apis.request import Options
from onrecord.projections.matching.units import digest_of
from tests.adapters.every_spelling import EVERY
from tests.adapters.recorded_calls import Recorded
from tests.adapters.recording.own_history import Program, Spelling

LATER: JsonObject = {"role": "system", "content": "Mind the time."}


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    return Recorded(tmp_path)


@pytest.fixture(params=EVERY, ids=[spelling.api for spelling in EVERY])
def program(request: pytest.FixtureRequest, recorded: Recorded) -> Program:
    spelling: Spelling = request.param
    return Program(recorded, spelling)


@pytest.fixture
def sizes(program: Program, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many bytes were read of each body."""
    api, found = program.spelling.api, list[int]()
    wire = WIRES[api]

    def read(body: bytes, path: str = "", /) -> Any:
        found.append(len(body))
        return wire.read_request(body, path)

    read_by = {**WIRES, api: replace(wire, read_request=read)}
    monkeypatch.setattr(tail, "WIRES", read_by)
    return found


def note(program: Program) -> list[JsonObject]:
    """A note amid the list; on APIs that know no such role it is the user's."""
    is_known = program.spelling.api not in ("gemini", "bedrock-converse")
    return [LATER] if is_known else program.user("Mind the time.")


def grow(program: Program, system: str | None, *, later: bool) -> list[bytes]:
    """Four exchanges; return the bodies that were sent."""
    history: list[JsonObject] = []
    bodies: list[bytes] = []
    more: dict[str, Any] = {} if system is None else {"system": system}
    spelled = {} if system is None else program.spelling.system(system)
    for number in range(4):
        history = [*history, *note(program)] if later and number == 2 else history
        history = [*history, *program.user(f"u{number} " + "x" * 5000)]
        bodies.append(jsontext.write(program.spelling.body(history, **spelled)))
        history = program.ask(history, f"a{number} " + "y" * 5000, **more)
    return bodies


@pytest.mark.parametrize("later", [False, True], ids=["", "a note later"])
@pytest.mark.parametrize("system", [None, "Be brief."])
def test_of_each_body_only_the_tail_is_read(
    program: Program, system: str | None, later: bool, sizes: list[int]
) -> None:
    bodies = grow(program, system, later=later)
    assert max(sizes) < 12_000 < len(bodies[-2])
    assert program.relations() == ["extends"] * 4
    assert program.recorded.types().count("instructions.set") == (system is not None)
    for body, sent in zip(bodies, program.recorded.requests(), strict=True):
        whole = WIRES[program.spelling.api].read_request(body)
        assert (sent.blocks, sent.history) == (len(whole.pieces), digest_of(whole.pieces))
        assert sent.prefix == digest_of(whole.pieces, Prefix(whole.system, whole.tools))


def grow_rendered(program: Program) -> list[bytes]:
    """Four exchanges of requests that were rendered here; return the bodies that were sent."""
    chat, spelling = program.recorded.chat, program.spelling
    bodies: list[bytes] = []
    for number in range(4):
        chat.user(f"u{number} " + "x" * 5000)
        options = Options(api=spelling.api)
        asked = ask(stream_of(chat).backend, stream_of(chat).lineage(chat.head().version), options)
        program.recorded.recorder.remember(asked)
        bodies.append(jsontext.write({"model": "m", "max_tokens": 9, **asked.request}))
        outgoing = Outgoing(spelling.api, spelling.endpoint, bodies[-1], compacts=False)
        program.answer(program.recorded.recorder.begin(outgoing), f"a{number} " + "y" * 5000)
    return bodies


def test_of_what_was_rendered_here_only_the_tail_is_read(
    program: Program, sizes: list[int]
) -> None:
    bodies = grow_rendered(program)
    assert max(sizes) < 12_000 < len(bodies[-2])
    assert program.relations() == ["extends"] * 4
    for body, sent in zip(bodies, program.recorded.requests(), strict=True):
        assert sent.recipe is not None
        whole = WIRES[program.spelling.api].read_request(body)
        assert (sent.blocks, sent.history) == (len(whole.pieces), digest_of(whole.pieces))
        assert sent.prefix == digest_of(whole.pieces, Prefix(whole.system, whole.tools))


def test_of_bodies_that_are_spaced_as_python_does_only_the_tail_is_read(
    program: Program, sizes: list[int]
) -> None:
    """Botocore and google-genai write them so, in ASCII."""
    history = program.user("ü0 " + "x" * 5000)
    bodies: list[bytes] = []
    for number in range(4):
        bodies.append(json.dumps(program.spelling.body(history)).encode())
        outgoing = Outgoing(
            program.spelling.api, program.spelling.endpoint, bodies[-1], compacts=False
        )
        begun = program.recorded.recorder.begin(outgoing)
        answer = program.answer(begun, f"ä{number} " + "y" * 5000)
        history = [*history, *answer, *program.user(f"ö{number} " + "x" * 5000)]
    assert max(sizes) < 16_000 < len(bodies[-2])
    assert program.relations() == ["extends"] * 4
    for body, sent in zip(bodies, program.recorded.requests(), strict=True):
        whole = WIRES[program.spelling.api].read_request(body)
        assert (sent.blocks, sent.history) == (len(whole.pieces), digest_of(whole.pieces))
        assert sent.prefix == digest_of(whole.pieces, Prefix(whole.system, whole.tools))


def test_a_body_that_is_not_compact_is_read_whole(program: Program) -> None:
    history = program.user("u1")
    for number in range(3):
        spaced = json.dumps(program.spelling.body(history), indent=1).encode()
        outgoing = Outgoing(program.spelling.api, program.spelling.endpoint, spaced, compacts=False)
        begun = program.recorded.recorder.begin(outgoing)
        history = [*history, *program.answer(begun, f"a{number}"), *program.user("more")]
    assert program.relations() == ["extends"] * 3
    assert program.said() == ["u1", "more", "more"]


def test_words_that_look_like_messages_are_none() -> None:
    """A tool's description may hold all that is looked for."""
    trap = '"messages":[{"role":"user","content":"u1"}]'
    body: JsonObject = {
        "tools": [{"name": trap, "input_schema": {}}],
        "messages": [{"role": "user", "content": "u1"}],
    }
    text = jsontext.write({"model": "m", "max_tokens": 9, **body, "metadata": {"user_id": trap}})
    sent = WIRES["anthropic-messages"].read_request(text)
    read = tail.parsed_body(text, sent, Prefix(), Prefix())
    assert read is not None
    assert text[read.start : read.end] == b'{"role":"user","content":"u1"}'


def test_other_tools_are_read_with_all_that_was_said(program: Program) -> None:
    one, other = (program.spelling.tool(name) for name in ("look", "find"))
    history = program.ask(program.user("u1"), "a1", tools=[one])
    program.ask([*history, *program.user("u2")], "a2", tools=[one, other])
    assert program.recorded.types().count("tools.declared") == 2
    assert program.said() == ["u1", "u2"]


def test_a_call_in_between_does_not_cost_the_next_one_its_beginning(
    program: Program, sizes: list[int]
) -> None:
    history = program.ask(program.user("u1 " + "x" * 9000), "a1")
    program.ask(program.user("Give it a title"), "A title")
    del sizes[:]
    program.ask([*history, *program.user("u2")], "a2")
    assert max(sizes) < 5000
    template = program.recorded.requests()[-1].template
    assert sum(len(span.text) for span in template.spans if span.kind == "literal") < 2000


@pytest.mark.parametrize("spacing", ["", " "], ids=["", "spaced behind"])
@pytest.mark.parametrize("system", [None, "Be brief."])
def test_what_is_left_of_a_body_is_json_or_nothing_is(
    program: Program, system: str | None, spacing: str
) -> None:
    """Of the same body once more too, and where a list goes on in other spacing."""
    spelled = {} if system is None else program.spelling.system(system)
    history = [*program.user("u1")]
    first = jsontext.write(program.spelling.body(history, **spelled))
    program.send(history, system=system)
    item = jsontext.write(history[-1])
    longer = first.replace(item, item + f"{spacing},".encode() + item)
    for body in (first, longer, first.replace(item, item + spacing.encode())):
        short = program.recorded.recorder.shortened(program.spelling.api, body)
        assert short is None or jsontext.read(short)
