"""The examples of Ollama's own documents go through the capture and back, as they were said."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from onrecord.adapters.wire.ollama.stream import ChatStream
from onrecord.adapters.wire.ollama.wire import WIRE
from tests.corpus.conversations import alone
from tests.corpus.ollama_wire import NAME, examples, lines
from tests.corpus.played import play
from tests.corpus.table import RecordProperty, folder, report
from tests.corpus.wire import MISSING, is_there
from tests.projections.refused import refused

pytestmark = pytest.mark.skipif(not is_there(), reason=MISSING)


def test_every_answer_is_captured_without_loss(record_property: RecordProperty) -> None:
    blocks = 0
    for line in lines():
        stream = ChatStream()
        stream.feed(json.dumps(line).encode() + b"\n")
        answer = stream.finish()
        message = line.get("message", {})
        said = [block.value for block in answer.blocks]
        said += [part.value for part in answer.unfinished]
        joined: dict[str, Any] = {}
        for value in said:
            joined.update({"tool_calls": [value]} if "function" in value else value)
        assert joined == message
        assert answer.is_complete == line["done"]
        blocks += len(said)
    counts = Counter(files=1, answers=len(lines()), blocks=blocks, verbatim=blocks)
    report(record_property, "captured", counts, folder(NAME))
    assert counts["answers"] == sum(len(example.answer) for example in examples())


def test_every_request_says_what_its_messages_say() -> None:
    for example in examples():
        body = example.request
        sent = WIRE.read_request(json.dumps(body).encode())
        assert list(sent.messages) == body["messages"]
        assert {piece.message for piece in sent.pieces} == set(range(len(body["messages"])))


def test_every_answer_goes_back_as_it_came(tmp_path: Path, record_property: RecordProperty) -> None:
    counts = Counter(files=1)
    for place, line in enumerate(lines()):
        if not line["done"] or not line.get("message", {}).get("content"):
            continue
        played = play([alone("ollama", json.dumps(line).encode())], tmp_path / str(place))
        played.chat.user("Go on.")
        request = played.chat.request("ollama")
        assert request.body["messages"][1] == line["message"]
        assert refused("ollama", request) == ()
        counts.update(answers=1, blocks=1, verbatim=1)
    report(record_property, "rendered", counts, folder(NAME))
