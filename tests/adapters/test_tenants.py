"""Stores of several tenants in one place: by its face, none meets another's conversations."""

from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

import onrecord
from onrecord.adapters.app import connect
from onrecord.adapters.conversation.conversation import stream_of
from onrecord.adapters.presentation.conversations import require_conversation
from onrecord.adapters.recording.spool import RecordingWarning
from onrecord.adapters.recording.unstored import PendingAppend
from onrecord.adapters.settings import NO_TENANT
from onrecord.adapters.store import Store, backend_of, tenancy_of
from onrecord.domain.errors import (
    ConversationNotFound,
    CorruptRecord,
    InvalidContent,
    InvalidExport,
    InvalidInput,
    StorageReadOnly,
)
from onrecord.domain.events import ConversationForked, ConversationStarted
from onrecord.domain.log import Append
from tests.adapters.transfer.exports import taken_in, written
from tests.adapters.wire.spooled_events import FULL
from tests.factories import BECAUSE, OTHER_TENANT, TENANT, drafted, prompt, started


def two(folder: Path) -> tuple[Store, Store]:
    url = f"sqlite:///{folder / 'talks.db'}"
    return connect(url, tenant=TENANT), connect(url, tenant=OTHER_TENANT)


def test_the_same_key_is_another_conversation_for_another_tenant(tmp_path: Path) -> None:
    ours, theirs = two(tmp_path)
    ours.conversation("ada").user("Hello")
    assert theirs.conversation("ada").head().version == 0
    theirs.conversation("ada").user("Good evening")
    (listed,) = theirs.conversations()
    assert listed.conversation_id != ours.get("ada").conversation_id


def test_a_store_brings_its_own_tenants_events_only(tmp_path: Path) -> None:
    ours, theirs = two(tmp_path)
    theirs.conversation("bob").user("Good evening")
    chat = ours.conversation("ada")
    chat.user("Hello")
    (end,) = ours.cursors()
    with ours.subscribe(replace(end, position=0)) as subscription:
        found = list(islice(subscription, 2))
    assert {event.conversation_id for event in found} == {chat.conversation_id}
    assert end.position == 4


def test_an_id_of_another_tenant_names_nothing(tmp_path: Path) -> None:
    ours, theirs = two(tmp_path)
    chat = ours.conversation("ada")
    chat.user("Hello")
    with pytest.raises(ConversationNotFound):
        theirs.forget(chat.conversation_id, **BECAUSE)
    with pytest.raises(ConversationNotFound):
        theirs.verify(chat.conversation_id)
    with pytest.raises(ConversationNotFound):
        require_conversation(theirs, str(chat.conversation_id))
    assert ours.forget(chat.conversation_id, **BECAUSE).events == 2


def test_who_claims_to_go_on_from_another_tenants_conversation_reads_none_of_it(
    tmp_path: Path,
) -> None:
    ours, theirs = two(tmp_path)
    origin = ours.conversation("ada")
    origin.user("Hello")
    fork = theirs.conversation("fork")
    # As another program may that does not look.
    stream_of(fork).append(ConversationForked(origin=origin.conversation_id, version=2))
    fork.user("Good evening")
    for claiming in (fork, theirs.get("fork")):
        with pytest.raises(CorruptRecord, match="another tenant"):
            claiming.history()
        with pytest.raises(CorruptRecord, match="another tenant"):
            claiming.request(api="openai-chat", model="gpt-4.1")
    assert [turn.text for turn in origin.fork("ours").history()] == ["Hello"]


def test_who_goes_on_from_what_the_tenant_does_not_have_is_told_the_same_whoever_has_it(
    tmp_path: Path,
) -> None:
    ours, theirs = two(tmp_path)
    origin = ours.conversation("ada")
    origin.user("Hello")
    told = set[str]()
    for id_ in (origin.conversation_id, uuid4()):
        with pytest.raises(InvalidContent, match="its own tenant") as refused:
            theirs.conversation("fork").log.append(ConversationForked(origin=id_, version=2))
        told.add(str(refused.value))
    assert len(told) == 1
    assert list(theirs.conversations()) == []
    fork = ours.conversation("fork")
    fork.log.append(ConversationForked(origin=origin.conversation_id, version=2))
    assert [turn.text for turn in fork.history()] == ["Hello"]


def test_an_event_of_another_tenants_conversation_is_refused(tmp_path: Path) -> None:
    ours, theirs = two(tmp_path)
    chat, other = ours.conversation("ada"), theirs.conversation("ada")
    chat.user("Hello")
    event = stream_of(other).draft(ConversationStarted(key="ada"))
    with pytest.raises(StorageReadOnly, match="another tenant's"):
        backend_of(theirs).append([Append(OTHER_TENANT, chat.conversation_id, (event,))])


def test_what_waits_for_a_tenant_is_its_own_stores_to_record_or_forget(tmp_path: Path) -> None:
    ours, theirs = two(tmp_path)
    chat = ours.conversation("ada")
    chat.user("Hello")
    event = stream_of(chat).draft(prompt("late"))
    tenancy_of(ours).spool.put(
        PendingAppend(Append(TENANT, chat.conversation_id, (event,)), {}), FULL
    )
    tenancy_of(theirs).spool.forget(chat.conversation_id)
    assert tenancy_of(theirs).spool.take_in(backend_of(theirs)) == 0
    with pytest.warns(RecordingWarning, match="recorded late"):
        assert tenancy_of(ours).spool.take_in(backend_of(ours)) == 1


def test_a_file_of_several_tenants_is_refused(tmp_path: Path) -> None:
    ours, conversation = connect("memory://", tenant=TENANT), uuid4()
    mixed = (
        drafted(started(), conversation),
        drafted(prompt(), conversation, tenant=OTHER_TENANT),
    )
    backend_of(ours).append([Append(TENANT, conversation, mixed)])
    path = written(ours, conversation, tmp_path / "chat.jsonl")
    other = connect("memory://", tenant=TENANT)
    with pytest.raises(InvalidExport, match="another tenant"):
        taken_in(other, path)
    assert list(other.conversations()) == []


def test_a_file_that_goes_on_from_another_tenants_conversation_is_refused(tmp_path: Path) -> None:
    ours, theirs = two(tmp_path)
    origin = theirs.conversation("ada")
    origin.user("Good evening")
    elsewhere = connect("memory://", tenant=TENANT)
    fork = elsewhere.conversation("fork")
    stream_of(fork).append(ConversationForked(origin=origin.conversation_id, version=1))
    path = written(elsewhere, fork.conversation_id, tmp_path / "fork.jsonl", "fork")
    with pytest.raises(InvalidInput, match="not in this store"):
        taken_in(ours, path)


def test_a_store_is_of_no_tenant_unless_it_is_told() -> None:
    assert onrecord.connect("memory://").tenant == NO_TENANT
    tenant: Any = "acme"
    with pytest.raises(InvalidContent, match="UUID"):
        onrecord.connect("memory://", tenant=tenant)
