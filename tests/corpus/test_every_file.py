"""No recording is passed over: a test of its API reads it, or what it holds says why none does."""

from __future__ import annotations

import json
import re
from typing import Final

import pytest

from tests.corpus import (
    bedrock_wire,
    conversations,
    gemini_wire,
    ollama_wire,
    openai_chat_wire,
    openai_responses_wire,
    wire,
)
from tests.corpus.interactions import FOLDERS, calls
from tests.corpus.wire import CORPUS, MISSING, is_there, why_none

pytestmark = pytest.mark.skipif(not is_there(), reason=MISSING)

# Endpoints of the services at which nothing is said: tokens are counted, or texts made to numbers.
NO_TURN: Final = re.compile(r"count-?_?tokens|countTokens|[eE]mbed")


def everything() -> list[str]:
    """All files that lie with recordings."""
    paths = (path for folder in FOLDERS for path in (CORPUS / folder).rglob("*"))
    return sorted(str(path.relative_to(CORPUS)) for path in paths if path.is_file())


def recordings() -> list[str]:
    """Those that hold traffic."""
    return [name for name in everything() if not why_none(name)]


def captured() -> set[str]:
    """What the tests of the captures read."""
    readers = (bedrock_wire, gemini_wire, openai_chat_wire, openai_responses_wire, wire)
    return {ollama_wire.NAME, *(name for reader in readers for name in reader.files())}


def why_not(name: str) -> str:
    """Why nothing of a recording can go on; empty if it should."""
    if gemini_wire.INTERACTIONS in name:
        return "the Interactions API, which Onrecord does not speak"
    recorded = calls(name) if name.endswith(".json") else ()
    paths = [call.path for call in recorded]
    if paths and all(NO_TURN.search(path) for path in paths):
        return "no turn: tokens are counted, or texts made to numbers"
    if recorded and not any(call.api and call.is_accepted for call in recorded):
        return "each of its turns was refused"
    is_error = name.endswith(".json") and "error" in json.loads((CORPUS / name).read_bytes())
    return "an error alone" if is_error and not recorded else ""


def test_there_is_traffic() -> None:
    assert recordings(), f"no recording below {CORPUS}"
    assert {name for name in captured() if (CORPUS / name).is_file()}


def test_every_recording_goes_on_with_every_api_or_says_why_not() -> None:
    left = set(recordings()) - set(conversations.files())
    assert [name for name in sorted(left) if not why_not(name)] == []


@pytest.mark.parametrize("name", everything())
def test_what_is_no_recording_says_why(name: str) -> None:
    why = why_none(name)
    if why:
        pytest.skip(f"{name} is no recording: {why}")
    assert name in captured() or why_not(name)
