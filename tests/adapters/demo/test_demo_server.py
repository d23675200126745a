"""The demo server, driven by the official SDK as a user would."""

import base64
import json

import anthropic
import httpx2
import pytest

from onrecord.adapters.demo import support_agent
from onrecord.adapters.demo.services.scenes import Answer, JsonObject, Playback
from onrecord.adapters.demo.services.server import DemoServer
from tests.adapters.demo.demo_client import (
    GREETING,
    HELLO,
    MODEL,
    ask,
    bare_stream,
    blocks,
    kinds,
    raw_events,
    serving,
    snapshots,
    stream,
    unchanged,
)

FOLLOW_UP: JsonObject = {"role": "user", "content": support_agent.FOLLOW_UP}


def first_prompt() -> list[JsonObject]:
    """The content of the first message: the report and the question."""
    pdf: JsonObject = {
        "type": "base64",
        "media_type": "application/pdf",
        "data": base64.b64encode(support_agent.REPORT).decode(),
    }
    return [
        {"type": "document", "source": pdf, "title": "delivery-report-week-37.pdf"},
        {"type": "text", "text": support_agent.QUESTION},
    ]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def said(message: JsonObject) -> JsonObject:
    return {"role": "assistant", "content": message["content"]}


def results_of(message: JsonObject) -> JsonObject:
    return {
        "role": "user",
        "content": [
            {
                "type": "tool_result",
                "tool_use_id": block["id"],
                "content": support_agent.RESULTS[str(block["name"])],
            }
            for block in blocks(message)
            if block["type"] == "tool_use"
        ],
    }


class TestTheDemoConversation:
    def test_five_requests_lead_through_every_turn(self) -> None:
        prompt: JsonObject = {"role": "user", "content": [*first_prompt()]}
        with serving(support_agent.SupportAgent()) as (client, server):
            history: list[JsonObject] = [prompt]
            reading = stream(client, history)
            assert kinds(reading) == ["thinking", "text", "tool_use", "tool_use"]
            assert reading["stop_reason"] == "tool_use"

            history += [said(reading), results_of(reading)]
            searched = stream(client, history)
            assert kinds(searched)[0] == "redacted_thinking"
            assert kinds(searched)[-1] == "server_tool_use"
            assert searched["stop_reason"] == "pause_turn"

            history += [said(searched)]
            resumed = stream(client, history)
            assert kinds(resumed)[0] == "web_search_tool_result"
            assert sum(bool(block.get("citations")) for block in blocks(resumed)) == 2
            assert resumed["stop_reason"] == "end_turn"

            history += [said(resumed), FOLLOW_UP]
            with pytest.raises(httpx2.RemoteProtocolError):
                stream(client, history)
            assert kinds(stream(client, history)) == ["thinking", "text"]
            assert len(server.requests) == 5

    def test_the_broken_turn_may_be_kept_as_far_as_it_came(self) -> None:
        with serving(support_agent.SupportAgent()) as (client, _):
            history = through_the_first_exchange(client)
            seen: list[JsonObject] = []
            with pytest.raises(httpx2.RemoteProtocolError):
                seen.extend(snapshots(client, history))
            partial = seen[-1]
            assert kinds(partial) == ["thinking", "text"]
            text = str(blocks(partial)[1]["text"])
            assert text
            assert support_agent.LETTER.startswith(text)
            assert text != support_agent.LETTER
            go_on: JsonObject = {"role": "user", "content": "Please go on."}
            assert kinds(stream(client, [*history, said(partial), go_on])) == ["thinking", "text"]

    def test_json_and_stream_say_the_same(self) -> None:
        with serving(support_agent.SupportAgent()) as (client, _):
            prompt: JsonObject = {"role": "user", "content": [*first_prompt()]}
            assert ask(client, [prompt])["content"] == stream(client, [prompt])["content"]

    def test_the_report_is_a_pdf_that_a_reader_can_walk(self) -> None:
        report = support_agent.REPORT
        table = int(report.split(b"startxref\n")[1].split()[0])
        assert report[table:].startswith(b"xref\n")
        offsets = [int(line[:10]) for line in report[table:].splitlines() if line.endswith(b" n ")]
        assert [report[offset:].split()[0] for offset in offsets] == [
            b"%d" % n for n in range(1, 7)
        ]


def through_the_first_exchange(client: anthropic.Anthropic) -> list[JsonObject]:
    """Return the history up to and including the second prompt."""
    history: list[JsonObject] = [{"role": "user", "content": [*first_prompt()]}]
    reading = stream(client, history)
    history += [said(reading), results_of(reading)]
    history += [said(stream(client, history))]
    history += [said(stream(client, history))]
    return [*history, FOLLOW_UP]


class TestTheWire:
    def test_requests_are_kept_as_they_came(self) -> None:
        with serving([GREETING]) as (client, server):
            ask(client)
            (received,) = server.requests
        assert (received.method, received.path) == ("POST", "/v1/messages")
        assert received.headers["authorization"] == "Bearer demo"
        assert json.loads(received.body)["messages"] == HELLO

    def test_the_beta_endpoint_answers_too(self) -> None:
        with serving([GREETING]) as (client, server):
            reply = client.beta.messages.create(
                model=MODEL,
                max_tokens=64,
                messages=[{"role": "user", "content": "Hello"}],
                extra_query={"beta": "true"},
            )
            assert reply.stop_reason == "end_turn"
            assert server.requests[0].query == "beta=true"

    def test_headers_carry_request_and_organization(self) -> None:
        with serving([GREETING, GREETING]) as (client, _):
            replies = [
                client.messages.with_raw_response.create(
                    model=MODEL, max_tokens=64, messages=[{"role": "user", "content": "Hello"}]
                )
                for _ in range(2)
            ]
        ids = {reply.headers["request-id"] for reply in replies}
        assert len(ids) == 2
        assert replies[0].headers["content-type"] == "application/json"
        assert "anthropic-organization-id" in replies[0].headers

    def test_events_come_in_the_order_of_the_service(self) -> None:
        with serving([GREETING]) as (client, _):
            order = [event.type for event in raw_events(client)]
        deltas = order.count("content_block_delta")
        assert order == [
            "message_start",
            "content_block_start",
            *["content_block_delta"] * deltas,
            "content_block_stop",
            "message_delta",
            "message_stop",
        ]
        assert deltas > 1

    def test_pieces_of_the_body_do_not_follow_the_borders_of_events(self) -> None:
        with DemoServer([GREETING]) as server, bare_stream(server) as response:
            assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
            pieces = list(response.iter_raw())
        assert len(pieces) > 1
        assert not all(piece.endswith(b"\n\n") for piece in pieces)
        assert b'event: ping\ndata: {"type": "ping"}\n\n' in b"".join(pieces)

    def test_container_and_edits_reach_the_client_either_way(self) -> None:
        container: JsonObject = {"id": "container_01", "expires_at": "2030-01-01T00:00:00Z"}
        scene = Answer(
            content=GREETING.content,
            envelope={"container": container, "context_management": {"applied_edits": []}},
        )
        with serving([scene, scene]) as (client, _):
            whole = client.beta.messages.create(
                model=MODEL, max_tokens=64, messages=[{"role": "user", "content": "Hello"}]
            )
            with client.beta.messages.stream(
                model=MODEL, max_tokens=64, messages=[{"role": "user", "content": "Hello"}]
            ) as events:
                streamed = events.get_final_message()
        assert whole.container is not None
        assert whole.container == streamed.container
        assert whole.context_management == streamed.context_management
        assert whole.usage.output_tokens == streamed.usage.output_tokens

    def test_tokens_are_counted_without_a_scene(self) -> None:
        with serving([]) as (client, _):
            counted = client.messages.count_tokens(
                model=MODEL, messages=[{"role": "user", "content": "Hello"}]
            )
        assert counted.input_tokens > 0

    def test_a_played_body_arrives_byte_for_byte(self) -> None:
        body = b'event: message_stop\ndata: {"type":"message_stop"}\n\n'
        with DemoServer([Playback(body)]) as server, bare_stream(server) as response:
            assert response.read() == body

    @pytest.mark.anyio
    async def test_the_async_client_streams_and_asks(self) -> None:
        with DemoServer([GREETING, GREETING]) as server:
            async with anthropic.AsyncAnthropic(api_key="demo", base_url=server.url) as client:
                whole = await client.messages.create(
                    model=MODEL, max_tokens=64, messages=[{"role": "user", "content": "Hello"}]
                )
                async with client.messages.stream(
                    model=MODEL, max_tokens=64, messages=[{"role": "user", "content": "Hello"}]
                ) as events:
                    streamed = await events.get_final_message()
        assert [block.type for block in whole.content] == ["text"]
        assert unchanged(whole)["content"] == unchanged(streamed)["content"]
