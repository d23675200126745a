from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onrecord.domain.content import Blob, Document
from onrecord.domain.documents import (
    media_type_found,
    media_type_given,
    media_type_of,
    modality_of,
    name_of,
    reference_to,
)


@pytest.mark.parametrize(
    ("data", "name", "media_type"),
    [
        (b"%PDF-1.7", None, "application/pdf"),
        (b"\x89PNG\r\n\x1a\n", "photo.jpeg", "image/png"),
        (b"\xff\xd8\xff\xe0", None, "image/jpeg"),
        (b"GIF89a", None, "image/gif"),
        (b"RIFF\x00\x00\x00\x00WEBP", None, "image/webp"),
        (b"a,b", "table.csv", "text/csv"),
        (b"???", None, "application/octet-stream"),
    ],
)
def test_bytes_say_what_they_are_and_else_their_name_does(
    data: bytes, name: str | None, media_type: str
) -> None:
    assert media_type_of(data, name) == media_type


@pytest.mark.parametrize(
    ("media_type", "modality"),
    [
        ("text/html; charset=utf-8", "text"),
        ("application/ld+json", "text"),
        ("Application/JSON", "text"),
        ("application/atom+xml", "text"),
        ("application/xml", "text"),
        ("application/yaml", "text"),
        ("application/x-yaml", "text"),
        ("image/tiff", "image"),
        ("audio/mpeg", "audio"),
        ("video/mp4", "video"),
        ("application/pdf", "document"),
        ("application/x-unheard-of", "document"),
        ("", "document"),
    ],
)
def test_a_media_type_travels_as_a_modality(media_type: str, modality: str) -> None:
    assert modality_of(media_type) == modality


@pytest.mark.parametrize(
    ("given", "media_type"),
    [
        ("application/pdf", "application/pdf"),
        ("Image/PNG", "image/png"),
        (" text/html; charset=UTF-8 ", "text/html; charset=UTF-8"),
        ("text/html;", "text/html"),
        ("application/vnd.oasis.opendocument.text", "application/vnd.oasis.opendocument.text"),
        ("nonsense", None),
        ("a/b/c", None),
        ("image/", None),
        ("image /png", None),
        ("text/plain; a=\nb", None),
        ("text/plain\x00", None),
        ("a/" + "b" * 300, None),
        ("", None),
    ],
)
def test_a_media_type_is_a_type_a_subtype_and_perhaps_parameters(
    given: str, media_type: str | None
) -> None:
    assert media_type_given(given) == media_type


@pytest.mark.parametrize(
    ("declared", "first", "name", "media_type"),
    [
        ("image/png", b"\xff\xd8\xff", None, "image/jpeg"),
        ("image/png", b"???", "a.jpeg", "image/png"),
        (None, b"???", "a.csv", "text/csv"),
        ("application/octet-stream", b"???", "a.csv", "text/csv"),
        ("nonsense", b"???", None, "application/octet-stream"),
        ("application/pdf; version=2", b"%PDF-", None, "application/pdf; version=2"),
    ],
)
def test_bytes_then_what_was_said_then_the_name_tell_the_type_of_what_came_from_outside(
    declared: str | None, first: bytes, name: str | None, media_type: str
) -> None:
    assert media_type_found(declared, first, name) == media_type


@pytest.mark.parametrize(
    ("name", "media_type"),
    [
        ("flow.yaml", "application/yaml"),
        ("flow.YML", "application/yaml"),
        ("parcels.bpmn", "application/xml"),
        ("desk.ts", "text/plain"),
        ("prices.toml", "text/plain"),
        ("run.log", "text/plain"),
        ("find.sql", "text/plain"),
        ("app.js", "text/javascript"),
        ("table.csv", "text/csv"),
        ("README", "text/plain"),
        (None, "text/plain"),
    ],
)
def test_a_text_has_the_type_of_its_name_or_is_plain(name: str | None, media_type: str) -> None:
    found = media_type_found(None, b"a: 1", name, (b"a: 1\n",))
    assert (found, modality_of(found)) == (media_type, "text")


@pytest.mark.parametrize(
    ("pieces", "media_type"),
    [
        ((b"hello \xc3", b"\xa9\r\n\tworld\x0c"), "text/plain"),
        ((b"hello \xc3",), "application/octet-stream"),
        ((b"hello", b"\xff\xfe"), "application/octet-stream"),
        ((b"hello\x00",), "application/octet-stream"),
        ((b"\x1b[31mred",), "application/octet-stream"),
        (("\x9b".encode(),), "application/octet-stream"),
        ((b"",), "application/octet-stream"),
        ((), "application/octet-stream"),
    ],
)
def test_bytes_are_text_where_all_are_utf_8_without_control_characters(
    pieces: tuple[bytes, ...], media_type: str
) -> None:
    assert media_type_found(None, b"", None, pieces) == media_type


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("report.pdf", "report.pdf"),
        ("../../etc/passwd", "passwd"),
        ("C:\\papers\\report.pdf", "report.pdf"),
        ("papers/", "papers"),
        ("..", None),
        ("../..", None),
        ("/", None),
        (" ", None),
        ("", None),
        (None, None),
        ("a\x00b\x1b[31m\n.pdf", "ab[31m.pdf"),
        ("\u202ereport.exe", "report.exe"),
        ("\ud800.pdf", ".pdf"),
        ("a" * 300 + ".pdf", "a" * 251 + ".pdf"),
        ("a" * 300, "a" * 255),
        ("ä" * 200 + ".pdf", "ä" * 125 + ".pdf"),
        ("a." + "b" * 300, "a." + "b" * 253),
    ],
)
def test_the_name_of_a_document_is_the_last_part_of_its_path(
    given: str | None, name: str | None
) -> None:
    assert name_of(given) == name


@given(st.text())
def test_no_name_leads_anywhere_and_naming_again_changes_nothing(given: str) -> None:
    name = name_of(given)
    if name is not None:
        assert name not in ("", ".", "..")
        assert not set(name) & set("/\\\0")
        assert len(name.encode()) <= 255
        assert name_of(name) == name


def test_what_stands_for_a_document_tells_what_is_known_of_it() -> None:
    blob = Blob(sha256="0123456789abcdef", size=1)
    held = Document(media_type="image/png", name="a.png", blob=blob)
    assert reference_to(held) == {
        "document": "01234567",
        "name": "a.png",
        "media_type": "image/png",
    }
    linked = Document(media_type="image/png", url="https://example.com/a.png")
    assert list(reference_to(linked)) == ["url", "media_type"]
