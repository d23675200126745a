"""Forms that upload files are told apart unread, and the lines of a batch's are read."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from typing import Any

import httpx2
import pytest

from onrecord.adapters.wire.forms import is_of_batch, is_passing, lines_of
from onrecord.adapters.wire.openai_chat.wire import BATCHES
from onrecord.domain.errors import InvalidContent, OnrecordError
from onrecord.domain.jsontext import JsonObject
from tests.adapters.wire.batches.openai_batch_server import ANSWERED, lines

URL = "http://127.0.0.1/v1/files"


def form(content: Any, purpose: str = "batch", **fields: str) -> httpx2.Request:
    data = {"purpose": purpose, **fields}
    return httpx2.Request("POST", URL, data=data, files={"file": ("a.jsonl", content)})


def is_batch(request: httpx2.Request, **headers: str) -> bool:
    return is_of_batch({**request.headers, **headers}, request.stream)


def test_a_form_for_a_batch_is_known() -> None:
    assert is_batch(form(b"{}"))
    assert is_batch(form(b"{}", **{"expires_after[seconds]": "3600"}))
    assert not is_batch(form(b"{}", "user_data"))
    assert not is_batch(httpx2.Request("POST", URL, json={"purpose": "batch"}))
    assert not is_batch(form(b'name="purpose"\r\n\r\nbatch\r\n', "user_data"))


def test_a_file_that_is_too_long_or_of_unknown_length_is_not_read() -> None:
    assert not is_batch(form(b"{}"), **{"content-length": str(300 * 1024**2)})
    assert not is_batch(form(b"{}"), **{"content-length": ""})


def test_a_file_is_not_touched_to_know_what_it_is() -> None:
    class Unread(BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            raise AssertionError("the file was read")

    assert is_batch(form(Unread(b"{}")))


def test_a_body_that_gives_its_bytes_but_once_is_not_read() -> None:
    def pieces() -> Iterator[bytes]:
        raise AssertionError("the body was read")
        yield b""

    headers = {"content-type": "multipart/form-data; boundary=x", "content-length": "9"}
    request = httpx2.Request("POST", URL, content=pieces(), headers=headers)
    assert not is_batch(request)
    assert is_passing(request.headers, request.stream)
    assert not is_passing(form(b"{}").headers, form(b"{}").stream)
    assert not is_passing({}, request.stream)


@pytest.mark.parametrize("content", [b"a\nb\r\n\n c", b"a\r\nb\n\n c\r\n\r\n"])
def test_the_lines_of_the_file_in_a_form_are_read(content: bytes) -> None:
    assert [line.strip() for line in lines_of(form(content).read())] == [b"a", b"b", b"c"]


def test_a_file_may_hold_what_looks_like_its_end() -> None:
    content = b"--\r\n--x\r\nfilename=\r\n"
    assert b"".join(lines_of(form(content).read())) == content


@pytest.mark.parametrize(
    "body", [b"", b"{}", b"--x", b"--x--\r\n", b"--x\r\n", b"--x\r\n\r\n\r\n--x", b"\r\n\r\n"]
)
def test_what_is_no_form_with_a_file_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidContent):
        list(lines_of(body))


@pytest.mark.parametrize(
    "line",
    [b"[]", b"no json", b'{"custom_id": "a", "url": "/v1/responses"}', b'{"custom_id": 1}'],
)
def test_a_line_that_is_no_request_makes_it_no_batch(line: bytes) -> None:
    request = b'{"custom_id": "b", "url": "/v1/responses", "body": {}}\n'
    with pytest.raises(OnrecordError):
        BATCHES.entries(form(request + line).read())


def test_the_name_in_a_long_line_is_known_in_both_orders() -> None:
    (first, _) = ANSWERED
    turned: JsonObject = {key: first[key] for key in ("custom_id", "response", "error")}
    assert BATCHES.lines is not None
    for line in (lines(first), lines(turned)):
        assert BATCHES.lines.name_in(line[:60]) == "a"
    assert BATCHES.lines.name_in(b'{"response": {}') is None
