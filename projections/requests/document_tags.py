"""What stands before a document that travels on its own, or in place of one that cannot."""

from __future__ import annotations

from html import escape
from typing import Final

from hansard.domain.content import Document
from hansard.projections.history import Block

PREAMBLE: Final = "Documents extracted from tool call results:"

_SHORT: Final = 8


def tag_of(block: Block, document: Document) -> str:
    """Return the tag that stands before a document: the tool, its call, a short id, a file name.

    What is not known is left out; the short id is the beginning of the digest of the bytes.
    """
    attributes = {
        "tool-name": block.name,
        "tool-call-id": block.call_id,
        "document-short-id": document.blob.sha256[:_SHORT] if document.blob else None,
        "filename": document.name,
    }
    told = (
        f'{name}="{escape(value).replace("&#x27;", "&apos;")}" '
        for name, value in attributes.items()
        if value and value.strip()
    )
    return f"<document {''.join(told)}/>"


def words_for(document: Document) -> str:
    """Return what is said in place of a document that cannot go."""
    name = f" {document.name}" if document.name else ""
    return f"[The document{name} ({document.media_type}) cannot be shown here.]"
