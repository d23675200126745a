"""Hops to another model, account or API, and back: what is signed goes to its maker alone.

Each turn is asked of one of several readers, with the request that is made for it then. So what
one reader gets grows, whoever answered in between, and all that it signed itself comes back.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, cast
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onrecord.domain.events import RequestSent, ResponseCompleted, ToolsDeclared
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.request_template import Prefix, Template
from onrecord.domain.tools import ToolDefinition
from onrecord.projections.apis.bedrock.read import NAME as BEDROCK
from onrecord.projections.apis.gemini.read import NAME as GEMINI
from onrecord.projections.apis.openai_responses.read import NAME as RESPONSES
from onrecord.projections.apis.request import Options, Request
from tests.prefixes import prefix_of
from tests.projections.apis.bedrock import bedrock_happenings as bedrock
from tests.projections.apis.gemini import gemini_happenings as gemini
from tests.projections.apis.openai_responses import responses_happenings as responses
from tests.projections.happenings import (
    API,
    Story,
    event_of_block,
    text,
    thinking,
    tool_use,
)
from tests.projections.refused import refused
from tests.search import examples

SAID = {RESPONSES: "input", GEMINI: "contents"}
LOOK_UP = ToolDefinition(name="look_up", input_schema={"type": "object"})
STAND_IN = "skip_thought_signature_validator"
_NO_TEMPLATE = Template(spans=(), sha256="0" * 64, size=0)


class Reader(NamedTuple):
    """Whom a turn is asked of."""

    api: str
    model: str
    account: str

    @property
    def options(self) -> Options:
        return Options(api=self.api, model=self.model, account=self.account)


READERS = [
    Reader(API, "claude-a", "mine"),
    Reader(API, "claude-b", "mine"),
    Reader(API, "claude-a", "theirs"),
    Reader(RESPONSES, "gpt-a", "mine"),
    Reader(RESPONSES, "gpt-b", "mine"),
    Reader("openai-chat", "gpt-c", "mine"),
    Reader(GEMINI, "gemini-3-a", "mine"),
    Reader(GEMINI, "gemini-3-a", "theirs"),
    Reader(BEDROCK, "us.anthropic.claude-a-v1:0", "mine"),
    Reader(BEDROCK, "us.anthropic.claude-b-v1:0", "mine"),
]


class Turn(NamedTuple):
    """A turn: its reader, whether that thinks aloud, and whether it calls a tool."""

    reader: Reader
    thinks: bool
    calls: bool


turns = st.lists(
    st.builds(Turn, st.sampled_from(READERS), st.booleans(), st.booleans()), max_size=8
)


def asks(story: Story, reader: Reader) -> Request:
    """Tell that a request for a reader was sent as it was made."""
    request = story.request(reader.options)
    prefix = prefix_of(None, request["tools"], request["messages"]) if reader.api == API else None
    if reader.api == BEDROCK:
        prefix = bedrock.digest(request)
    sent = RequestSent(
        api=reader.api,
        endpoint="/",
        model=reader.model,
        account=reader.account,
        template=_NO_TEMPLATE,
        prefix=prefix,
    )
    story.happen(sent)
    return request


def answers(story: Story, reader: Reader, *, thinks: bool, calls: bool) -> str | None:
    """Tell that a reader answers; return the id of the call that it makes, if any."""
    at = len(story.events)
    call_id, response = f"call_{at}", UUID(int=at)
    signed = ":".join((*reader, str(at)))
    events: list[Any] = []
    if reader.api == API:
        blocks = [thinking(f"hm {at}", signed)] if thinks else []
        blocks += [text(f"answer {at}")]
        blocks += [tool_use(call_id)] if calls else []
        events = [
            event_of_block(response, n, block, awaited=calls) for n, block in enumerate(blocks)
        ]
    elif reader.api == RESPONSES:
        thought = {**responses.reasoning(at), "encrypted_content": signed}
        items = [thought] if thinks else []
        items += [responses.message(f"answer {at}", at)]
        items += [responses.call(call_id, at)] if calls else []
        events = [responses.event_of(response, n, item) for n, item in enumerate(items)]
    elif reader.api == GEMINI:
        said = gemini.text(f"answer {at}")
        parts = [gemini.signed(said, signed) if thinks else said]
        parts += [gemini.call(args={"q": at})] if calls else []
        gemini.answers(story, *parts, model=reader.model)
        return gemini.call_ids(story)[-1] if calls else None
    elif reader.api == BEDROCK:
        thought = {"reasoningText": {"text": f"hm {at}", "signature": signed}}
        call: JsonObject = {"toolUse": {"toolUseId": call_id, "name": "look_up", "input": {}}}
        first: list[JsonObject] = [{"reasoningContent": thought}] if thinks else []
        told = [*first, {"text": f"answer {at}"}, *([call] if calls else [])]
        bedrock.answers(story, *told)
        return call_id if calls else None
    else:
        story.assistant(f"answer {at}")
        if calls:
            story.call(call_id)
    for event in events:
        story.happen(event)
    closing = ResponseCompleted(
        response=response,
        api=reader.api,
        model=reader.model,
        stop_reason="tool_use" if calls else "end_turn",
        envelope={"store": False},
    )
    story.happen(closing)
    return call_id if calls else None


def told(done: list[Turn]) -> tuple[Story, list[tuple[Reader, Request]]]:
    """Tell a conversation of such turns; return it, and the requests that were sent."""
    story, sent = Story(), list[tuple[Reader, Request]]()
    story.happen(ToolsDeclared(tools=(LOOK_UP,)))
    for turn in done:
        story.user(f"prompt {len(story.events)}")
        sent.append((turn.reader, asks(story, turn.reader)))
        call_id = answers(story, turn.reader, thinks=turn.thinks, calls=turn.calls)
        while call_id is not None:
            story.result(call_id, f"found {call_id}")
            sent.append((turn.reader, asks(story, turn.reader)))
            call_id = answers(story, turn.reader, thinks=turn.thinks, calls=False)
    story.user("and now?")
    return story, sent


def signatures(request: Request) -> list[str]:
    """What is signed or encrypted in a request, in order."""
    return [found for found in signed_in(dict(request.body)) if found != STAND_IN]


def signed_in(value: Any) -> Iterator[str]:
    """Each signature that JSON holds, in order."""
    if isinstance(value, list):
        for held in cast("list[Any]", value):
            yield from signed_in(held)
    if isinstance(value, dict):
        for name, held in cast("JsonObject", value).items():
            if name in ("signature", "encrypted_content", "thoughtSignature"):
                yield str(held)
            else:
                yield from signed_in(held)


def signed_by(story: Story, reader: Reader) -> list[str]:
    """All that a reader signed."""
    begin = ":".join(reader) + ":"
    dumped = [event.model_dump(mode="json") for _, event in story.events]
    return [signature for signature in signed_in(dumped) if signature.startswith(begin)]


def kind(event: object) -> str:
    return type(event).__name__.lower()


@examples(50)
@given(turns)
def test_what_a_reader_signed_comes_back_to_it_and_to_no_other(done: list[Turn]) -> None:
    story, _ = told(done)
    for reader in READERS:
        assert signatures(story.request(reader.options)) == signed_by(story, reader)


@examples(50)
@given(turns)
def test_no_reader_refuses_what_others_said(done: list[Turn]) -> None:
    story, _ = told(done)
    for reader in READERS:
        assert refused(reader.api, story.request(reader.options)) == ()


@examples(50)
@given(turns)
def test_thinking_stands_behind_the_very_prefix_it_was_signed_under(done: list[Turn]) -> None:
    story, _ = told(done)
    bound = dict[str, str | None]()
    prefix: str | None = None
    for _, event in story.events:
        if isinstance(event, RequestSent):
            prefix = event.prefix
        elif "reasoning" in kind(event):
            value: JsonObject = event.model_dump()["content"]["value"]
            bound[str(value.get("signature"))] = prefix
    for reader in READERS[:3]:
        for signature, digest in prefixes(story.request(reader.options)):
            assert bound[signature] == digest


def prefixes(request: Request) -> list[tuple[str, str]]:
    """Each signature, and the digest of what stands before the answer that it is of."""
    found = list[tuple[str, str]]()
    prefix = Prefix(None, request["tools"])
    for message in request["messages"]:
        digest = prefix.digest()
        found += [
            (block["signature"], digest)
            for block in message["content"]
            if block["type"] == "thinking"
        ]
        prefix.add(message["role"], message["content"])
    return found


@examples(50)
@given(turns)
def test_each_reader_gets_what_it_got_before_and_more(done: list[Turn]) -> None:
    story, sent = told(done)
    for reader, before in sent:
        now = story.request(reader.options)
        assert flat(now)[: len(flat(before))] == flat(before)


def flat(request: Request) -> list[Any]:
    said: list[Any] = request.body[SAID.get(request.api, "messages")]
    if request.api in (RESPONSES, "openai-chat"):
        return said
    held = "parts" if request.api == GEMINI else "content"
    return [(message["role"], block) for message in said for block in message[held]]


def test_a_hop_and_back_sends_ones_own_thinking_and_not_the_others() -> None:
    first, second = READERS[:2]
    story, _ = told([Turn(first, True, False), Turn(second, True, True), Turn(first, True, False)])
    request = story.request(first.options)
    assert signatures(request) == signed_by(story, first)
    assert {note.rule for note in request.report} == {"R9"}
    assert len(signed_by(story, second)) == 2


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (READERS[0], READERS[1]),
        (READERS[3], READERS[4]),
        (Reader(GEMINI, "gemini-3-a", "mine"), Reader(GEMINI, "gemini-3-b", "mine")),
        (READERS[8], READERS[9]),
    ],
    ids=lambda reader: f"{reader.api}-{reader.model}",
)
def test_who_answered_last_is_the_reader_where_none_is_named(first: Reader, second: Reader) -> None:
    story, _ = told([Turn(first, True, True), Turn(second, True, False)])
    request = story.request(Options(api=first.api, account="mine"))
    assert signatures(request) == signed_by(story, second)


def test_what_is_changed_before_it_takes_thinking_away_after_a_hop_too() -> None:
    first, second = READERS[:2]
    story, _ = told([Turn(first, True, False), Turn(second, True, False), Turn(first, True, False)])
    story.redact(2)
    request = story.request(first.options)
    assert signatures(request) == []
    assert {note.rule for note in request.report} == {"redacted", "R8", "R9"}
