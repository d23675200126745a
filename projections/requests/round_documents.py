"""The documents of a round's results that follow them, behind a preamble, each behind its tag."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from onrecord.domain.content import Document
from onrecord.projections.history import Block
from onrecord.projections.requests.document_tags import Form, preamble, tag_of

PartT = TypeVar("PartT")


class Behind(Generic[PartT]):
    """What follows the results of one round; add its documents in the order of the calls.

    `parts` is all of it, as the API spells texts and documents; empty where nothing follows.
    `blocks` are the results that they are of, one a part.
    """

    def __init__(self, form: Form, text: Callable[[str], PartT]) -> None:
        """Collect for one round; `text` spells a text as a part."""
        self.parts: list[PartT] = []
        self.blocks: list[Block] = []
        self._form: Form = form
        self._text = text

    def add(self, block: Block, document: Document, spelled: PartT) -> str:
        """Add a document of a result; return its tag, which stands in its place there."""
        tag = tag_of(block, document, self._form)
        before = [tag] if self.parts else [preamble(self._form), tag]
        told = [*map(self._text, before), spelled]
        self.parts += told
        self.blocks += [block] * len(told)
        return tag
