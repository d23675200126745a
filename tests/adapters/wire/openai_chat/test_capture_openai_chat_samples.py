"""The repository's own samples of completions: every kind of delta, read as it came."""

from pathlib import Path
from typing import Any

import openai
import pytest

from onrecord.adapters.demo.services.connection import Reply
from onrecord.adapters.wire.answer import Answer
from onrecord.adapters.wire.openai_chat.answers import read_body
from onrecord.adapters.wire.openai_chat.stream import CompletionStream
from tests.adapters.replaying_server import replaying
from tests.adapters.wire.openai_chat.openai_chat_streams import plain, put_together
from tests.openai_chat_wire import SAMPLES, chunks

KINDS = {".sse": "text/event-stream", ".json": "application/json"}

# Samples whose message the official client does not read.
LOST_BY_THE_CLIENT = {"error-body"}


def wire_files() -> list[Path]:
    found = sorted(SAMPLES.iterdir())
    return [path for path in found if path.suffix in KINDS and "expected" not in path.name]


def read(path: Path, size: int) -> Answer:
    data = path.read_bytes()
    if path.suffix == ".json":
        return read_body(data)
    stream = CompletionStream()
    for chunk in chunks(data, [size]):
        stream.feed(chunk)
    return stream.finish()


@pytest.mark.parametrize(
    "path",
    [
        path
        for path in wire_files()
        if path.suffix == ".json" and path.stem not in LOST_BY_THE_CLIENT
    ],
    ids=lambda path: path.name,
)
def test_the_official_client_reads_the_same_message(path: Path) -> None:
    reply = Reply(200, {"content-type": KINDS[path.suffix]}, path.read_bytes())
    with (
        replaying(reply) as server,
        openai.OpenAI(api_key="k", base_url=server.url, max_retries=0) as client,
    ):
        create: Any = client.chat.completions.create
        message = create(model="m", messages=[{"role": "user", "content": "Hello"}]).choices[0]
    told = message.message.model_dump(mode="json", exclude_unset=True, warnings=False)
    answer = read(path, 64)
    parts = {part.index: part.value for part in answer.blocks}
    parts.update({part.index: part.value for part in answer.unfinished})
    assert plain(put_together([parts[index] for index in sorted(parts)])) == plain(told)
