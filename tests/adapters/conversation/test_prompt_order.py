"""A prompt's texts and documents reach each API in the order in which they were given."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import onrecord
from onrecord.projections.api import names
from tests.projections.refused import refused

PARTS = st.lists(st.sampled_from(["text", "png", "pdf"]), min_size=1, max_size=6)
HEADS = {"png": b"\x89PNG\r\n\x1a\n", "pdf": b"%PDF-1.7 "}


def part(kind: str, number: int) -> str | bytes:
    """A part that can be told from all others, in a request too."""
    mark = f"<{kind} {number}>"
    return mark if kind == "text" else HEADS[kind] + mark.encode()


def marks(given: list[str | bytes]) -> list[str]:
    """How parts stand in the JSON of a request: texts as they are, documents in base64."""
    return [each if isinstance(each, str) else base64.b64encode(each).decode() for each in given]


def places(chat: onrecord.Conversation, api: str, wanted: list[str]) -> list[int]:
    """Where each part stands in the request's own JSON; each is there once."""
    request = chat.request(api)
    assert refused(api, request) == ()
    body = json.dumps(dict(request.body), default=lambda data: base64.b64encode(data).decode())
    assert [body.count(mark) for mark in wanted] == [1] * len(wanted)
    return [body.index(mark) for mark in wanted]


@pytest.mark.parametrize("api", [name for name in names() if name != "ollama"])
@given(kinds=PARTS, is_list=st.booleans())
def test_each_api_is_sent_any_prompt_in_its_order(
    api: str, kinds: list[str], is_list: bool
) -> None:
    given_parts = [part(kind, number) for number, kind in enumerate(kinds)]
    chat = onrecord.connect("memory://").conversation("talk")
    chat.user(given_parts) if is_list else chat.user(*given_parts)
    found = places(chat, api, marks(given_parts))
    assert found == sorted(found)


@given(st.lists(st.sampled_from(["text", "png"]), min_size=1, max_size=6))
def test_ollama_has_the_texts_and_the_pictures_each_in_their_order(kinds: list[str]) -> None:
    given_parts = [part(kind, number) for number, kind in enumerate(kinds)]
    chat = onrecord.connect("memory://").conversation("talk")
    chat.user(*given_parts)
    for is_text in (True, False):
        wanted = marks([each for each in given_parts if isinstance(each, str) is is_text])
        found = places(chat, "ollama", wanted)
        assert found == sorted(found)


def test_a_prompt_of_texts_and_paths_is_in_its_order(tmp_path: Path) -> None:
    files: dict[str, Any] = {"a.png": part("png", 1), "b.pdf": part("pdf", 2)}
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    chat = onrecord.connect("memory://").conversation("talk")
    chat.user("look:", tmp_path / "a.png", "and", tmp_path / "b.pdf")
    wanted = ["look:", *marks([files["a.png"]]), '"and"', *marks([files["b.pdf"]])]
    for api in names():
        if api != "ollama":
            found = places(chat, api, wanted)
            assert found == sorted(found)
