"""What stands before a document that travels on its own, or in place of one that cannot.

The two forms are those of Camunda's agent connectors: `short-id` as first described,
`doc-reference` as released. Attributes have a fixed order; what is blank or not known is left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape
from typing import Final, Generic, Literal, TypeAlias, TypeVar

from onrecord.domain.content import Document
from onrecord.domain.documents import document_id, short_id
from onrecord.projections.history.held_documents import is_remote
from onrecord.projections.history.history import Block

Form: TypeAlias = Literal["short-id", "doc-reference"]
"""The name of a form of tags."""

PREAMBLE: Final = "Documents extracted from tool call results:"
_PREAMBLES: Final = {
    "short-id": PREAMBLE,
    "doc-reference": "Documents extracted from tool calls (<doc /> tag + content pair):",
}
_OF_SIGNALS: Final = "Documents extracted from event data (<doc /> tag + content pair):"

_WEB: Final = ("https://", "http://")
_STORE: Final = "onrecord"

# What XML 1.0 has no place for (W3C, "Extensible Markup Language", production 2).
_ILLEGAL: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def preamble(form: Form) -> str:
    """Return what stands before the documents of a round's results."""
    return _PREAMBLES[form]


def preamble_of_signal(form: Form) -> str | None:
    """Return what stands before the documents of a signal, if anything does."""
    return _OF_SIGNALS if form == "doc-reference" else None


def tag_of(block: Block, document: Document, form: Form = "short-id") -> str:
    """Return the tag that stands before a document: the tool, its call, which document it is."""
    if form == "short-id":
        return _tag("document", _short(block, document))
    return _tag("doc", _reference(block, document))


def texts_before(
    block: Block, document: Document, form: Form, before: Block | None = None
) -> list[str]:
    """Return the texts that stand before a document that is a block of its own.

    `before` is the block that comes before it: only the first document of a signal has a preamble.
    """
    tag = tag_of(block, document, form)
    if before is not None and before.mark == "document" and before.place == block.place:
        return [tag]
    opening = preamble_of_signal(form) if block.signal else preamble(form)
    return [opening, tag] if opening and (block.signal or block.call_id) else [tag]


def words_for(document: Document) -> str:
    """Return what is said in place of a document that cannot go.

    An address of the web is told: a tool of the model's may read it, and a result may hold no more.
    """
    name = f" {document.name}" if document.name else ""
    url = document.url or ""
    place = f" at {url}" if url.lower().startswith(_WEB) else ""
    return f"[The document{name} ({document.media_type}){place} cannot be shown here.]"


def _short(block: Block, document: Document) -> dict[str, str | None]:
    blob = document.blob
    return {
        "tool-name": block.name,
        "tool-call-id": block.call_id,
        "document-short-id": short_id(document_id(blob.sha256)) if blob else None,
        "filename": document.name,
    }


def _reference(block: Block, document: Document) -> dict[str, str | None]:
    """Return the attributes of the later form; of what another server holds, its address."""
    call = {"toolName": block.name, "toolCallId": block.call_id}
    if document.blob is not None:
        stored = {"documentId": document_id(document.blob.sha256), "storeId": _STORE}
        return {**call, **stored, "contentType": document.media_type, "fileName": document.name}
    if is_remote(document):
        return {**call, "url": document.url, "name": document.name}
    return dict(call)


def _tag(name: str, attributes: dict[str, str | None]) -> str:
    pairs = (
        f'{attribute}="{_escaped(value)}" '
        for attribute, value in attributes.items()
        if value and value.strip()
    )
    return f"<{name} {''.join(pairs)}/>"


def _escaped(value: str) -> str:
    """Return a value as XML has it in quotes; the ampersand goes first, or it would go twice."""
    return escape(_ILLEGAL.sub("", value)).replace("&#x27;", "&apos;")


# The documents of a round's results that follow them, behind a preamble, each behind its tag.

PartT = TypeVar("PartT")


class Behind(Generic[PartT]):
    """What follows the results of one round; add its documents in the order of the calls.

    `parts` is all of it, as the API spells texts and documents; empty where nothing follows.
    `blocks` are the results that they are of, one a part.
    """

    def __init__(self, form: Form, text: Callable[[str], PartT]) -> None:
        """Collect for one round; `text` makes a part of a text."""
        self.parts: list[PartT] = []
        self.blocks: list[Block] = []
        self._form: Form = form
        self._text = text

    def add(self, block: Block, document: Document, part: PartT) -> str:
        """Add a document of a result; return its tag, which stands in its place there."""
        tag = tag_of(block, document, self._form)
        before = [tag] if self.parts else [preamble(self._form), tag]
        parts = [*map(self._text, before), part]
        self.parts += parts
        self.blocks += [block] * len(parts)
        return tag
