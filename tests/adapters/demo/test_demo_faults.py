"""What may go wrong on purpose, as the official SDK sees it."""

import gzip
import json
from threading import Event, Thread
from typing import cast

import anthropic
import httpx2
import pytest

from onrecord.adapters.demo.services.scenes import (
    Answer,
    Cut,
    Gzip,
    HangUp,
    HttpError,
    Scene,
    Stall,
    unauthorized,
)
from onrecord.adapters.demo.services.server import DemoServer
from tests.adapters.demo.demo_client import (
    GREETING,
    MODEL,
    ask,
    bare_stream,
    blocks,
    kinds,
    raw_events,
    serving,
    stream,
)
from tests.demo_faults import (
    broken_off,
    internal_error,
    overloaded,
    rate_limited,
    repeated,
    spliced,
)
from tests.patience import join

WAITING = 10


def message_of(error: anthropic.APIStatusError) -> str:
    body = cast("dict[str, dict[str, str]]", error.body)
    return body["error"]["message"]


@pytest.mark.parametrize(
    ("scene", "error"),
    [
        (unauthorized(), anthropic.AuthenticationError),
        (rate_limited(), anthropic.RateLimitError),
        (internal_error(), anthropic.InternalServerError),
        (overloaded(), anthropic.InternalServerError),
    ],
)
def test_http_errors_are_the_sdk_s_own(
    scene: HttpError, error: type[anthropic.APIStatusError]
) -> None:
    with serving([scene]) as (client, _), pytest.raises(error) as caught:
        ask(client)
    assert caught.value.status_code == scene.status
    assert message_of(caught.value) == scene.message
    assert caught.value.request_id


@pytest.mark.parametrize("first", [rate_limited(0.01), overloaded(), HangUp()])
def test_the_sdk_asks_again_after_a_passing_error(first: Scene) -> None:
    with serving([first, GREETING], retries=1) as (client, server):
        assert kinds(ask(client)) == ["text"]
        bodies = [received.body for received in server.requests]
    assert len(bodies) == 2
    assert bodies[0] == bodies[1]


def test_a_stream_breaks_after_exactly_as_many_bytes_as_told() -> None:
    cut = Answer(content=GREETING.content, faults=(Cut(after=700),))
    arrived: list[bytes] = []
    with (
        DemoServer([cut]) as server,
        pytest.raises(httpx2.RemoteProtocolError),
        bare_stream(server) as response,
    ):
        arrived.extend(response.iter_raw())
    assert sum(map(len, arrived)) == 700


def test_a_json_body_breaks_too() -> None:
    cut = Answer(content=GREETING.content, faults=(Cut(after=20),))
    with serving([cut]) as (client, _), pytest.raises(anthropic.APIConnectionError):
        ask(client)


def test_a_stalled_stream_goes_on_when_released() -> None:
    release = Event()
    stalled = Answer(content=GREETING.content, faults=(Stall(after=700, release=release),))
    done = Event()
    with serving([stalled]) as (client, _):
        events = raw_events(client)
        assert next(events).type == "message_start"

        def drain() -> None:
            for _ in events:
                pass
            done.set()

        reader = Thread(target=drain)
        reader.start()
        assert not done.is_set()
        release.set()
        assert done.wait(WAITING)
        join(reader)


def test_closing_the_server_ends_a_stall() -> None:
    stalled = Answer(content=GREETING.content, faults=(Stall(after=700, release=Event()),))
    with DemoServer([stalled]) as server:
        client = anthropic.Anthropic(api_key="demo", base_url=server.url)
        events = raw_events(client)
        assert next(events).type == "message_start"
    with client, pytest.raises(httpx2.RemoteProtocolError):
        list(events)


def test_an_error_event_ends_the_stream() -> None:
    failing = Answer(content=GREETING.content, faults=(broken_off(at=4),))
    overload = pytest.raises(anthropic.APIStatusError, match="Overloaded")
    with serving([failing]) as (client, _), overload:
        list(raw_events(client))


def test_malformed_events_reach_the_client() -> None:
    broken = spliced(before=3, raw=b"event: content_block_delta\ndata: {not json\n\n")
    scene = Answer(GREETING.content, faults=(broken,))
    with serving([scene]) as (client, _), pytest.raises(json.JSONDecodeError):
        list(raw_events(client))


def test_unknown_events_and_a_second_start_pass_through() -> None:
    news = spliced(before=2, raw=b'event: weather\ndata: {"type":"weather"}\n\n')
    scene = Answer(GREETING.content, faults=(news, repeated(at=0)))
    with serving([scene]) as (client, _):
        order: list[str] = [event.type for event in raw_events(client)]
    assert order[:2] == ["message_start", "message_start"]
    assert "weather" in order


def test_a_compressed_body_is_the_same_body() -> None:
    packed = Answer(GREETING.content, faults=(Gzip(),))
    with serving([packed, packed]) as (client, _):
        reply = client.messages.with_streaming_response.create(
            model=MODEL, max_tokens=64, messages=[{"role": "user", "content": "Hello"}]
        )
        with reply as response:
            raw = b"".join(response.http_response.iter_raw())
        assert json.loads(gzip.decompress(raw))["type"] == "message"
        assert blocks(stream(client)) == [*GREETING.content]


def test_an_exhausted_script_says_so() -> None:
    refusal = pytest.raises(anthropic.BadRequestError, match="no scene left")
    with serving([]) as (client, _), refusal:
        ask(client)
