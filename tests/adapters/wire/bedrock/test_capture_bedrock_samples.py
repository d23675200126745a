"""The repository's own samples of Converse answers: every kind of event, read as it came."""

import base64
import json
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import pytest

from onrecord.adapters.demo.services.connection import Reply
from onrecord.adapters.wire.answer import Answer
from onrecord.adapters.wire.bedrock.stream import ConverseStream, read_body
from onrecord.adapters.wire.eventstream import FRAMES
from tests.adapters.replaying_server import replaying
from tests.bedrock_wire import SAMPLES, JsonObject, chunks, frames_of

EVENTS, BODY = ".events", ".json"

# Samples whose message the official client does not read: it drops members that it does not know.
LOST_BY_THE_CLIENT = {"unknown-block"}
PADDING = "p"


def wire_files() -> list[Path]:
    found = sorted(SAMPLES.iterdir())
    return [path for path in found if path.suffix == EVENTS or _is_body(path)]


def _is_body(path: Path) -> bool:
    return path.suffix == BODY and not path.name.endswith(".expected.json")


def expected_of(path: Path) -> JsonObject:
    expected: JsonObject = json.loads(path.with_name(f"{path.stem}.expected.json").read_bytes())
    return expected


def data_of(path: Path) -> bytes:
    """The bytes of a sample; a stream may lack its end."""
    if path.suffix == BODY:
        return path.read_bytes()
    frames = frames_of(path.read_text())
    return frames[: len(frames) - int(expected_of(path).get("cut", 0))]


def read(path: Path, size: int) -> Answer:
    data = data_of(path)
    if path.suffix == BODY:
        return read_body(data)
    stream = ConverseStream()
    for chunk in chunks(data, [size]):
        stream.feed(chunk)
    return stream.finish()


def as_text(value: Any) -> str:
    """JSON text, for it shows nulls, and what is an integer; the order of keys is the stream's."""
    return json.dumps(value, indent=1, sort_keys=True)


@pytest.mark.parametrize(
    "path",
    [path for path in wire_files() if path.suffix == BODY and path.stem not in LOST_BY_THE_CLIENT],
    ids=lambda path: path.name,
)
def test_the_official_client_reads_the_same_message(path: Path) -> None:
    reply = Reply(200, {"content-type": "application/json"}, path.read_bytes())
    with replaying(reply) as server:
        asked = client_of(server.url).converse(modelId="m", messages=[])
    message = asked.get("output", {}).get("message", {"content": []})
    assert as_text(plain(message["content"])) == as_text(expected_of(path)["blocks"])


@pytest.mark.parametrize("name", ["text", "reasoning-redacted", "server-tool", "image"])
def test_the_official_client_reads_the_same_events(name: str) -> None:
    path = SAMPLES / f"{name}{EVENTS}"
    reply = Reply(200, {"content-type": FRAMES}, data_of(path))
    with replaying(reply) as server:
        events = list(client_of(server.url).converse_stream(modelId="m", messages=[])["stream"])
    said = [json.loads(line) for line in path.read_text().splitlines()]
    assert plain(events)[1:-2] == [without_padding(one) for one in said][1:-2]


def without_padding(told: JsonObject) -> JsonObject:
    return {
        kind: {name: value for name, value in data.items() if name != PADDING}
        for kind, data in told.items()
    }


def client_of(url: str) -> Any:
    boto3: Any = import_module("boto3")
    config: Any = import_module("botocore.config")
    return boto3.client(
        "bedrock-runtime",
        region_name="us-east-1",
        endpoint_url=url,
        aws_access_key_id="k",
        aws_secret_access_key="s",
        config=config.Config(retries={"max_attempts": 0}),
    )


def plain(value: Any) -> Any:
    """A value of the client's as the wire has it: bytes in base64."""
    match value:
        case bytes():
            return base64.b64encode(value).decode()
        case dict():
            members = cast("JsonObject", value).items()
            return {name: plain(held) for name, held in members}
        case list():
            return [plain(held) for held in cast("list[Any]", value)]
        case _:
            return value
