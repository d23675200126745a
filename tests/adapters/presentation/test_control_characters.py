"""Text of anybody, made harmless."""

from __future__ import annotations

import json

from onrecord.adapters.presentation.control_characters import (
    escaped,
    escaped_in_json,
    escaped_lines,
    flat,
)

STEERING = "a\x1b[2J\u202eb\tc\nd"


def test_what_would_steer_a_terminal_is_shown_as_its_escape() -> None:
    assert escaped(STEERING) == r"a\x1b[2J\u202eb\tc\nd"
    assert escaped_lines(STEERING) == "a\\x1b[2J\\u202eb\\tc\nd"
    assert flat(" " + STEERING + "  e ") == r"a\x1b[2J\u202eb c d e"


def test_json_means_the_same_with_what_steers_escaped() -> None:
    text = json.dumps({"text": "a\u202e\x7fb", "more": [1]}, ensure_ascii=False, indent=1)
    harmless = escaped_in_json(text)
    assert "\u202e" not in harmless and "\x7f" not in harmless
    assert json.loads(harmless) == json.loads(text)
