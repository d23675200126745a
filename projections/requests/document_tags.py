"""The tags by which a model can tell whose a document is that travels on its own."""

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
