"""What providers took and refused on record agrees with what is known of their models.

A request is read here by another way than the product's: short, naive, by the media types in it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final, cast
from urllib.parse import unquote

import pytest

from onrecord.domain.documents import Modality, modality_of
from onrecord.projections.apis.capabilities import capabilities_of
from onrecord.projections.apis.request import Options
from tests.corpus.interactions import FOLDERS, Call, calls
from tests.corpus.wire import MISSING, below, is_there

pytestmark = pytest.mark.skipif(not is_there(), reason=MISSING)

RESULTS: Final = {"tool_result", "function_call_output"}
RESULT_MEMBERS: Final = {"toolResult", "functionResponse", "function_response"}
PARTS: Final[dict[str, Modality]] = {
    "image": "image",
    "image_url": "image",
    "input_image": "image",
    "input_audio": "audio",
}
BEDROCK: Final[tuple[Modality, ...]] = ("image", "document", "video", "audio")

Taken = tuple[str, str, Modality, bool]
"""API, model, kind of document, whether in a result."""


def shown(value: Any, in_result: bool = False) -> Iterator[tuple[Modality, bool]]:
    """The documents of a request that its provider does not read as text."""
    if isinstance(value, list):
        for item in cast("list[Any]", value):
            yield from shown(item, in_result)
    if not isinstance(value, dict):
        return
    told = cast("dict[str, Any]", value)
    inside = in_result or told.get("type") in RESULTS or told.get("role") == "tool"
    modality = kind(told)
    if modality is not None:
        yield modality, inside
    for name, held in told.items():
        yield from shown(held, inside or name in RESULT_MEMBERS)


def kind(told: dict[str, Any]) -> Modality | None:
    name = told.get("type")
    if name in PARTS:
        return PARTS[name]
    media_types = re.findall(r"(?:application|image|audio|video)/[\w.+-]+", json.dumps(told)[:400])
    if name in ("document", "file", "input_file"):
        return "document" if media_types and media_types[0] == "application/pdf" else None
    for member in ("inlineData", "inline_data", "fileData", "file_data"):
        if isinstance(told.get(member), dict) and media_types:
            return modality_of(media_types[0])
    for modality in BEDROCK:
        if '"source"' in (held := json.dumps(told.get(modality))) and "s3Location" not in held:
            return modality
    return None


def model_of(call: Call, body: dict[str, Any]) -> str:
    in_path = re.search(r"/models?/([^/:]+(?:%3A\d+|:\d+)?)", call.path)
    return str(body.get("model") or (unquote(in_path[1]) if in_path else ""))


def on_record(*, accepted: bool) -> set[Taken]:
    found: set[Taken] = set()
    names = below(*(f"{folder}/*/*.json" for folder in FOLDERS))
    for call in (call for name in names for call in calls(name)):
        if call.api and call.is_accepted == accepted and call.request[:1] == b"{":
            body: dict[str, Any] = json.loads(call.request)
            model = model_of(call, body)
            found |= {(call.api, model, *one) for one in shown(body)}
    return found


def is_taken(api: str, model: str, modality: Modality, in_result: bool) -> bool:
    known = capabilities_of(api, model, Options(api=api))
    return modality in (known.tool_result if in_result else known.user)


def test_what_was_answered_is_known_to_be_taken() -> None:
    answered = on_record(accepted=True)
    assert {one for one in answered if not is_taken(*one)} == set()
    if not answered:
        pytest.skip("no recording shows a document")


def test_what_was_refused_for_its_kind_is_known_not_to_be_taken() -> None:
    refused = on_record(accepted=False)
    sound: Taken = ("openai-chat", "gpt-5-mini", "audio", False)
    claude = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
    film: Taken = ("bedrock-converse", claude, "video", False)
    assert not any(is_taken(*one) for one in refused & {sound, film})
