"""Every recorded conversation goes on with every API: nothing is refused, nothing is lost unnamed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Final, cast

import pytest

from hansard.adapters.capture.wires import WIRES
from hansard.domain.content import Native
from hansard.domain.events import Event
from hansard.domain.jsontext import JsonObject
from hansard.projections.requests.rendering import APIS
from hansard.projections.requests.request import Options, Request
from tests.adapters.recorded_calls import known
from tests.corpus.conversations import conversations, files
from tests.corpus.played import Played, play
from tests.corpus.table import RecordProperty, report
from tests.corpus.wire import MISSING, is_there
from tests.projections.refused import refused

pytestmark = pytest.mark.skipif(not is_there(), reason=MISSING)

FILES: Final = files() if is_there() else []
LAST: Final = "Go on."

# What OpenAI or Anthropic would refuse, by the folder of the recording and the rule, and why it
# stands there all the same.
EXCUSED: Final[dict[str, dict[tuple[str, str], str]]] = {
    "openai-compatible": {
        ("openai-responses", "O5"): "the server gives ids of another form, and takes them",
    },
}

# Members that another API is not told of: the note on a text names them.
BESIDE: Final = ("annotations", "citations", "executed_tools", "thinking")

_SAID: Final = ("text", "content", "output", "refusal", "arguments", "input")
_SUMMED_UP: Final = ("R18", "O10")


@cache
def played(name: str) -> tuple[Played, ...]:
    """The conversations of a file, each with a last word of the user's."""
    several = tuple(play(one, Path(mkdtemp())) for one in conversations(name))
    for one in several:
        one.talk.user(LAST)
    return several


@pytest.fixture(params=FILES, ids=lambda name: name[-70:])
def name(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.mark.parametrize("api", APIS)
def test_no_rule_of_the_service_is_broken(name: str, api: str) -> None:
    excused = EXCUSED.get(name.partition("/")[0], {})
    for one in played(name):
        said = refused(api, one.talk.request(api))
        assert [told for told in said if (api, told.rule) not in excused] == []


@pytest.mark.parametrize("api", APIS)
def test_the_same_events_make_the_same_bytes(name: str, api: str) -> None:
    for one in played(name):
        made, version = one.talk.request(api), one.talk.head().version
        again = one.talk.render(version, Options(api=api))
        assert made.body_parts() == again.body_parts()
        assert made.report == again.report


@pytest.mark.parametrize("api", APIS)
def test_nothing_is_lost_that_the_report_does_not_name(
    name: str, api: str, record_property: RecordProperty
) -> None:
    for one in played(name):
        request = one.talk.request(api)
        there = Going(api, request)
        found: dict[str, Counter[str]] = {}
        for recorded in one.history():
            event = known(recorded)
            for block in one.blocks(event):
                kind = there.told(block, recorded.version)
                assert kind != "lost", json.dumps(block)[:300]
                found.setdefault(api_of(event, one), Counter()).update({kind: 1, "blocks": 1})
        for source, counts in found.items():
            report(record_property, "three ways", counts, f"{source} for {api}")


def api_of(event: Event, one: Played) -> str:
    """The API that a block was said in; that of the conversation, if it is plain words."""
    content: Any = getattr(event, "content", None)
    first: object = (
        cast("tuple[object, ...]", content)[0] if isinstance(content, tuple) else content
    )
    return first.api if isinstance(first, Native) else one.steps[0].call.api


class Going:
    """What goes to an API: its blocks, its words, and what is noted of events."""

    def __init__(self, api: str, request: Request) -> None:
        body = {"max_tokens": 1, **request.body}
        sent = WIRES[api].read_request(json.dumps(body).encode())
        self.blocks = {json.dumps(plain(piece.block)) for piece in sent.pieces}
        self.words = flat("\n".join(text for text in texts(body)))
        self.values = {json.dumps(value, sort_keys=True) for value in values(body)}
        self.notes = list(request.report)
        summaries = [note for note in request.report if note.rule in _SUMMED_UP]
        self.summed_up = max((note.version or 0 for note in summaries), default=0)

    def told(self, block: JsonObject, version: int) -> str:
        """How a block goes: verbatim, in its words, or as the report names it; else it is lost."""
        notes = [note for note in self.notes if note.version == version]
        deeds = {note.deed for note in notes}
        if json.dumps(plain(block)) in self.blocks:
            return "verbatim"
        if "left out" in deeds or version < self.summed_up:
            return "left out"
        named = {name for name in BESIDE for note in notes if name in note.why}
        if all(self._holds(text) for text in texts(without(block, named), _SAID)):
            return "in its words"
        return "repaired" if "repaired" in deeds else "lost"

    def _holds(self, text: str) -> bool:
        value = parsed(text)
        if flat(text) in self.words or json.dumps(value, sort_keys=True) in self.values:
            return True
        return value is not None and all(flat(leaf) in self.words for leaf in texts(value))


def values(value: Any) -> Iterator[Any]:
    """All objects and lists of a value, those that its texts spell too."""
    match value:
        case str() if parsed(value) is not None:
            yield from values(parsed(value))
        case dict():
            yield value
            for member in cast("JsonObject", value).values():
                yield from values(member)
        case list():
            yield value
            for member in cast("list[Any]", value):
                yield from values(member)
        case _:
            return


def without(value: Any, named: set[str]) -> Any:
    match value:
        case dict():
            members = cast("JsonObject", value).items()
            return {name: without(held, named) for name, held in members if name not in named}
        case list():
            return [without(held, named) for held in cast("list[Any]", value)]
        case _:
            return value


def texts(value: Any, members: tuple[str, ...] = (), key: str = "") -> Iterator[str]:
    """All texts of a value, or those of some members; and what the JSON in a text says."""
    match value:
        case str() if not members or key in members:
            yield value
            if not members and parsed(value) is not None:
                yield from texts(parsed(value))
        case dict():
            for name, member in cast("JsonObject", value).items():
                yield from texts(member, members, name)
        case list():
            for member in cast("list[Any]", value):
                yield from texts(member, members, key)
        case _:
            return


def parsed(text: str) -> Any:
    """The object or list that a text spells; None if it spells none."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return json.loads(text)
    except ValueError:
        return None


def flat(text: str) -> str:
    return " ".join(text.split())


def plain(block: JsonObject) -> JsonObject:
    is_text = block.keys() == {"type", "text"} and block["type"] == "input_text"
    return {"type": "text", "text": block["text"]} if is_text else block


def test_every_excuse_is_still_needed() -> None:
    broken = {
        (name.partition("/")[0], (api, said.rule))
        for name in FILES
        for one in played(name)
        for api in APIS
        for said in refused(api, one.talk.request(api))
    }
    assert broken == {(folder, rule) for folder, rules in EXCUSED.items() for rule in rules}
