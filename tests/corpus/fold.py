"""What a recorded answer says, by another way than the product's: short, naive, of whole bodies.

It reads only what recordings hold, and knows no error but an input that is not JSON.
"""

import json
from typing import Any

from tests.corpus.wire import Exchange, JsonObject


def blocks_said(exchange: Exchange) -> list[JsonObject]:
    """The whole blocks of an answer, in order."""
    if exchange.is_stream:
        return folded([json.loads(line[6:]) for line in data_lines(exchange.body)])
    body = json.loads(exchange.body)
    return list(body["content"])


def data_lines(body: bytes) -> list[str]:
    return [line for line in body.decode().split("\n") if line.startswith("data: ")]


def folded(events: list[JsonObject]) -> list[JsonObject]:
    blocks: dict[int, JsonObject] = {}
    inputs: dict[int, str] = {}
    stopped: set[int] = set()
    ids: set[str] = set()
    for event in events:
        kind, index = event["type"], event.get("index", -1)
        if kind == "message_start":
            ids.add(event["message"]["id"])
            if len(ids) > 1:
                break
            begun: list[JsonObject] = event["message"]["content"]
            blocks.update(enumerate(begun))
            stopped.update(range(len(begun)))
        elif kind == "content_block_start":
            blocks[index] = json.loads(json.dumps(event["content_block"]))
        elif kind == "content_block_delta":
            apply(event["delta"], blocks[index], inputs, index)
        elif kind == "content_block_stop":
            stopped.add(index)
    for index, text in inputs.items():
        if text:
            blocks[index]["input"] = parsed(text)
    return [blocks[index] for index in sorted(stopped) if blocks[index].get("input") is not BROKEN]


BROKEN: Any = object()


def parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return BROKEN


def apply(delta: JsonObject, block: JsonObject, inputs: dict[int, str], index: int) -> None:
    if delta["type"] == "text_delta":
        block["text"] += delta["text"]
    elif delta["type"] == "thinking_delta":
        block["thinking"] += delta["thinking"]
    elif delta["type"] == "signature_delta":
        block["signature"] = delta["signature"]
    elif delta["type"] == "input_json_delta":
        inputs[index] = inputs.get(index, "") + delta["partial_json"]
    elif delta["type"] == "citations_delta":
        block["citations"] = (block.get("citations") or []) + [delta["citation"]]
    elif delta["type"] == "compaction_delta":
        block.update({key: delta[key] for key in delta if key != "type"})
    else:
        raise AssertionError(f"the recordings hold a {delta['type']}: teach it to this fold")
