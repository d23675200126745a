from __future__ import annotations

import pytest

from hansard.domain.documents import media_type_of, modality_of


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
