"""What a request is for: a turn that is recorded, what no model answers, or what nobody can record."""

from __future__ import annotations

from typing import Final

from onrecord.adapters.wire.clients.sending import Sending
from onrecord.adapters.wire.clients.unrecorded import kind_of
from onrecord.adapters.wire.wires import ends_with, segments_of

_ASKS: Final = "POST"
"""The method by which models are asked; others read, delete or name what is there."""

_NO_CONVERSATION: Final = (
    *("messages/count_tokens", "*:countTokens", "*:computeTokens", "responses/input_tokens"),
    *("files", "files/*", "uploads", "uploads/*/*", "vector_stores", "vector_stores/*"),
    *("vector_stores/*/*", "containers", "containers/*/files", "skills", "skills/*/versions"),
    *("responses/*/cancel", "batches/*/cancel", "*:cancel", "chat/completions/*"),
    *(f"api/{verb}" for verb in ("show", "pull", "push", "create", "copy", "blobs/*")),
    *("models/*/copy", "tunedModels", "model/*/count-tokens", "api/event_logging/batch"),
)
"""The ends of paths that something is posted to which asks no model: `*` is any text in a segment."""


def why_unrecorded(sending: Sending) -> str | None:
    """Return what a request asks that nobody can record; None where it asks no model anything."""
    if sending.method != _ASKS:
        return None
    segments = segments_of(sending.path)
    if any(ends_with(segments, end.split("/")) for end in _NO_CONVERSATION):
        return None
    what = kind_of(sending.method, sending.path)
    if what is not None:
        return f"{what} is no turn of a conversation"
    return "what this path asks is not known"
