"""The tag of a document names the call by the id and the name that the request has."""

import json
import re
from pathlib import Path
from typing import Any, cast

import pytest

import onrecord
from onrecord.domain.content import ToolCall
from onrecord.domain.events import ToolCallRecorded
from onrecord.projections.api import names

PDF = b"%PDF-1.7 a report"
PICTURE = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
ATTRIBUTE = re.compile(r'(tool-name|tool-call-id)="([^"]*)"')
MODELS = {"bedrock-converse": "us.amazon.nova-pro-v1:0"}


@pytest.mark.parametrize("api", sorted(names()))
@pytest.mark.parametrize(
    ("call_id", "name"), [("call:1|x", "look up"), ("call_1", "look_up"), ("c" * 90, "n" * 90)]
)
def test_a_tag_names_a_call_as_the_request_does(
    tmp_path: Path, api: str, call_id: str, name: str
) -> None:
    override = onrecord.CapabilityOverride(
        user=("text", "image", "document"), tool_result=("text",)
    )
    with onrecord.connect(f"sqlite:///{tmp_path / 'chat.db'}") as store:
        chat = store.conversation("tags")
        chat.user("Look it up.")
        call = ToolCall(id=call_id, name=name, arguments={})
        chat.log.append(ToolCallRecorded(call_id=call_id, name=name, content=call))
        chat.tool_result(call_id, ["See:", PDF, PICTURE])
        request = chat.request(api, model=MODELS.get(api), capability_override=override)
    body: Any = json.loads(json.dumps(dict(request.body), default=lambda data: data.hex()))
    texts = list(strings(body))
    tags = [text for text in texts if "<document " in text]
    others = {text for text in texts if "<document " not in text}
    assert tags
    for attribute, value in (pair for tag in tags for pair in ATTRIBUTE.findall(tag)):
        if attribute == "tool-name" or api != "gemini":
            assert value in others, (attribute, value)


def strings(value: Any) -> list[str]:
    """Return all texts in JSON."""
    match value:
        case str():
            return [value]
        case dict():
            return strings(list(cast("dict[str, Any]", value).values()))
        case list():
            return [text for item in cast("list[Any]", value) for text in strings(item)]
        case _:
            return []
