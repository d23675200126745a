"""Documents that a sweep takes before their event comes: they are stored again, or it is said."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID

import pytest

import onrecord
from onrecord.adapters.app import connect
from onrecord.adapters.conversation.conversation import Conversation, stream_of
from onrecord.adapters.storage.memory.memory import Memory
from onrecord.adapters.store import Store, backend_of
from onrecord.domain.blobs import blob_of
from onrecord.domain.content import Document
from onrecord.domain.errors import DocumentMissing
from onrecord.domain.log import Append, Recorded, Verdict
from tests.awaited import awaited
from tests.factories import BECAUSE, attachment, tool_call

REPORT = b"%PDF-1.7 the report"


class Sweeping:
    """Appends as a log does, each first one after a sweep that leaves nothing to documents."""

    def __init__(self, log: Memory) -> None:
        self._append, self._sweep = log.append, log.sweep_blobs
        self.swept: list[int] = []
        self.due = True

    def append(self, appends: list[Append]) -> list[Verdict]:
        if self.due and any(event.blobs for append in appends for event in append.events):
            self.due = False
            self.swept.append(self._sweep(0))
        return self._append(appends)


@pytest.fixture
def store() -> Iterator[Store]:
    with connect("memory://") as opened:
        yield opened


@pytest.fixture
def chat(store: Store) -> Conversation:
    begun = store.conversation("support/4711")
    begun.user("Hello")
    begun.log.append(tool_call("c1"))
    return begun


@pytest.fixture
def sweeping(store: Store, chat: Conversation, monkeypatch: pytest.MonkeyPatch) -> Sweeping:
    backend = backend_of(store)
    assert isinstance(backend, Memory)
    swept = Sweeping(backend)
    monkeypatch.setattr(backend, "append", swept.append)
    return swept


def test_each_verb_stores_its_documents_again(
    chat: Conversation, sweeping: Sweeping, tmp_path: Path
) -> None:
    report = tmp_path / "report.pdf"
    report.write_bytes(REPORT)
    says: list[Callable[[], object]] = [
        lambda: chat.tool_result("c1", {"file": report}),
        lambda: chat.user("What does it say?", documents=(each for each in [report])),
        lambda: chat.signal("It came", documents=[REPORT + b" signalled"]),
        lambda: chat.edit_message(
            chat.head().version - 1, "Well?", documents=[REPORT + b" edited"]
        ),
    ]
    for number, say in enumerate(says, 1):
        sweeping.due = True
        say()
        assert len(sweeping.swept) == number
    assert sweeping.swept[-1] == 1
    blobs = [blob_of(REPORT), blob_of(REPORT + b" signalled"), blob_of(REPORT + b" edited")]
    assert [stream_of(chat).blob(blob)[:8] for blob in blobs] == [REPORT[:8]] * 3


def test_a_document_whose_bytes_the_caller_no_longer_has_is_said_to_be_missing(
    chat: Conversation,
) -> None:
    gone = attachment(blob_of(b"never stored"))
    with pytest.raises(onrecord.DocumentMissing, match="store the document again"):
        chat.log.append(gone)
    with pytest.raises(DocumentMissing):
        asyncio.run(awaited(chat).log.append(gone))
    assert chat.head().version == 3


def test_a_fork_owns_a_copy_of_what_its_events_repeat(store: Store, chat: Conversation) -> None:
    document = Document(media_type="application/pdf", blob=stream_of(chat).put([REPORT]))
    chat.user("What does it say?", documents=[document])
    fork, other = chat.fork("other"), chat.fork("another")
    assert fork.user("And this one?", documents=[document])
    assert isinstance(asyncio.run(awaited(other).log.append(attachment(blob_of(REPORT)))), Recorded)
    store.forget(chat.conversation_id, **BECAUSE)
    for owner in (fork.conversation_id, other.conversation_id):
        assert held(store, owner) == REPORT


def held(store: Store, owner: UUID) -> bytes:
    return b"".join(backend_of(store).get_blob(owner, blob_of(REPORT)))
