"""Whatever a backend recorded, its heads are what the events come to, and every leaf holds."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any
from uuid import UUID, uuid4

import pytest

from onrecord.adapters.storage.eventsourcing.operators import Operators
from onrecord.adapters.upkeep.erasing import Erasing
from onrecord.adapters.upkeep.verified import Verified
from onrecord.adapters.upkeep.verifying import verify_conversation, verify_log
from onrecord.domain import events
from onrecord.domain.events import Event
from onrecord.domain.inventory import (
    Moment,
    StoredBlob,
    StoredChunk,
    StoredHead,
    commitment_of,
)
from onrecord.domain.log import Backend, Cursor, Recorded
from onrecord.domain.request_template import Template
from onrecord.domain.seals.merkle import EMPTY, Root
from onrecord.projections.verification.verification import Fault
from tests.contract.places import WHERE_THE_LOG_IS
from tests.factories import (
    OTHER_TENANT,
    TENANT,
    answer,
    appending,
    attachment,
    prompt,
    started,
    tool_call,
    tool_result,
)

SIDE = UUID(int=7)


def story(backend: Backend, conversation: UUID) -> list[Event]:
    """Each kind of effect that an event can have, more than once."""
    key = f"support/{conversation}"
    backend.open(TENANT, key, conversation)
    blob = backend.put_blob(TENANT, conversation, [b"report"])
    return [
        started(key),
        events.InstructionsSet(content="Be brief."),
        events.ToolsDeclared(tools=()),
        prompt("one"),
        attachment(blob),
        tool_call("toolu_1"),
        tool_call("toolu_2"),
        events.ResponseCompleted(
            response=UUID(int=1), api="x", envelope={}, input_tokens=2**53 - 1, output_tokens=7
        ),
        tool_result("toolu_2"),
        prompt("in the round"),
        sent(),
        tool_result("toolu_1"),
        prompt("two"),
        answer(),
        events.ResponseInterrupted(response=UUID(int=2), api="x", reason="cut", input_tokens=9),
        events.InstructionsSet(content="Be kind."),
        events.MessageRecorded(role="user", content=(), line=SIDE),
        tool_call("toolu_3"),
        events.ConversationEnded(),
        events.AnnotationAdded(labels={"a": "b"}),
    ]


def sent() -> Event:
    template = Template(spans=(), sha256="", size=0)
    return events.RequestSent(api="x", endpoint="/", template=template)


def test_what_is_recorded_event_by_event_holds(backend: Backend) -> None:
    conversation = uuid4()
    told = story(backend, conversation)
    for event in told:
        (verdict,) = backend.append([appending(conversation, event)])
        assert isinstance(verdict, Recorded)
    assert counts(verify_log(backend)) == (len(told), 0, 1)


def test_what_commits_to_events_is_read_as_it_stands_in_the_log(backend: Backend) -> None:
    backend.append([appending(uuid4(), started("a"), prompt("one"), prompt("two"), answer())])
    inventory = backend.inventory()
    (shard,) = (last.shard for last in backend.cursors() if last.position)
    logged = [commitment_of(each.event) for each in inventory.log(shard, 1, 2)]
    assert inventory.commitments(shard, 1, 2) == logged
    assert [each.position for each in logged] == [2, 3]


def test_what_is_recorded_at_once_holds(backend: Backend) -> None:
    conversation, other = uuid4(), uuid4()
    told = story(backend, conversation)
    backend.append([appending(conversation, *told), appending(other, *told[1:4])])
    assert counts(verify_conversation(backend, conversation)) == (len(told), 0, 1)
    assert counts(verify_log(backend)) == (len(told) + 3, 0, 2)


def test_what_was_forgotten_holds(backend: Backend) -> None:
    conversation = uuid4()
    told = story(backend, conversation)
    backend.append([appending(conversation, *told)])
    forget(backend, conversation)
    assert counts(verify_log(backend)) == (len(told) + 2, len(told), 1)


def test_what_was_erased_by_no_operator_is_a_fault(backend: Backend) -> None:
    conversation = begun(backend)
    backend.forget(conversation)
    (fault,) = verify_log(backend).faults
    assert fault.why == "it counts as forgotten, and no operator's erasure tells of it"


def test_what_was_erased_before_it_began_holds(backend: Backend) -> None:
    early, never = (backend.open(TENANT, key) for key in ("early", "never"))
    for conversation in (early, never):
        backend.put_blob(TENANT, conversation, [b"report"])
        forget(backend, conversation)
    backend.append([appending(early, started("early"))])
    assert counts(verify_log(backend)) == (5, 0, 1)


def test_what_is_forgotten_and_recorded_meanwhile_holds(backend: Backend) -> None:
    conversation, other = begun(backend), begun(backend)
    blob = backend.put_blob(TENANT, conversation, [b"report"])
    backend.append([appending(conversation, attachment(blob), tool_call("toolu_1"))])
    looked_at: list[int] = []

    def meanwhile(done: int, total: int) -> None:
        if not looked_at:
            forget(backend, conversation)
            backend.append([appending(other, prompt("Where is it?"))])
        looked_at.append(done)

    assert verify_log(backend, progress=meanwhile).faults == ()
    assert looked_at == sorted(looked_at)
    assert counts(verify_log(backend)) == (7, 3, 2)


@pytest.mark.parametrize("moment", range(1, 5))
def test_what_began_after_an_erasure_and_is_forgotten_behind_a_moment_holds(
    backend: Backend, monkeypatch: pytest.MonkeyPatch, moment: int
) -> None:
    early = backend.open(TENANT, "early")
    forget(backend, early)
    backend.append([appending(early, started("early"))])
    inventory, ends = type(backend.inventory()), count(1)
    lent = inventory.moment

    @contextmanager
    def lending(own: Any) -> Generator[Moment]:
        with lent(own) as log:
            yield log
        if next(ends) == moment:
            forget(backend, early)

    monkeypatch.setattr(inventory, "moment", lending)
    assert verify_log(backend).faults == ()
    assert {event.body for event in backend.read(early)} == {None}
    assert verify_conversation(backend, early).faults == ()


def test_what_began_after_an_erasure_and_whose_next_one_is_unfinished_holds(
    backend: Backend,
) -> None:
    early = backend.open(TENANT, "early")
    forget(backend, early)
    backend.append([appending(early, started("early"))])
    Operators(backend, TENANT).intend(early, "ana", "asked for")
    assert verify_log(backend).faults == ()
    backend.forget(early)
    assert verify_log(backend).faults == ()
    forget(backend, early)
    assert verify_log(backend).faults == ()


def test_what_is_forgotten_while_its_documents_are_read_holds(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation = begun(backend)
    blob = backend.put_blob(TENANT, conversation, [b"report"])
    backend.append([appending(conversation, attachment(blob))])
    inventory = type(backend.inventory())
    read = inventory.chunks

    def chunks(own: Any, of: StoredHead, stored: StoredBlob) -> Iterator[StoredChunk]:
        forget(backend, conversation)
        return read(own, of, stored)

    monkeypatch.setattr(inventory, "chunks", chunks)
    assert verify_log(backend).faults == ()
    assert {event.body for event in backend.read(conversation)} == {None}


def test_the_roots_of_a_log_are_those_of_its_leaves(backend: Backend) -> None:
    for _ in range(3):
        begun(backend)
    found = verify_log(backend).roots
    assert [root.shard for root in found] == [last.shard for last in backend.cursors()]
    for last, root in zip(backend.cursors(), found, strict=True):
        first = Cursor(last.incarnation, last.shard, 0)
        tree = EMPTY
        for event in backend.read_log(first, 100):
            tree = tree.grown(event.leaf)
        assert root == Root(last.shard, last.position, tree.root())


def test_a_root_that_was_written_down_is_still_that_of_a_longer_log(backend: Backend) -> None:
    conversation = begun(backend)
    kept = verify_log(backend).roots
    backend.append([appending(conversation, prompt("And then?"))])
    assert verify_log(backend, roots=kept).faults == ()
    assert verify_log(backend, roots=verify_log(backend).roots).faults == ()


def test_another_root_and_a_larger_one_are_faults(backend: Backend) -> None:
    begun(backend)
    (shard,) = {root.shard for root in verify_log(backend).roots if root.size}
    (other,) = verify_log(backend, roots=[Root(shard, 1, bytes(32))]).faults
    assert other.why == f"shard {shard} was rewritten: it had another root at size 1"
    (cut,) = verify_log(backend, roots=[Root(shard, 9, bytes(32))]).faults
    assert cut.why == f"shard {shard} was cut: it had 9 events, it has 1"
    (none,) = verify_log(backend, roots=[Root(99, 0, bytes(32))]).faults
    assert none.why == "the log has no shard 99"


@pytest.mark.parametrize("place", [*WHERE_THE_LOG_IS], indirect=True)
def test_a_fork_of_another_tenants_conversation_is_named_with_its_position(
    backend: Backend,
) -> None:
    origin, (own, foreign) = begun(backend), (uuid4(), uuid4())
    for fork, tenant in ((own, TENANT), (foreign, OTHER_TENANT)):
        backend.open(tenant, "fork", fork)
        forked = events.ConversationForked(origin=origin, version=1)
        (verdict,) = backend.append([appending(fork, started("fork"), forked, tenant=tenant)])
    assert isinstance(verdict, Recorded)
    place = f"at position {verdict.position}"
    why = f"{place} it claims to go on from another tenant's conversation"
    assert verify_log(backend).faults == (Fault(foreign, 2, why),)
    assert verify_conversation(backend, foreign).faults == (Fault(foreign, 2, why),)
    assert verify_conversation(backend, own).is_whole


def forget(backend: Backend, conversation: UUID) -> None:
    """Erase a conversation, and tell of it in the operators' stream."""
    erasing = Erasing(backend, TENANT, erase=backend.forget, forks=lambda _: [])
    erasing.forget(conversation, "ana", "asked for")


def begun(backend: Backend) -> UUID:
    """A conversation that is in the catalogue under the key that it began with."""
    conversation = uuid4()
    assert backend.open(TENANT, str(conversation), conversation) == conversation
    backend.append([appending(conversation, events.ConversationStarted(key=str(conversation)))])
    return conversation


def counts(found: Verified) -> tuple[int, int, int]:
    """How much was checked of what holds: events, those that are erased, conversations."""
    assert found.faults == ()
    return found.events, found.erased, found.conversations
