"""What providers' tools did, in words for models of others."""

from __future__ import annotations

import re
from typing import Any

import pytest

from onrecord.domain.content import (
    Document,
    HeldFile,
    ServerToolCall,
    ServerToolResult,
    Text,
    ToolCall,
    Url,
)
from onrecord.projections.apis.foreign import words_of


def gave(*parts: Text | Url | Document | HeldFile, **about: Any) -> str:
    is_error = about.pop("is_error", False)
    told = ServerToolResult(
        call_id="s", name="code_execution", content=parts, is_error=is_error, metadata=about
    )
    return words_of(told)


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        ({"query": "tides"}, ["query: tides"]),
        ({"queries": ["tides", "winds"]}, ["queries: tides; winds"]),
        ({"code": "a = 1\nprint(a)"}, ["code:", "a = 1", "print(a)"]),
        ({"server": "zip", "arguments": {"q": 1}}, ["server: zip", 'arguments: {"q":1}']),
        ({}, []),
        ("all of it", ["all of it"]),
    ],
)
def test_what_was_asked_stands_line_by_line(arguments: Any, lines: list[str]) -> None:
    call = ServerToolCall(id="s", name="web_search", arguments=arguments)
    assert words_of(call).split("\n") == ["[web_search was used.]", *lines]


def test_a_call_of_the_callers_says_that_it_was_called() -> None:
    call = ToolCall(id="c", name="look", arguments={"at": "it"})
    assert words_of(call) == "[look was called.]\nat: it"


def test_pages_have_their_titles_and_addresses() -> None:
    page = Url(url="https://a", title="A", about={"page_age": "1 day"})
    said = gave(page, Url(url="https://b"))
    assert said == "[code_execution gave:]\nA\nhttps://a\n1 day\nhttps://b"


def test_how_code_ended_is_told_where_it_ended_badly() -> None:
    assert gave(Text(text="4"), return_code=0) == "[code_execution gave:]\n4"
    failed = gave(Text(text="no"), is_error=True, return_code=2)
    assert failed == "[code_execution failed:]\nno\nreturn code 2"
    slow = gave(is_error=True, outcome="OUTCOME_DEADLINE_EXCEEDED")
    assert slow == "[code_execution failed:]\nit took too long"


def test_what_became_of_a_file_is_told() -> None:
    assert gave(is_file_update=True) == "[code_execution gave:]\nfile updated"
    assert gave(HeldFile(file_id="f")) == "[code_execution gave:]\n[file held by the provider as f]"


def test_nothing_is_said_to_be_nothing() -> None:
    assert gave() == "[code_execution gave:]\nnothing"


def test_long_texts_are_whole() -> None:
    long = "line\n" * 50_000
    assert gave(Text(text=long)).endswith(long)


def test_a_picture_is_named_and_shown_elsewhere() -> None:
    shown = Document(media_type="image/png", url="data:image/png;base64,AAAA")
    assert gave(shown) == "[code_execution gave:]\n[A picture (image/png).]"
    away = Document(media_type="image/png", url="https://a/b.png")
    assert "cannot be shown" in gave(away)


@pytest.mark.parametrize("name", ["web_search", "code_execution", "mcp", "advisor"])
def test_no_words_look_like_a_block_of_a_provider(name: str) -> None:
    call = words_of(ServerToolCall(id="srvtoolu_1", name=name, arguments={"query": "x"}))
    result = words_of(ServerToolResult(call_id="srvtoolu_1", name=name, content=(Text(text="y"),)))
    for said in (call, result):
        assert re.search(r"[<{]|tool_use|srvtoolu|\"type\"|_call\b", said) is None
