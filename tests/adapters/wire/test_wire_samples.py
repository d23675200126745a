"""The hand-made samples of Anthropic's wire: all kinds are there, and the official SDK reads them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias, TypeGuard, cast, get_args

import anthropic
import httpx2
import pytest
from anthropic.types.beta import (
    BetaContentBlock,
    BetaRawContentBlockDelta,
    BetaRawMessageStreamEvent,
    BetaServerToolUseBlock,
    BetaStopReason,
    BetaTextCitation,
)
from pydantic import BaseModel, JsonValue

SAMPLES = Path(__file__).parents[2] / "samples" / "anthropic-messages"
STREAMS = sorted(path.stem for path in SAMPLES.glob("*.sse"))
BODIES = sorted(
    path.stem for path in SAMPLES.glob("*.json") if not path.name.endswith(".expected.json")
)
JsonObject: TypeAlias = dict[str, JsonValue]

# Streams that end in a fault, and what the SDK raises while it reads them.
FAULTS: dict[str, type[Exception]] = {
    "error-event": anthropic.APIStatusError,
    "error-event-first": anthropic.APIStatusError,
    "cut-in-a-character": UnicodeDecodeError,
}
# Streams whose message the SDK accumulates otherwise than it was said.
LOST_BY_THE_SDK = {
    "compaction-content-only": "adds encrypted_content: null",
    "compaction-failed": "adds encrypted_content: null",
    "spliced-message-start": "merges two messages to one",
    "max-tokens-in-tool-use": "takes the unfinished input for a whole one",
    "max-tokens-in-tool-use-stopped": "takes the unfinished input for a whole one",
}


def expected(name: str) -> JsonObject:
    return cast("JsonObject", json.loads((SAMPLES / f"{name}.expected.json").read_bytes()))


def said(name: str) -> list[JsonObject]:
    return cast("list[JsonObject]", expected(name)["blocks"])


def replaying(body: bytes, content_type: str, status: int = 200) -> anthropic.Anthropic:
    """Make a client for which every request is answered by `body`, in pieces of seven bytes."""

    def pieces() -> Iterator[bytes]:
        for start in range(0, len(body), 7):
            yield body[start : start + 7]

    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(status, headers={"content-type": content_type}, content=pieces())

    transport = httpx2.MockTransport(answer)
    return anthropic.Anthropic(
        api_key="demo", max_retries=0, http_client=httpx2.Client(transport=transport)
    )


def stream_of(name: str) -> anthropic.Anthropic:
    return replaying((SAMPLES / f"{name}.sse").read_bytes(), "text/event-stream; charset=utf-8")


def body_of(name: str, status: int = 200) -> anthropic.Anthropic:
    return replaying((SAMPLES / f"{name}.json").read_bytes(), "application/json", status)


def read_events(name: str) -> list[BetaRawMessageStreamEvent]:
    with stream_of(name) as client:
        return list(
            client.beta.messages.create(
                model="claude-sonnet-5",
                max_tokens=64,
                messages=[{"role": "user", "content": "Hello"}],
                stream=True,
            )
        )


def accumulated(name: str) -> JsonObject:
    with (
        stream_of(name) as client,
        client.beta.messages.stream(
            model="claude-sonnet-5",
            max_tokens=64,
            messages=[{"role": "user", "content": "Hello"}],
        ) as events,
    ):
        return as_sent_back(events.get_final_message())


def as_sent_back(message: BaseModel) -> JsonObject:
    # The SDK takes an unknown block for a text block; pydantic warns, and keeps all its keys.
    return message.model_dump(mode="json", exclude_unset=True, by_alias=True, warnings=False)


def is_model(member: object) -> TypeGuard[type[BaseModel]]:
    return isinstance(member, type) and issubclass(member, BaseModel)


def type_names(union: object) -> set[str]:
    """Return the `type` of each member of a union of the SDK's models."""
    found: set[str] = set()
    for member in cast("tuple[object, ...]", get_args(union)):
        if is_model(member):
            found.update(get_args(member.model_fields["type"].annotation))
        else:
            found.update(type_names(member))
    return found


def all_blocks() -> list[JsonObject]:
    return [block for name in {*STREAMS, *BODIES} for block in said(name)]


def data_lines() -> list[JsonObject]:
    lines = b"\n".join((SAMPLES / f"{name}.sse").read_bytes() for name in STREAMS).splitlines()
    whole = [line[6:] for line in lines if line.startswith(b"data: {") and line.endswith(b"}")]
    return [cast("JsonObject", json.loads(line)) for line in whole]


class TestCoverage:
    def test_every_sample_says_what_it_must_give(self) -> None:
        told = {
            path.name.removesuffix(".expected.json") for path in SAMPLES.glob("*.expected.json")
        }
        assert told == {*STREAMS, *BODIES}

    def test_every_block_type_of_the_sdk_occurs(self) -> None:
        assert type_names(BetaContentBlock) <= {str(block["type"]) for block in all_blocks()}

    def test_every_kind_of_citation_occurs(self) -> None:
        citations = [
            cast("JsonObject", citation)
            for block in all_blocks()
            for citation in cast("list[JsonValue]", block.get("citations") or [])
        ]
        assert {str(citation["type"]) for citation in citations} == type_names(BetaTextCitation)

    def test_every_server_tool_occurs(self) -> None:
        names = set(get_args(BetaServerToolUseBlock.model_fields["name"].annotation))
        assert names == {
            str(block["name"]) for block in all_blocks() if block["type"] == "server_tool_use"
        }

    def test_every_event_and_delta_occurs(self) -> None:
        events = data_lines()
        deltas = [cast("JsonObject", event["delta"]) for event in events if "delta" in event]
        kinds = {str(event["type"]) for event in events}
        assert type_names(BetaRawMessageStreamEvent) | {"ping", "error"} <= kinds
        assert type_names(BetaRawContentBlockDelta) <= {str(delta.get("type")) for delta in deltas}

    def test_every_stop_reason_occurs(self) -> None:
        envelopes = [cast("JsonObject", expected(name)["envelope"]) for name in STREAMS]
        reasons = {str(envelope.get("stop_reason")) for envelope in envelopes}
        assert set(get_args(BetaStopReason)) <= reasons


class TestTheSdkReads:
    @pytest.mark.parametrize("name", [name for name in STREAMS if name not in FAULTS])
    def test_every_stream(self, name: str) -> None:
        stopped = any(event.type == "message_stop" for event in read_events(name))
        assert stopped == expected(name)["complete"]

    @pytest.mark.parametrize(("name", "error"), FAULTS.items())
    def test_a_faulty_stream_up_to_its_fault(self, name: str, error: type[Exception]) -> None:
        with pytest.raises(error):
            read_events(name)

    @pytest.mark.parametrize(
        "name",
        [name for name in STREAMS if expected(name)["complete"] and name not in LOST_BY_THE_SDK],
    )
    def test_the_same_message_from_a_stream(self, name: str) -> None:
        message = accumulated(name)
        envelope = cast("JsonObject", expected(name)["envelope"])
        assert message["content"] == said(name)
        assert {key: message[key] for key in envelope} == envelope

    @pytest.mark.parametrize("name", [name for name in BODIES if name != "error-body"])
    def test_the_same_message_from_a_body(self, name: str) -> None:
        with body_of(name) as client:
            reply = client.beta.messages.create(
                model="claude-sonnet-5",
                max_tokens=64,
                messages=[{"role": "user", "content": "Hello"}],
            )
        message = as_sent_back(reply)
        assert message["content"] == said(name)

    def test_an_error_as_an_error(self) -> None:
        with (
            body_of("error-body", 429) as client,
            pytest.raises(anthropic.RateLimitError) as caught,
        ):
            client.beta.messages.create(
                model="claude-sonnet-5",
                max_tokens=64,
                messages=[{"role": "user", "content": "Hello"}],
            )
        body = cast("JsonObject", caught.value.body)
        assert body["error"] == expected("error-body")["error"]
