"""Pieces of messages: whatever a message of any API says is in one."""

from __future__ import annotations

from typing import Any

import pytest

from onrecord.projections.matching.message_pieces import message_pieces


@pytest.mark.parametrize(
    ("message", "kinds"),
    [
        ({"role": "assistant", "content": None, "refusal": "I will not"}, ["text"]),
        ({"role": "assistant", "content": None, "audio": {"id": "a-1"}}, ["document"]),
        (
            {"role": "assistant", "content": "", "function_call": {"name": "track"}},
            ["call"],
        ),
        ({"role": "assistant", "content": "", "surprise": {"of": "tomorrow"}}, ["server tool"]),
        (
            {"role": "model", "parts": [{"text": "Hello"}, {"functionCall": {"name": "track"}}]},
            ["text", "call"],
        ),
    ],
)
def test_no_message_is_lost(message: dict[str, Any], kinds: list[str]) -> None:
    assert [piece.kind for piece in message_pieces([message])] == kinds
