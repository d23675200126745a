"""Values of Python in what a tool gave: those that JSON has a usual form of take it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum, IntEnum
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from pydantic import BaseModel, Field, SecretStr, computed_field, field_serializer

import onrecord
from tests.adapters.found_results import extracted, short, text

PDF = b"%PDF-1.7 the report"
PNG = b"\x89PNG\r\n\x1a\n a picture"


@pytest.fixture
def chat() -> onrecord.Conversation:
    return onrecord.connect("memory://").conversation("support/4711")


class Colour(Enum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


@dataclass
class Hit:
    title: str
    file: bytes


class Page(BaseModel):
    title: str
    file: Path | None = None
    secret: SecretStr = SecretStr("Ada")
    hidden: str = Field(default="Ada", exclude=True)

    @computed_field
    def length(self) -> int:
        return len(self.title)


class Masked(BaseModel):
    name: str

    @field_serializer("name")
    def masked(self, name: str) -> str:
        return "*" * len(name)


def test_values_that_json_has_a_usual_form_of_take_it(chat: onrecord.Conversation) -> None:
    given: Mapping[Any, Any] = {
        "when": datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        "day": date(2026, 1, 2),
        "id": UUID(int=7),
        "price": Decimal("1.10"),
        "colour": Colour.RED,
        "level": Level.HIGH,
        7: True,
        None: None,
        False: 1.5,
        Colour.RED: "key",
    }
    chat.tool_result("call_1", given)
    assert text(chat) == {
        "when": "2026-01-02T03:04:05Z",
        "day": "2026-01-02",
        "id": "00000000-0000-0000-0000-000000000007",
        "price": "1.10",
        "colour": "red",
        "level": 3,
        "7": True,
        "null": None,
        "false": 1.5,
        "red": "key",
    }


def test_dataclasses_and_models_are_mappings_of_their_members(
    chat: onrecord.Conversation, tmp_path: Path
) -> None:
    (tmp_path / "a.pdf").write_bytes(PDF)
    chat.tool_result("call_1", [Hit("one", PNG), Page(title="two", file=tmp_path / "a.pdf")])
    first, second = extracted(chat)
    assert (first.path, second.path) == ("/0/file", "/1/file")
    hit, page = text(chat)
    assert hit == {
        "title": "one",
        "file": {"document": short(first.document), "media_type": "image/png"},
    }
    assert {**page, "file": None} == {
        "title": "two",
        "file": None,
        "secret": "**********",
        "length": 3,
    }


def test_a_model_that_spells_itself_is_told_as_it_does(chat: onrecord.Conversation) -> None:
    chat.tool_result("call_1", {"who": Masked(name="Ada")})
    assert text(chat) == {"who": {"name": "***"}}
