"""What an API and its models take: which kinds of documents, where, and how large."""

from __future__ import annotations

from hansard.domain.content import Value
from hansard.domain.documents import Modality


class Given(Value):
    """What a caller says that a model takes; what is absent is as the matrix has it.

    `user` are the modalities that a user's message may hold, `tool_result` those that a result may;
    `document_bytes` is the size of the largest document that goes.
    """

    user: tuple[Modality, ...] | None = None
    tool_result: tuple[Modality, ...] | None = None
    document_bytes: int | None = None
