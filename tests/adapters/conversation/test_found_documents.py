"""Documents anywhere in what a tool gave: what is found, where, and what is recorded of it."""

from __future__ import annotations

import base64
import json
import logging
from collections import OrderedDict, deque
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

import onrecord
from onrecord.adapters.conversation.found_documents import looked_through
from onrecord.domain.content import Document, Text, ToolCall
from onrecord.domain.events import (
    DocumentExtracted,
    ToolCallRecorded,
    ToolResultRecorded,
)
from onrecord.domain.log import Duplicate, Recorded
from tests.adapters.found_results import blob, call, extracted, recorded, result, short, text
from tests.search import examples

PDF = b"%PDF-1.7 the report"
PNG = b"\x89PNG\r\n\x1a\n a picture"
URL = Document(media_type="image/png", name="map.png", url="https://example.com/map.png")


@pytest.fixture
def chat() -> onrecord.Conversation:
    return onrecord.connect("memory://").conversation("support/4711")


def test_a_document_three_levels_down_is_found_and_told_by_its_reference(
    chat: onrecord.Conversation, tmp_path: Path
) -> None:
    report = tmp_path / "report.pdf"
    report.write_bytes(PDF)
    call(chat)
    chat.tool_result("call_1", {"hits": [{"title": "Report", "file": report}], "count": 1})
    event, found = recorded(chat)
    assert isinstance(found, DocumentExtracted)
    assert (found.path, found.call_id, found.tool_name) == ("/hits/0/file", "call_1", "look")
    assert (found.document.name, found.document.media_type) == ("report.pdf", "application/pdf")
    reference = {
        "document": short(found.document),
        "name": "report.pdf",
        "media_type": "application/pdf",
    }
    assert text(chat) == {"hits": [{"title": "Report", "file": reference}], "count": 1}
    assert result(chat).content[1:] == (found.document,)
    assert isinstance(event, ToolResultRecorded)


def test_documents_are_found_depth_first_in_the_order_of_insertion(
    chat: onrecord.Conversation,
) -> None:
    given = {"z": [b"1", {"b": b"2", "a": b"3"}], "a": (b"4", MappingProxyType({"k": b"5"}))}
    chat.tool_result("call_1", {**given, "q": deque([b"6"]), "o": OrderedDict(k=b"7")})
    stored = [b"".join(blob(chat, each.document)) for each in extracted(chat)]
    assert stored == [b"1", b"2", b"3", b"4", b"5", b"6", b"7"]
    assert [each.path for each in extracted(chat)] == [
        *("/z/0", "/z/1/b", "/z/1/a", "/a/0", "/a/1/k", "/q/0", "/o/k")
    ]


def test_the_path_is_a_json_pointer(chat: onrecord.Conversation) -> None:
    chat.tool_result("call_1", {"a/b": {"~c": {"": [0, PDF]}}})
    (found,) = extracted(chat)
    assert found.path == "/a~1b/~0c//1"


def test_a_document_by_itself_stands_at_the_top(chat: onrecord.Conversation) -> None:
    chat.tool_result("call_1", PDF)
    (found,) = extracted(chat)
    assert found.path == ""
    assert result(chat).content == (found.document,)


def test_a_flat_list_of_texts_and_documents_keeps_its_order(chat: onrecord.Conversation) -> None:
    chat.tool_result("call_1", ["before", PDF, Text(text="between"), URL, "after"])
    first, second = extracted(chat)
    told = ("before", first.document, "between", second.document, "after")
    assert result(chat).content == tuple(
        Text(text=each) if isinstance(each, str) else each for each in told
    )
    assert [first.path, second.path] == ["/1", "/3"]


def test_a_list_with_anything_else_in_it_is_told_as_json(chat: onrecord.Conversation) -> None:
    chat.tool_result("call_1", ["before", PDF, {"after": 1}])
    (found,) = extracted(chat)
    reference = {"document": short(found.document), "media_type": "application/pdf"}
    assert text(chat) == ["before", reference, {"after": 1}]
    assert result(chat).content[1:] == (found.document,)


def test_a_list_that_looks_like_content_blocks_is_data(chat: onrecord.Conversation) -> None:
    blocks = [
        {"type": "text", "text": "hi"},
        {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"},
        {"kind": "document", "media_type": "image/png", "url": "https://example.com/x.png"},
    ]
    chat.tool_result("call_1", {"content": blocks, "isError": True})
    assert text(chat) == {"content": blocks, "isError": True}
    assert extracted(chat) == []
    assert not result(chat).is_error


def test_a_text_is_no_sequence_to_look_through(chat: onrecord.Conversation) -> None:
    chat.tool_result("call_1", ["abc", "a"])
    assert text(chat) == ["abc", "a"]


def test_the_same_document_twice_in_one_result_is_one_and_each_place_refers_to_it(
    chat: onrecord.Conversation,
) -> None:
    chat.tool_result("call_1", {"first": PDF, "again": [bytearray(PDF), memoryview(PDF)]})
    (found,) = extracted(chat)
    assert found.path == "/first"
    reference = {"document": short(found.document), "media_type": "application/pdf"}
    assert text(chat) == {"first": reference, "again": [reference, reference]}
    assert len(result(chat).content) == 2


def test_the_same_document_again_in_a_flat_list_is_told_by_its_reference(
    chat: onrecord.Conversation,
) -> None:
    chat.tool_result("call_1", [PDF, "again", PDF])
    (found,) = extracted(chat)
    reference = json.dumps({"document": short(found.document), "media_type": "application/pdf"})
    said = result(chat).content
    assert said[:2] == (found.document, Text(text="again"))
    assert said[2:] == (Text(text=reference.replace(", ", ",").replace(": ", ":")),)


def test_the_same_bytes_under_two_names_are_two_documents_and_one_blob(
    chat: onrecord.Conversation, tmp_path: Path
) -> None:
    for name in ("a.pdf", "b.pdf"):
        (tmp_path / name).write_bytes(PDF)
    chat.tool_result("call_1", {"a": tmp_path / "a.pdf", "b": tmp_path / "b.pdf"})
    first, second = extracted(chat)
    assert first.document.blob == second.document.blob
    assert (first.document.name, second.document.name) == ("a.pdf", "b.pdf")


def test_the_same_document_in_two_results_is_told_of_each(chat: onrecord.Conversation) -> None:
    chat.tool_result("call_1", {"file": PDF})
    chat.tool_result("call_2", {"file": PDF})
    assert [each.call_id for each in extracted(chat)] == ["call_1", "call_2"]


def test_a_document_at_an_address_is_referred_to_by_it(chat: onrecord.Conversation) -> None:
    chat.tool_result("call_1", {"map": URL})
    assert text(chat) == {
        "map": {"url": URL.url, "name": "map.png", "media_type": "image/png"},
    }
    assert result(chat).content[1:] == (URL,)


@pytest.mark.parametrize(
    "url",
    [
        f"data:application/pdf;base64,{base64.b64encode(PDF).decode()}",
        f"DATA:;name=a;BASE64,{base64.b64encode(PDF).decode()}",
        f"data:,{quote(PDF)}",
    ],
)
def test_the_bytes_in_a_data_url_are_stored_once_and_never_stand_in_the_text(
    chat: onrecord.Conversation, url: str
) -> None:
    held = Document(media_type="application/pdf", name="a.pdf", url=url)
    chat.tool_result("call_1", {"file": held, "again": Document(media_type="a/b", url=url)})
    first, second = extracted(chat)
    assert blob(chat, first.document) == [PDF]
    assert first.document == held.model_copy(update={"url": None, "blob": first.document.blob})
    assert second.document.blob == first.document.blob
    assert text(chat)["file"] == {
        "document": short(first.document),
        "name": "a.pdf",
        "media_type": "application/pdf",
    }


def test_a_data_url_without_bytes_is_refused(chat: onrecord.Conversation) -> None:
    wrong = Document(media_type="image/png", url="data:image/png;base64,?")
    with pytest.raises(onrecord.InvalidContent, match="holds no base64"):
        chat.tool_result("call_1", {"file": wrong})


@pytest.mark.parametrize("given", [None, "", "text", 0, False, [], {}, {"a": [1, None, "b"]}])
def test_a_result_without_documents_makes_no_group(
    chat: onrecord.Conversation, given: object
) -> None:
    done = chat.tool_result("call_1", given)
    assert isinstance(done, onrecord.Unmatched)
    assert (done.first, done.last) == (1, 2)


def test_the_result_and_its_documents_are_one_append(chat: onrecord.Conversation) -> None:
    call(chat)
    done = chat.tool_result("call_1", {"a": PDF, "b": PNG})
    assert isinstance(done, Recorded)
    assert [each.type for each in chat.log.read(after=done.first - 1)] == [
        *("tool_result.recorded", "document.extracted", "document.extracted")
    ]
    assert done.last == chat.head().version


def test_the_same_result_with_documents_again_changes_nothing(chat: onrecord.Conversation) -> None:
    call(chat)
    chat.tool_result("call_1", {"a": PDF, "b": PNG})
    version = chat.head().version
    assert isinstance(chat.tool_result("call_1", {"a": PDF, "b": PNG}), Duplicate)
    assert chat.head().version == version


def test_a_document_of_a_result_is_named_by_the_tool_as_its_caller_knows_it(
    chat: onrecord.Conversation,
) -> None:
    chat.tools.declare([{"name": "find/files", "input_schema": {"type": "object"}}])
    chat.user("Look it up.")
    told = chat.request("anthropic-messages")["tools"][0]["name"]
    assert told != "find/files"
    made = ToolCall(id="call_1", name=told, arguments={})
    chat.log.append(ToolCallRecorded(call_id="call_1", name=told, content=made))
    chat.tool_result("call_1", PDF)
    (found,) = extracted(chat)
    assert found.tool_name == "find/files"


def test_a_document_of_a_result_that_matches_no_call_has_no_tool(
    chat: onrecord.Conversation,
) -> None:
    chat.tool_result("nowhere", PDF)
    (found,) = extracted(chat)
    assert (found.call_id, found.tool_name) == ("nowhere", None)


def test_a_summary_is_logged_without_names_and_content(
    chat: onrecord.Conversation, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "Ada.pdf").write_bytes(PDF)
    with caplog.at_level(logging.INFO, "onrecord"):
        chat.tool_result("call_1", {"a": tmp_path / "Ada.pdf", "b": PNG, "c": URL})
    (said,) = caplog.messages
    assert said.startswith("3 documents were found in the result of call call_1: ")
    assert said.endswith("1 of application/pdf, 2 of image/png")


def test_what_was_given_is_not_changed(chat: onrecord.Conversation) -> None:
    given = {"file": PDF, "list": [PNG, {"a": 1}]}
    chat.tool_result("call_1", given)
    assert given == {"file": PDF, "list": [PNG, {"a": 1}]}


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner),
)


@given(JSON)
def test_json_comes_out_as_it_went_in(value: Any) -> None:
    plain, found = looked_through(value)
    assert json.dumps(plain) == json.dumps(value)
    assert found == ()


WITH_DOCUMENTS = st.recursive(
    st.none() | st.integers() | st.text(st.characters(codec="utf-8")) | st.binary(max_size=2),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner),
)


def at(value: object, path: str) -> object:
    for token in path.split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        value = (
            cast("list[object]", value)[int(name)]
            if isinstance(value, list)
            else (cast("dict[str, object]", value)[name])
        )
    return value


@examples(60)
@given(WITH_DOCUMENTS)
def test_each_document_stands_where_its_path_says(value: Any) -> None:
    chat = onrecord.connect("memory://").conversation("support/4711")
    chat.tool_result("call_1", value)
    for each in extracted(chat):
        assert b"".join(blob(chat, each.document)) == at(value, each.path or "")
