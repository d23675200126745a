"""Programs that send batches of files to OpenAI's, and collect them: what their tests share."""

from __future__ import annotations

import io
import json
from typing import Any, Final

import openai

from onrecord.adapters.wire.clients.record import record
from onrecord.domain.jsontext import JsonObject
from tests.adapters.openai_clients import KEY
from tests.adapters.recorded_calls import Recorded
from tests.adapters.wire.batches.openai_batch_server import BATCH, CHAT, FileBatches, lines

RESPONSES: Final = "/v1/responses"


def asking(*names: str, url: str = CHAT, **more: Any) -> list[JsonObject]:
    said = "input" if url == RESPONSES else "messages"
    return [
        {
            "custom_id": name,
            "method": "POST",
            "url": url,
            "body": {
                "model": "gpt-5",
                said: [{"role": "user", "content": f"What of {name}?"}],
                **more,
            },
        }
        for name in names
    ]


def client(recorded: Recorded, server: FileBatches, retries: int = 0) -> openai.OpenAI:
    plain = openai.OpenAI(api_key=KEY, base_url=f"{server.url}/v1", max_retries=retries)
    return record(plain, recorded.binding)


def create(made: openai.OpenAI, requests: list[JsonObject], endpoint: Any = CHAT) -> None:
    file = ("requests.jsonl", io.BytesIO(lines(*requests)))
    given = made.files.create(file=file, purpose="batch").id
    made.batches.create(input_file_id=given, endpoint=endpoint, completion_window="24h")


def collect(made: openai.OpenAI, batch: str = BATCH) -> list[str]:
    """The names of the lines of a batch's results."""
    ended = made.batches.retrieve(batch)
    files = [file for file in (ended.output_file_id, ended.error_file_id) if file]
    read = b"".join(made.files.content(file).read() for file in files)
    return [json.loads(line)["custom_id"] for line in read.splitlines()]
