"""Signals as the model is told of them: what one says, then its documents, among the user's words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
from uuid import UUID

from onrecord.domain.content import Document, Text
from onrecord.domain.events import SignalReceived
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.history.history import Block

NO_CONTENT: Final = "An event was triggered but no content was returned."
"""What a signal without content says, before it says what became of the calls that were open."""

INTERRUPTED: Final = " All in-flight tool executions were canceled."
WAITED: Final = " Execution waited for all in-flight tool executions to complete before proceeding."


def words_for_empty(*, interrupts: bool) -> str:
    """Return what stands for the content of a signal that has none."""
    return NO_CONTENT + (INTERRUPTED if interrupts else WAITED)


def said_by(event: SignalReceived) -> tuple[Text | Document, ...]:
    """Return what a signal says: its text, then its documents; words where it says nothing."""
    texts = [part for part in event.content if isinstance(part, Text) and part.text.strip()]
    documents = [part for part in event.content if isinstance(part, Document)]
    if not (texts or documents):
        texts = [Text(text=words_for_empty(interrupts=event.interrupts))]
    return (*texts, *documents)


def signal_blocks(
    version: int, at: UUID | None, plain: JsonObject, spilled: bool, request_count: int
) -> Iterator[Block]:
    """Yield the blocks that stand for a `signal.received`: its text, then each document.

    `at` is its conversation, `request_count` how many requests were sent before it (`Block`).
    """
    content: list[JsonObject] = list(plain.get("content", ()))
    texts = [part for part in content if part["kind"] == "text" and part["text"].strip()]
    documents = [part for part in content if part["kind"] == "document"]
    if not (texts or documents):
        words = words_for_empty(interrupts=plain.get("interrupts", False))
        texts = [{"kind": "text", "text": words}]
    for part in texts:
        yield Block(version, at, part, spilled, None, request_count, signal=True)
    for part in documents:
        yield Block(version, at, part, spilled, None, request_count, "document", signal=True)
