"""Results of a batch are read line by line, wherever their chunks end."""

from __future__ import annotations

import json

import pytest

from onrecord.adapters.wire.bodies.answer_body import Limits
from onrecord.adapters.wire.bodies.batch_answers import ResultLines
from onrecord.adapters.wire.wires import WIRES
from tests.adapters.wire.batches.batch_server import MIXED, succeeded


def lines_read(limits: Limits, *chunks: bytes) -> list[tuple[str, str | None]]:
    kept: list[tuple[str, str | None]] = []
    batches = WIRES["anthropic-messages"].batches
    assert batches is not None
    wire = batches.lines
    assert wire is not None
    lines = ResultLines(
        "anthropic-messages",
        wire,
        lambda results: kept.extend((it.name, it.answer.interruption) for it, _ in results),
        limits,
    )
    lines.answered(200, {})
    for chunk in chunks:
        assert not lines.feed(chunk)
        lines.write_out()
    lines.finish()
    return kept


@pytest.mark.parametrize("size", [1, 7, 4096])
def test_lines_are_read_wherever_their_chunks_end(size: int) -> None:
    body = b"".join(json.dumps(line).encode() + b"\r\n" for line in MIXED).rstrip()
    chunks = [body[at : at + size] for at in range(0, len(body), size)]
    read = lines_read(Limits(), *chunks)
    assert read == [("a", None), ("b", None), ("c", "error"), ("d", "error"), ("e", "error")]


@pytest.mark.parametrize("size", [16, 64, 10**6])
def test_a_line_that_is_too_long_is_recorded_as_such(size: int) -> None:
    lines = [succeeded("a", "x" * 5000), succeeded("b", "Green.")]
    body = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    chunks = [body[at : at + size] for at in range(0, len(body), size)]
    assert lines_read(Limits(read=1000), *chunks) == [("a", "oversized"), ("b", None)]


@pytest.mark.parametrize(
    "line", [b"[]", b"{}", b"no json", b'{"custom_id": 1, "result": {}}', b'{"custom_id": "a"}']
)
def test_a_line_that_is_no_result_keeps_no_other_from_being_recorded(line: bytes) -> None:
    told = json.dumps(succeeded("b", "Green.")).encode()
    assert lines_read(Limits(), line + b"\n" + told) == [("b", None)]
