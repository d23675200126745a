"""After its last answer, a conversation asks for what its program would send next, block by block.

The program's list and the answer go again: as the program sent them, or where it had spelled an
answer anew, as the service had said it.
"""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Final

import pytest

from onrecord.adapters.wire.requests import WireRequest
from onrecord.adapters.wire.wires import WIRES
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.request import Request
from tests.adapters.recorded_calls import known
from tests.corpus.interactions import calls, files
from tests.corpus.names import names
from tests.corpus.played import Played, play
from tests.corpus.table import RecordProperty, report
from tests.corpus.wire import MISSING, is_there

pytestmark = pytest.mark.skipif(not is_there(), reason=MISSING)


@cache
def played(name: str) -> Played:
    return play(calls(name), Path(mkdtemp()))


def is_open(name: str) -> bool:
    """Whether the last turn is history, and was answered."""
    last = played(name).steps[-1]
    return last.request.line is None and last.call.is_accepted


FILES: Final = files() if is_there() else []

# Why a block of the program's list, or of the answer, does not go as it was recorded.
RIGHTLY: Final = {
    "B1": "a call whose result was never recorded gets one that says so",
    "B8": "a file in S3 that the model does not read in a result follows it",
    "C1": "a call whose result was never recorded gets one that says so",
    "C7": "members of an answer that a request does not have",
    "C8": "reasoning that another model would be asked to read",
    "C15": "what Groq adds to an answer it refuses in a request",
    "G1": "a call whose result was never recorded gets one that says so",
    "G6": "a part that holds nothing is refused, by Vertex at least",
    "G10": "a result is named as its call came, to which the program had given an id",
    "G11": "what is told of grounding is no part of a request",
    "O3": "reasoning of a run whose container has expired",
    "O5": "an id that the service would not take",
    "O9": "what was run in a container that has expired goes as words",
    "O10": "a summary by the service stands for what is before it",
    "R1": "a call whose result was never recorded gets one that says so",
    "R3": "a call forgets the code that made it where that does not go",
    "R8": "thinking that was made behind a list in which the program had left something out",
    "R13": "code in flight whose container has expired",
    "R16": "cache marks are placed anew",
    "R18": "a summary by the service stands for what is before it",
    "document": "a file in S3 of which the model reads nothing",
    "foreign": "what another provider said, in this one's spelling",
    "unfinished": "an answer that broke off",
}

_TEXTS: Final = ("text", "input_text")


def told(block: JsonObject) -> str:
    return json.dumps(block, sort_keys=True)


def expected(name: str) -> list[JsonObject]:
    """The blocks of the last request and of its answer."""
    found = played(name)
    last = found.steps[-1]
    answers = [
        block
        for event in map(known, found.chat.events(after=last.version))
        if getattr(event, "response", None) is not None
        for block in found.blocks(event)
    ]
    return [piece.block for piece in last.sent.pieces] + answers


def asked(name: str) -> tuple[Request, WireRequest]:
    found = played(name)
    api = found.steps[-1].call.api
    request = found.chat.request(api)
    return request, WIRES[api].read_request(json.dumps(dict(request.body)).encode())


@pytest.fixture(params=FILES, ids=lambda name: name.removesuffix(".json")[-70:])
def name(request: pytest.FixtureRequest) -> str:
    """A recording that goes on."""
    found: str = request.param
    if not is_open(found):
        pytest.skip("its last turn is on a side branch, or was refused")
    return found


def test_the_last_request_and_its_answer_go_again(
    name: str, record_property: RecordProperty
) -> None:
    request, sent = asked(name)
    going = [piece.block for piece in sent.pieces]
    counts, at = Counter(files=1), 0
    for block in expected(name):
        kind, place = found_in(block, going, at)
        at = at if place is None else place + 1
        counts.update({kind: 1, "blocks": 1})
    if counts["repaired"]:
        assert done(request)
    recorded = {
        told(plain(block))
        for event in played(name).events()
        for block in played(name).blocks(event)
    }
    anew = [block for block in going if told(plain(block)) not in recorded]
    assert not anew or done(request)
    assert done(request) <= RIGHTLY.keys()
    report(record_property, "returned", counts)


def found_in(block: JsonObject, going: list[JsonObject], start: int) -> tuple[str, int | None]:
    """How a block goes, and where; the same ones keep their order."""
    places = range(start, len(going))
    same = next(
        (place for place in places if told(plain(going[place])) == told(plain(block))), None
    )
    if same is not None:
        return "verbatim", same
    known = names(block)
    if not known:
        return "blank", None
    other = next((place for place in places if names(going[place]) & known), None)
    return ("repaired", None) if other is None else ("as it was said", other)


def plain(block: JsonObject) -> JsonObject:
    """A text, however its API says that it is one."""
    is_text = block.keys() - {"type"} == {"text"} and block.get("type", "text") in _TEXTS
    return {"type": "text", "text": block["text"]} if is_text else block


def done(request: Request) -> set[str]:
    return {note.rule for note in request.report if note.deed != "noted"}


def test_instructions_and_tools_go_again(name: str) -> None:
    _, sent = asked(name)
    last = played(name).steps[-1].sent
    assert words(sent.system) == words(last.system)
    assert [told(tool) for tool in sent.tools or []] == [told(tool) for tool in last.tools or []]


def words(system: Any) -> str:
    match system:
        case str():
            return system
        case dict() | list():
            return "\n".join(sorted(name.partition(":")[2] for name in names({"content": system})))
        case _:
            return ""
