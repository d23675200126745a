"""Every recorded conversation goes on with every API: nothing is refused, nothing is lost unnamed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Final, cast

import pytest

import onrecord
from onrecord.adapters.check.check import RequestCheck
from onrecord.domain.content import Native
from onrecord.domain.events import (
    Event,
    MessageRecorded,
    OpaqueRecorded,
    ReasoningRecorded,
    ServerToolCallRecorded,
    ServerToolResultRecorded,
    ToolCallRecorded,
    ToolResultRecorded,
)
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.request import APIS, Options, Request
from onrecord.projections.apis.rules import Violation
from tests.adapters.recorded_calls import known
from tests.corpus.conversations import conversations, files
from tests.corpus.going import Going
from tests.corpus.matrix import GOES, REFUSED
from tests.corpus.names import names
from tests.corpus.played import Played, play
from tests.corpus.table import RecordProperty, report
from tests.corpus.wire import MISSING, is_there
from tests.projections.refused import refused

pytestmark = pytest.mark.skipif(not is_there(), reason=MISSING)

FILES: Final = files() if is_there() else []
LAST: Final = "Go on."

# Whom a conversation is told that was another API's.
MODELS: Final = {
    "anthropic-messages": "claude-sonnet-5",
    "openai-chat": "gpt-5.2",
    "openai-responses": "gpt-5.2",
    "gemini": "gemini-3-pro-preview",
    "ollama": "qwen3",
    "bedrock-converse": "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
}
# What a call gives beside what was said.
BESIDE: Final[dict[str, JsonObject]] = {
    "anthropic-messages": {"model": MODELS["anthropic-messages"], "max_tokens": 9},
    "openai-chat": {"model": MODELS["openai-chat"]},
    "openai-responses": {"model": MODELS["openai-responses"]},
    "ollama": {"model": MODELS["ollama"]},
}

# What would be refused, by the folder of the recording, the API and the rule, and why it stands
# there all the same.
EXCUSED: Final[dict[tuple[str, str, str], str]] = {
    ("openai-compatible", "openai-responses", "O5"): "the server gives ids of another form",
    ("openai-compatible", "openai-chat", "types"): "members of the server's own go back to it",
    ("openai-responses", "openai-responses", "types"): "items go back as the service gave them",
}
CUT: Final = "...<truncated "
"""Where the recordings themselves lack the rest of a long string: no picture is whole there."""

KINDS: Final[dict[type[Event], str]] = {
    MessageRecorded: "text",
    ReasoningRecorded: "reasoning",
    ToolCallRecorded: "call",
    ToolResultRecorded: "result",
    ServerToolCallRecorded: "server tool",
    ServerToolResultRecorded: "server tool",
    OpaqueRecorded: "opaque",
}


@cache
def played(name: str) -> tuple[Played, ...]:
    """The conversations of a file, each with a last word of the user's."""
    several = tuple(play(one, Path(mkdtemp())) for one in conversations(name))
    for one in several:
        one.chat.user(LAST)
    return several


@pytest.fixture(params=FILES, ids=lambda name: name[-70:])
def name(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


def own(one: Played) -> str:
    """The API that a conversation was begun with."""
    return one.steps[0].call.api


def asked(one: Played, api: str, version: int | None = None) -> Request:
    return one.chat.request(api, at=version, model=None if api == own(one) else MODELS[api])


@pytest.mark.search
@pytest.mark.parametrize("api", APIS)
def test_no_rule_of_the_service_is_broken(
    name: str, api: str, record_property: RecordProperty
) -> None:
    for one in played(name):
        request = asked(one, api)
        breaches = [told for told in verdict(api, request).violations if not why(name, api, told)]
        breaches = [told for told in breaches if not is_cut(request.body, told.where)]
        report(record_property, REFUSED, Counter(refused=len(breaches)), f"{own(one)} {api}")
        assert breaches == []


def verdict(api: str, request: Request) -> RequestCheck:
    """What the provider would say, its SDK's types among it where there are any."""
    return onrecord.check_request(api, {**BESIDE.get(api, {}), **request.body})


def why(name: str, api: str, breach: Violation) -> str:
    return EXCUSED.get((name.partition("/")[0], api, breach.rule), "")


def is_cut(body: Mapping[str, Any], where: str) -> bool:
    """Whether a recording was cut at a place."""
    held: Any = body
    for step in where.split("/")[1:]:
        if isinstance(held, dict) and step not in held:
            return False
        held = cast("Any", held)[int(step) if isinstance(held, list) else step]
    return CUT in json.dumps(held)


@pytest.mark.search
@pytest.mark.parametrize("api", APIS)
def test_no_rule_is_broken_at_any_step(name: str, api: str) -> None:
    """As each request went out, and after each answer: open calls, broken answers and all."""
    for one in played(name):
        for version in steps_of(one):
            request = asked(one, api, version)
            said = [told for told in refused(api, request) if not why(name, api, told)]
            assert [told for told in said if not is_cut(request.body, told.where)] == [], version


def steps_of(one: Played) -> Iterator[int]:
    """The versions after each request, and after each answer, from the first word on."""
    words = (each.version for each in one.history() if any(map(names, one.blocks(known(each)))))
    first = next(words, 0)
    for step, after in zip(one.steps, [*one.steps[1:], None], strict=True):
        last = one.chat.head().version - 1 if after is None else after.version - len(after.said) - 1
        yield from (version for version in (step.version, last) if version >= first)


@pytest.mark.search
@pytest.mark.parametrize("api", APIS)
def test_the_same_events_make_the_same_bytes(name: str, api: str) -> None:
    for one in played(name):
        made, version = one.chat.request(api), one.chat.head().version
        again = one.chat.log.render(version, Options(api=api))
        assert made.body_parts() == again.body_parts()
        assert made.report == again.report


@pytest.mark.search
@pytest.mark.parametrize("api", APIS)
def test_nothing_is_lost_that_the_report_does_not_name(
    name: str, api: str, record_property: RecordProperty
) -> None:
    for one in played(name):
        there = Going(api, asked(one, api))
        found: dict[str, Counter[str]] = {}
        for recorded in one.history():
            event = known(recorded)
            for block in one.blocks(event):
                how = there.told(block, recorded.version)
                assert how != "lost", json.dumps(block)[:300]
                kind = f"left out: {KINDS.get(type(event), 'other')}"
                counts = {"blocks": 1, how: 1, **({kind: 1} if how == "left out" else {})}
                found.setdefault(api_of(event, one), Counter()).update(counts)
        for source, counts in found.items():
            report(record_property, GOES, counts, f"{source} {api}")


def api_of(event: Event, one: Played) -> str:
    """The API that a block was said in; that of the conversation, if it is plain words."""
    content: Any = getattr(event, "content", None)
    first: object = (
        cast("tuple[object, ...]", content)[0] if isinstance(content, tuple) else content
    )
    return first.api if isinstance(first, Native) else own(one)
