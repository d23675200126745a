"""What holds of the requests of every API, as its wire reads them."""

import json
from itertools import count
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onrecord.adapters.wire.api import Endpoint
from onrecord.adapters.wire.requests import WireRequest, instructions_set, tools_declared
from onrecord.adapters.wire.wires import WIRES, endpoint_of
from onrecord.domain import jsontext
from onrecord.domain.content import Native
from onrecord.domain.encoding import encode
from onrecord.domain.errors import InvalidContent, MalformedJson
from onrecord.domain.events import (
    Event,
    ToolsDeclared,
)
from onrecord.domain.jsontext import write
from onrecord.domain.new_events import blobs_of
from onrecord.domain.tools import ToolDefinition
from onrecord.projections.api import known_api, names
from onrecord.projections.apis.request import Options
from tests.contract.samples import (
    ROLES,
    JsonObject,
    values,
)
from tests.damage import damage, texts
from tests.projections.happenings import Story

each_api = pytest.mark.parametrize("api", names())


@each_api
@pytest.mark.parametrize("body", [b"", b"[]", b"7", b"{", b"\xff", b'{"a": 1, "a": 2}'])
def test_what_is_no_request_is_refused(api: str, body: bytes) -> None:
    with pytest.raises((MalformedJson, InvalidContent)):
        WIRES[api].read_request(body, path_of(api))


@each_api
@given(st.data())
def test_no_request_makes_its_reader_raise_anything_but_its_errors(
    api: str, data: st.DataObject
) -> None:
    member = known_api(api).messages
    named = st.sampled_from([member, "system", "instructions", "tools", "model", "toolConfig"])
    listed = values | st.lists(
        st.dictionaries(st.sampled_from(["role", "type", "content"]), values)
    )
    body = data.draw(st.dictionaries(named, listed))
    wire = WIRES[api]
    try:
        sent = wire.read_request(write(body), path_of(api))
        responses = (UUID(int=number) for number in count(1))
        wire.request_events(sent, sent.pieces, responses, None)
    except (InvalidContent, MalformedJson):
        return
    assert all(piece.encoded for piece in sent.pieces)


def rendered(api: str, outcome: str = "Rain and wind.") -> JsonObject:
    """The body of a request that this API makes of a round of calls."""
    story = Story()
    story.instruct("Be brief.")
    look = ToolDefinition(name="look", input_schema={"type": "object", "properties": {}})
    story.happen(ToolsDeclared(tools=(look,)))
    story.user("What is the weather in Oslo?")
    story.call("call_1", "look", arguments={"at": "the harbour"})
    story.result("call_1", outcome)
    story.answer("It rains.")
    story.user("And tomorrow?")
    body: JsonObject = json.loads(jsontext.write(story.request(Options(api=api)).body))
    return {"model": "m", "max_tokens": 9, **body}


def said_of(api: str, body: JsonObject) -> tuple[WireRequest, str]:
    """What a request is read as, and the texts of the events of all that it says."""
    sent = WIRES[api].read_request(write(body), path_of(api))
    events, blobs = WIRES[api].request_events(
        sent, sent.pieces, (UUID(int=at) for at in count(1)), None
    )
    known = texts([json.loads(encode(event)) for event in events], frozenset())
    return sent, "\n".join((*known, *(data.decode() for data in blobs.values()), *ROLES))


@each_api
def test_all_that_a_request_says_is_in_its_events(api: str) -> None:
    body = rendered(api)
    _, known = said_of(api, body)
    for text in ("in Oslo?", "the harbour", "Rain and wind.", "It rains.", "And tomorrow?"):
        assert text in known
    assert "Be brief." not in known


@each_api
def test_instructions_and_tools_are_kept_as_they_were_spelled(api: str) -> None:
    sent, _ = said_of(api, rendered(api))
    ((instructions,), _), ((tools,), _) = instructions_set(sent), tools_declared(sent)
    assert "Be brief." in encode(instructions).decode()
    assert [tool.value for tool in natives_of(tools)] == sent.tools
    assert "look" in json.dumps(sent.tools)


def natives_of(declared: Event) -> list[Native]:
    assert isinstance(declared, ToolsDeclared)
    return [tool for tool in declared.tools if isinstance(tool, Native)]


@each_api
def test_long_strings_of_a_request_move_out_of_its_events(api: str) -> None:
    sent = WIRES[api].read_request(write(rendered(api, "x" * 100_000)), path_of(api))
    events, blobs = WIRES[api].request_events(
        sent, sent.pieces, (UUID(int=at) for at in count(1)), None
    )
    assert list(blobs.values()) == [b"x" * 100_000]
    assert {blob.sha256 for event in events for blob in blobs_of(event)} == set(blobs)


@each_api
@given(st.data())
def test_damage_to_a_request_is_refused_or_its_blocks_are_said(
    api: str, data: st.DataObject
) -> None:
    body = rendered(api)
    for _ in range(data.draw(st.integers(1, 3))):
        damage(body, data)
    try:
        sent, known = said_of(api, body)
    except (InvalidContent, MalformedJson):
        return
    said = [piece.block for piece in sent.pieces]
    assert [text for text in texts(said, frozenset({"role", "type"})) if text not in known] == []


def path_of(api: str) -> str:
    """The path of a turn, as a gateway has it."""
    turns = [endpoint for endpoint in WIRES[api].endpoints if endpoint.kind == "turn"]
    return f"/gateway/v1/{turns[-1].path.replace('*', 'm-1')}"


@pytest.mark.parametrize(
    ("api", "endpoint"), [(api, end) for api, wire in WIRES.items() for end in wire.endpoints]
)
def test_an_endpoint_is_found_behind_whatever_a_gateway_puts_before_it(
    api: str, endpoint: Endpoint
) -> None:
    path = endpoint.path.replace("*", "m-1")
    for prefix in ("/", "/v1/", "/openai/deployments/gpt/"):
        found = endpoint_of(endpoint.method, prefix + path)
        assert found.kind == endpoint.kind
        assert found.api == api or endpoint.kind != "turn"
    assert endpoint_of("PATCH", f"/{path}").kind == "none"
    assert endpoint_of(endpoint.method, f"/{path}/unheard/of").kind == "none"
