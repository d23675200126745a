"""Answers with members of another type than they should be: they are recorded, and rendered."""

from __future__ import annotations

import json
from contextlib import suppress
from uuid import UUID

import pytest

from onrecord.adapters.wire.wires import WIRES
from onrecord.domain.errors import OnrecordError
from onrecord.projections.api import names
from onrecord.projections.apis.request import Options
from tests.contract.samples import BODIES, Sample
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
