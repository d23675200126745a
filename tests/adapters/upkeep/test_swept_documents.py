"""Documents that a sweep takes before their event comes: they are stored again, or it is said."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID

import pytest

import onrecord
from onrecord.adapters.app import connect
from onrecord.adapters.conversation.conversation import Talk, stream_of
from onrecord.adapters.storage.memory.memory import Memory
from onrecord.adapters.store import Store, backend_of
from onrecord.domain.blobs import blob_of
from onrecord.domain.content import Document
from onrecord.domain.errors import DocumentMissing
from onrecord.domain.log import Append, Recorded, Verdict
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
def talk(store: Store) -> Talk:
    begun = store.conversation("support/4711")
    begun.user("Hello")
    begun.log.append(tool_call("c1"))
    return begun


@pytest.fixture
def sweeping(store: Store, talk: Talk, monkeypatch: pytest.MonkeyPatch) -> Sweeping:
    assert isinstance(backend_of(store), Memory)
    swept = Sweeping(backend_of(store))
    monkeypatch.setattr(backend_of(store), "append", swept.append)
    return swept


def test_each_verb_stores_its_documents_again(
    talk: Talk, sweeping: Sweeping, tmp_path: Path
) -> None:
    report = tmp_path / "report.pdf"
    report.write_bytes(REPORT)
    says: list[Callable[[], object]] = [
        lambda: talk.tool_result("c1", {"file": report}),
        lambda: talk.user("What does it say?", documents=(each for each in [report])),
        lambda: talk.signal("It came", documents=[REPORT + b" signalled"]),
        lambda: talk.edit_message(
            talk.head().version - 1, "Well?", documents=[REPORT + b" edited"]
        ),
    ]
    for number, say in enumerate(says, 1):
        sweeping.due = True
        say()
        assert len(sweeping.swept) == number
    assert sweeping.swept[-1] == 1
    blobs = [blob_of(REPORT), blob_of(REPORT + b" signalled"), blob_of(REPORT + b" edited")]
    assert [stream_of(talk).blob(blob)[:8] for blob in blobs] == [REPORT[:8]] * 3


def test_a_document_whose_bytes_the_caller_no_longer_has_is_said_to_be_missing(talk: Talk) -> None:
    gone = attachment(blob_of(b"never stored"))
    with pytest.raises(onrecord.DocumentMissing, match="store the document again"):
        talk.log.append(gone)
    with pytest.raises(DocumentMissing):
        asyncio.run(talk.log.append_async(gone))
    assert talk.head().version == 3


def test_a_fork_owns_a_copy_of_what_its_events_repeat(store: Store, talk: Talk) -> None:
    document = Document(media_type="application/pdf", blob=stream_of(talk).put([REPORT]))
    talk.user("What does it say?", documents=[document])
    fork, other = talk.fork("other"), talk.fork("another")
    assert fork.user("And this one?", documents=[document])
    assert isinstance(asyncio.run(other.log.append_async(attachment(blob_of(REPORT)))), Recorded)
    store.forget(talk.conversation_id, **BECAUSE)
    for owner in (fork.conversation_id, other.conversation_id):
        assert held(store, owner) == REPORT


def held(store: Store, owner: UUID) -> bytes:
    return b"".join(backend_of(store).get_blob(owner, blob_of(REPORT)))
