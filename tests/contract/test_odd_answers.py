"""Answers that hold what nobody knows: it is kept, and they are recorded and rendered all the same."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import cast
from uuid import UUID

import pytest

from onrecord.adapters.wire.blob_bytes import pieces_of
from onrecord.adapters.wire.wires import WIRES
from onrecord.domain.encoding import encode
from onrecord.domain.errors import OnrecordError
from onrecord.projections.api import names
from onrecord.projections.apis.request import Options
from tests.adapters.wire.attempts import Closed, attempted
from tests.contract.samples import BODIES, STREAMS, JsonObject, Sample
from tests.damage import places
from tests.projections.happenings import Story
from tests.sent import events_of


@pytest.mark.parametrize("sample", BODIES, ids=str)
@pytest.mark.parametrize("odd", [["odd"], {"odd": 1}], ids=["list", "object"])
def test_a_text_of_an_answer_that_is_none_goes_to_every_api(sample: Sample, odd: object) -> None:
    body = json.loads(sample.data)
    for holder, name in list(places(body)):
        value = holder[name]
        if not isinstance(value, str):
            continue
        holder[name] = odd
        answer = WIRES[sample.api].read_body(json.dumps(body).encode(), "malformed", None)
        holder[name] = value
        story = Story()
        story.user("hi")
        for event in events_of(answer, response=UUID(int=1))[0]:
            story.happen(event)
        story.user("and?")
        for api in names():
            with suppress(OnrecordError):
                story.request(Options(api=api))


WHOLE_EVENTS = [one for one in STREAMS if one.path.stem != "cut-in-a-line"]
ENDED = [one for one in STREAMS if one.expected["complete"] and one.api != "bedrock-converse"]
UNHEARD = "said by nobody before"


@pytest.mark.parametrize("sample", WHOLE_EVENTS, ids=str)
def test_a_member_that_is_new_is_kept_wherever_it_stands_in_an_event(sample: Sample) -> None:
    """In what is recorded of the answer, or in its bytes."""
    events = sample.ways.events(sample.path.read_bytes())
    for holder in [one for event in events for one in objects_in(event)]:
        holder["unheardOf"] = {"odd": UNHEARD}
        wire = sample.cut(sample.ways.spelled(sample.ways.as_text(events)))
        del holder["unheardOf"]
        closed = attempted(sample.api, [wire], {"content-type": sample.content_type})
        if UNHEARD.encode() in wire and closed.raw is None:
            assert UNHEARD in recorded(closed), sorted(holder)


def objects_in(event: JsonObject) -> list[JsonObject]:
    within = (holder[name] for holder, name in places(event))
    return [event, *(cast("JsonObject", one) for one in within if isinstance(one, dict))]


def recorded(closed: Closed) -> str:
    """All that the events say, what was moved out of them as well."""
    [(_, blobs)] = closed.recordings
    texts = [encode(event) for event in closed.events]
    return b"".join((*texts, *(b"".join(pieces_of(it)) for it in blobs.values()))).decode(
        "utf-8", "replace"
    )


@pytest.mark.parametrize("sample", ENDED, ids=str)
@pytest.mark.parametrize("behind", [b"late words", b"late words\n\n", b'data: {"late'])
def test_what_stands_behind_the_last_event_is_kept(sample: Sample, behind: bytes) -> None:
    wire = sample.data.rstrip(b"\n") + b"\n\n" + behind
    closed = attempted(sample.api, [wire], {"content-type": sample.content_type})
    assert closed.raw == wire
