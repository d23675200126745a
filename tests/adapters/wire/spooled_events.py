"""What the spool's tests share: events that no store took, and a store that takes not all."""

from typing import Any
from uuid import UUID

from uuid_utils.compat import uuid7

from onrecord.adapters.recording.unstored import PendingAppend
from onrecord.adapters.storage.memory.memory import Memory
from onrecord.domain.blobs import blob_of
from onrecord.domain.errors import StorageFull
from onrecord.domain.log import Append, Log, Verdict
from tests.factories import TENANT, appending, attachment, drafted, prompt, started

FULL = StorageFull("no room")


def unstored(*texts: str, blob: bytes | None = None) -> PendingAppend:
    conversation = uuid7()
    events = [drafted(prompt(text), conversation) for text in texts]
    blobs: dict[str, bytes] = {}
    if blob is not None:
        events.append(drafted(attachment(blob_of(blob)), conversation))
        blobs[blob_of(blob).sha256] = blob
    return PendingAppend(Append(TENANT, conversation, tuple(events)), blobs)


def begin(store: Log, waiting: PendingAppend) -> None:
    """Let a store have the conversation that something waits for."""
    store.append([appending(waiting.append.conversation_id, started())])


class Refusing(Memory):
    """A store that fails on a conversation that it has, as if it could not hold a number of it."""

    def __init__(self, refused: UUID) -> None:
        super().__init__()
        super().append([appending(refused, started())])
        self.refused = refused

    def append(self, appends: Any) -> list[Verdict]:
        if appends[0].conversation_id == self.refused:
            raise OverflowError("no column holds that")
        return super().append(appends)
