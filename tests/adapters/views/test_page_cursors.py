"""The cursor of a page: short, plain characters, and the same key again."""

import re
from hashlib import sha256

import pytest

from onrecord.adapters.views.pages import PageCursors
from onrecord.projections.views.view import Row

CURSORS = PageCursors(lambda text: sha256(text.encode()).digest()[:16], "tenant")
TYPED = len("--after ")
KEYS: tuple[Row, ...] = (
    {"position": 1},
    {"last_position": 2**63 - 1},
    {"day": "2026-11-21", "api": "anthropic-messages", "model": "claude-sonnet-5"},
    {"day": "2026-11-21", "api": "bedrock-converse", "model": "us.amazon.nova-pro-v1:0"},
)
ODD_KEYS: tuple[Row, ...] = (
    {"day": "2026-11-21", "api": "x", "model": ""},
    {"day": "2026-11-21", "api": "x", "model": "--a, b/%2c \u00fc 'c' $(d) 59"},
    {"day": "59", "api": ".", "model": ","},
)


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_it_fits_with_its_option_into_a_line_of_80_columns(key: Row) -> None:
    assert len(CURSORS.after("page", {}, key)) + TYPED <= 80


@pytest.mark.parametrize("key", [*KEYS, *ODD_KEYS], ids=str)
def test_it_gives_the_key_again_and_is_read_as_it_is_by_any_shell(key: Row) -> None:
    cursor = CURSORS.after("page", {"actor": "ann"}, key)
    assert re.fullmatch(r"[A-Za-z0-9.][A-Za-z0-9_.,:%~-]+", cursor)
    read = CURSORS.key_in(cursor, "page", {"actor": "ann"}, tuple(key))
    assert read == key
    assert [type(value) for value in read.values()] == [type(value) for value in key.values()]
