"""What a conversation takes: append, import and verify hold one rule, on every backend."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from eventsourcing.persistence import IntegrityError, StoredEvent
from hypothesis import example, given, settings
from hypothesis import strategies as st

from onrecord.adapters.recording.spool import Spool
from onrecord.adapters.storage.eventsourcing.backend_recorder import BackendRecorder
from onrecord.adapters.storage.memory.memory import Memory
from onrecord.adapters.store import Store
from onrecord.adapters.transfer.export import export
from onrecord.adapters.transfer.importing import check
from onrecord.adapters.upkeep.verifying import verify_conversation
from onrecord.domain import events
from onrecord.domain.admission import Refused
from onrecord.domain.blobs import blob_of
from onrecord.domain.errors import ConversationClosed, InvalidContent, InvalidExport
from onrecord.domain.events import Event
from onrecord.domain.log import Backend, Conflict, Recorded
from tests.factories import TENANT, answer, appending, native_answer, prompt, started, tool_call

CLOSED = events.ConversationEnded()
FORKED = events.ConversationForked(origin=UUID(int=9), version=1)
LATE = native_answer(UUID(int=1), "late")
NOTED = events.AnnotationAdded(labels={"seen": "yes"})


def store_on(backend: Backend, folder: Path) -> Store:
    return Store(backend, "a store", spool=Spool(folder / "spool"), tenant=TENANT, actor="eve")


REFUSED: list[tuple[list[Event], Event]] = [
    ([started()], started()),
    ([started(), prompt()], started("other")),
    ([started(), prompt()], FORKED),
    ([started(), CLOSED], prompt()),
    ([started(), CLOSED], CLOSED),
    ([started(), CLOSED], tool_call("c1")),
    ([started(), CLOSED], events.InstructionsSet(content="Be brief.")),
]
TAKEN: list[tuple[list[Event], Event]] = [
    ([], prompt()),
    ([started()], FORKED),
    ([started(), CLOSED], NOTED),
    ([started(), CLOSED], LATE),
    ([started(), CLOSED], events.ContentRedacted(version=1)),
    ([started(), events.ConversationEnded(line=UUID(int=3))], prompt()),
]


@pytest.mark.parametrize(("before", "last"), REFUSED)
def test_what_a_conversation_does_not_take_changes_nothing(
    backend: Backend, before: list[Event], last: Event
) -> None:
    at_once, one_by_one = uuid4(), uuid4()
    backend.open(TENANT, "support/4711", one_by_one)
    verdicts = backend.append(
        [
            appending(at_once, *before, last, NOTED),
            appending(one_by_one, *before),
            appending(one_by_one, NOTED, last),
            appending(one_by_one, last, expected_version=7),
            appending(one_by_one, NOTED),
        ]
    )
    count = len(before)
    position = backend.cursors()[0].position if len(backend.cursors()) == 1 else None
    assert verdicts[0] == Refused(count)
    assert verdicts[2:4] == [Refused(1), Conflict(count)]
    assert [type(verdict) for verdict in verdicts] == [
        Refused,
        Recorded,
        Refused,
        Conflict,
        Recorded,
    ]
    assert list(backend.read(at_once)) == []
    assert backend.head(one_by_one).version == count + 1
    assert position in (None, count + 1)
    assert verify_conversation(backend, one_by_one).is_whole


@pytest.mark.parametrize(("before", "last"), TAKEN)
def test_what_it_takes_at_any_time_is_recorded(
    backend: Backend, before: list[Event], last: Event
) -> None:
    conversation = uuid4()
    (verdict,) = backend.append([appending(conversation, *before, last)])
    assert isinstance(verdict, Recorded)


def test_a_caller_is_told_why(backend: Backend, tmp_path: Path) -> None:
    store = store_on(backend, tmp_path)
    chat = store.conversation("support/4711")
    chat.user("Hello")
    other = store.conversation("support/4711")
    other.user("Hello again")
    with pytest.raises(InvalidContent, match="begins once"):
        chat.log.append(started("support/4711"))
    chat.end()
    for refused in (prompt(), started()):
        with pytest.raises((ConversationClosed, InvalidContent)):
            chat.log.append(refused)
    with pytest.raises(ConversationClosed):
        other.user("I had not heard")
    assert chat.head().version == 4


def test_a_recorder_is_refused_too(backend: Backend) -> None:
    conversation = uuid4()
    backend.append([appending(conversation, started(), prompt())])
    recorder = BackendRecorder(backend, TENANT)
    with pytest.raises(IntegrityError, match="has begun"):
        recorder.insert_events(
            [StoredEvent(conversation, 3, "conversation.started", b'{"key":"k"}')]
        )
    assert backend.head(conversation).version == 2


KINDS: Sequence[Callable[[], Event]] = (
    started,
    lambda: FORKED,
    lambda: CLOSED,
    prompt,
    answer,
    lambda: LATE,
    lambda: NOTED,
    lambda: tool_call("c1"),
    lambda: events.ConversationEnded(line=UUID(int=3)),
    lambda: events.ContentRedacted(version=1),
    lambda: events.DocumentExtracted(
        document={"media_type": "text/plain", "blob": blob_of(b"a")}  # type: ignore[arg-type]
    ),
    lambda: events.LineAdopted(after=1),
    lambda: events.ContextCarried(),
)


class Lenient(Memory):
    """A store of a forger, that takes anything."""

    def append_anything(self, conversation: UUID, told: Sequence[Event]) -> None:
        request = appending(conversation, *told)
        loose = tuple(event._replace(needs=None) for event in request.events)
        self.append([request._replace(events=loose)])


@settings(deadline=None)
@given(st.lists(st.sampled_from(KINDS), max_size=6))
@example([lambda: CLOSED, prompt])
@example([started])
def test_what_append_refuses_import_refuses_and_verify_finds(
    tmp_path_factory: pytest.TempPathFactory, kinds: list[Callable[[], Event]]
) -> None:
    told = [started(), *(kind() for kind in kinds)]
    conversation, backend, forged = uuid4(), Memory(), Lenient()
    for one in (backend, forged):
        one.open(TENANT, "support/4711", conversation)
        one.put_blob(TENANT, conversation, [b"a"])
    (verdict,) = backend.append([appending(conversation, *told)])
    is_taken = isinstance(verdict, Recorded)
    forged.append_anything(conversation, told)
    assert verify_conversation(forged, conversation).is_whole == is_taken
    file = tmp_path_factory.mktemp("exports") / "chat.onrecord"
    file.write_bytes(b"".join(export(forged, conversation, "support/4711")))
    if is_taken:
        assert check(file).beginning.events == len(told)
    else:
        with pytest.raises(InvalidExport, match=r"line \d+: version \d+"):
            check(file)
