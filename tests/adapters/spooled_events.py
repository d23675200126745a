"""What the spool's tests share: events that no store took, and a store that takes not all."""

from typing import Any
from uuid import UUID

from uuid_utils.compat import uuid7

from hansard.adapters.capture.unstored import Unstored
from hansard.adapters.storage.memory import Memory
from hansard.domain.blobs import blob_of
from hansard.domain.errors import StorageFull
from hansard.domain.log import Append, Verdict
from tests.factories import TENANT, attachment, drafted, prompt

FULL = StorageFull("no room")


def unstored(*texts: str, blob: bytes | None = None) -> Unstored:
    conversation = uuid7()
    events = [drafted(prompt(text), conversation) for text in texts]
    blobs: dict[str, bytes] = {}
    if blob is not None:
        events.append(drafted(attachment(blob_of(blob)), conversation))
        blobs[blob_of(blob).sha256] = blob
    return Unstored(Append(TENANT, conversation, tuple(events)), blobs)


class Refusing(Memory):
    """A store that fails on one conversation, as one that cannot hold a number of it does."""

    def __init__(self, refused: UUID) -> None:
        super().__init__()
        self.refused = refused

    def append(self, appends: Any) -> list[Verdict]:
        if appends[0].conversation_id == self.refused:
            raise OverflowError("no column holds that")
        return super().append(appends)
