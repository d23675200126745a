"""The documents of an encrypted store by its public face: sent, forked, erased, and nowhere in clear."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest

from onrecord.adapters.app import connect
from onrecord.adapters.encryption.encrypted_log import EncryptedLog
from onrecord.adapters.encryption.key_file import new_key_file
from onrecord.adapters.store import Store, backend_of
from onrecord.domain.encryption.subjects import named_subject
from onrecord.domain.head import Head
from tests.adapters.encryption import places

CANARY = b"%PDF-1.7 the canary sings "
LONG = CANARY * 200_000
SPOKEN = "the canary sings " * 10_000
"""So long that it moves out of the event into a blob."""


def opened(folder: Path) -> Store:
    return connect(f"sqlite:///{folder / 'log.db'}", keys=folder / "keys.db", kek=folder / "kek")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    new_key_file(tmp_path / "kek")
    with opened(tmp_path) as store:
        yield store


@pytest.fixture
def paper(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("given") / "paper.pdf"
    path.write_bytes(LONG)
    return path


def erase(store: Store, name: str) -> None:
    log = backend_of(store)
    assert isinstance(log, EncryptedLog)
    assert log.keys is not None
    places.erase(log.keys, named_subject(store.tenant, name))


def test_documents_and_long_texts_are_read_and_stand_in_no_file_in_clear(
    store: Store, tmp_path: Path, paper: Path
) -> None:
    chat = store.conversation("support/4711", subjects=["ana"])
    chat.user("Read this", documents=[paper])
    chat.user("And this", documents=[b"%PDF-1.4 canary"])
    chat.tool_result("call_1", SPOKEN)
    fork = chat.fork("support/4712")
    again = opened(tmp_path)
    for conversation in (chat, fork, again.conversation("support/4712")):
        first, second = (each.blob for each in conversation.documents())
        assert first is not None
        assert second is not None
        assert conversation.blob(first) == LONG
        assert conversation.blob(second) == b"%PDF-1.4 canary"
    assert store.verify().faults == ()
    again.close()
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or b"canary" not in path.read_bytes()


def test_documents_whose_key_was_destroyed_are_told_as_erased(
    store: Store, tmp_path: Path, paper: Path
) -> None:
    chat = store.conversation("support/4711", subjects=["ana"])
    chat.user("Read this", documents=[paper])
    fork = chat.fork("support/4712")
    fork.user("What does it say?", documents=[paper])
    erase(store, "ana")
    for place in (store, opened(tmp_path)):
        assert place.conversation("support/4711").documents() == ()
        assert place.conversation("support/4712").documents() == ()
    chat.user("Here is it again", documents=[paper])
    with opened(tmp_path) as other:
        later = other.conversation("support/4711")
        (held,) = later.documents()
        assert held.blob is not None
        assert later.blob(held.blob) == LONG
        request = later.request("anthropic-messages", model="claude-sonnet-4-5")
        assert "Read this" not in f"{request['messages']}"
        assert "Here is it again" in f"{request['messages']}"
        # The key went from the key store alone: that is told, and nothing of documents is.
        faults = [fault.why for fault in other.verify().faults]
        assert faults
        assert all("no erasure in the log tells of it" in why for why in faults)


def test_whether_the_log_tells_of_a_lost_key_is_asked_once_for_a_conversation(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = store.conversation("support/4711", subjects=["ana"])
    for number in range(5):
        chat.user(f"message {number}")
    erase(store, "ana")
    log, asked = backend_of(store), list[UUID]()
    head = log.head

    def counted(conversation_id: UUID) -> Head:
        asked.append(conversation_id)
        return head(conversation_id)

    monkeypatch.setattr(log, "head", counted)
    faults = store.verify().faults
    assert [fault.version for fault in faults] == [1, 2, 3, 4, 5, 6]
    assert len({fault.why for fault in faults}) == len(asked) == 1
