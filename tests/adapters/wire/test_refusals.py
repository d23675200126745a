"""A call that is refused fails with an error of its SDK's family, which crosses processes too."""

from __future__ import annotations

import copy
import importlib
import pickle
import sys
from typing import Any, Final

import pytest

from onrecord import NotRecorded
from onrecord.adapters.wire.wires import refusal_of

SDKS: Final = {
    "anthropic-messages": "anthropic",
    "openai-chat": "openai",
    "openai-responses": "openai",
    "gemini": "google.genai.errors",
    "bedrock-converse": "botocore.exceptions",
    "ollama": "ollama",
}
WHY: Final = "the prompt could not be recorded"


@pytest.mark.parametrize(("api", "sdk"), SDKS.items())
def test_a_refusal_can_be_copied_and_pickled(api: str, sdk: str) -> None:
    importlib.import_module(sdk)
    refusal = refusal_of(api)(WHY)
    assert type(refusal) is not NotRecorded
    for again in (copy.copy(refusal), copy.deepcopy(refusal), pickle.loads(pickle.dumps(refusal))):
        assert type(again) is type(refusal)
        assert (str(again), vars(again)) == (WHY, vars(refusal))


def test_a_refusal_is_read_where_its_sdk_is_not_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    importlib.import_module("openai")
    stored = pickle.dumps(refusal_of("openai-chat")(WHY))
    monkeypatch.delitem(sys.modules, "openai")
    again: Any = pickle.loads(stored)
    assert type(again) is NotRecorded
    assert str(again) == WHY
