"""Words and files that can be found again in a request: each bears a mark, `<version.part>`."""

from __future__ import annotations

import hashlib

from hypothesis import strategies as st

from onrecord.domain.content import Blob, Document
from tests.projections.happenings import Story

CALL_IDS = ["call_1", "call_2", "toolu_3", "call 4", "c" * 51]

FILES = {
    "image/png": b"\x89PNG\r\n\x1a\n a picture",
    "application/pdf": b"%PDF-1.4 a page",
    "text/plain": b"plain words",
    "audio/wav": b"RIFF a sound",
    "image/tiff": b"II* a scan",
    "text/csv": b"a,b",
    "application/zip": b"PK a box",
}
MADE = b"\x89PNG\r\n\x1a\n"
"""A picture that a model made."""
BLOBS = {hashlib.sha256(data).hexdigest(): data for data in (*FILES.values(), MADE)}

words = st.sampled_from(["hello", "go on ", "\n\n", "", " "])
call_ids = st.sampled_from(CALL_IDS)
media_types = st.sampled_from(list(FILES))


def marked(story: Story, said: str, part: int = 0) -> str:
    """The words with a mark; blank ones stay blank."""
    return f"<{len(story.events) + 1}.{part}>{said}" if said.strip() else said


def document_of(story: Story, media_type: str) -> Document:
    data = FILES[media_type]
    blob = Blob(sha256=hashlib.sha256(data).hexdigest(), size=len(data))
    return Document(media_type=media_type, name=marked(story, "file", 9), blob=blob)
