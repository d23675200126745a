"""Each kind of block that the services sent in recorded traffic, where that is at hand."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import pytest


def recorded_kinds(service: str) -> list[dict[str, Any]]:
    """Return one JSON object of each `type` in the traffic of a service; skip where there is none."""
    folder = Path(os.environ.get("ONRECORD_WIRE_CORPUS", "no folder")) / service
    kinds: dict[str, dict[str, Any]] = {}
    for path in sorted(folder.rglob("*.*")):
        if path.is_file():
            for value in _values(path.read_text(encoding="utf-8", errors="replace")):
                kinds.setdefault(value["type"], value)
    if not kinds:
        pytest.skip(
            "needs recorded traffic of the services: set ONRECORD_WIRE_CORPUS to its folder"
        )
    return list(kinds.values())


def _values(text: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects that have a `type`, those in lines of a stream and in texts too."""
    waiting: list[Any] = _parsed(text)
    while waiting:
        value: Any = waiting.pop()
        if isinstance(value, str):
            waiting += _parsed(value)
        elif isinstance(value, list):
            waiting += cast("list[Any]", value)
        elif isinstance(value, dict):
            members = cast("dict[str, Any]", value)
            waiting += members.values()
            if isinstance(members.get("type"), str):
                yield members


def _parsed(text: str) -> list[Any]:
    """Return the JSON of a text, or of its lines; nothing where none is JSON of more than a word."""
    found: list[Any] = []
    for part in (text, *text.splitlines()):
        if (part := part.removeprefix("data:").strip())[:1] in ("{", "["):
            with suppress(ValueError):
                found.append(json.loads(part))
                if part == text.strip():
                    break
    return found
