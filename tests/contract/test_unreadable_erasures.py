"""An erasure that nobody can read stands in nobody's way: the next one has the next number."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID, uuid4

import pytest

from onrecord.adapters.recording.spool import Spool
from onrecord.adapters.store import Store
from onrecord.domain.head import Effect
from onrecord.domain.log import Backend
from onrecord.domain.marks.marked_ids import erasure_id, operators_of
from onrecord.domain.operators import INTENDED, ErasureIntended, encode_fact
from tests.factories import BECAUSE, OTHER_TENANT, TENANT, appending, raw_event

KEY = "support/4711"


def opened(backend: Backend, folder: Path, tenant: UUID = TENANT) -> Store:
    spool = Spool(folder / f"spool {tenant}")
    return Store(backend, "a store", spool=spool, tenant=tenant, actor="eve")


def intention(
    conversation_id: UUID, tenant: UUID = TENANT, *, number: int = 0, at: int = 1
) -> bytes:
    return encode_fact(
        ErasureIntended.model_construct(
            tenant=tenant,
            conversation_id=conversation_id,
            number=number,
            actor="mallory",
            reason="to hide it",
            at=at,
        )
    )


def spoiled_bodies(conversation: UUID, number: int) -> dict[str, bytes]:
    return {
        "no JSON": b"\xff",
        "another shape": b'{"reason": 7}',
        "another conversation": intention(uuid4(), number=number),
        "another tenant": intention(conversation, OTHER_TENANT, number=number),
        "another number": intention(conversation, number=number + 1),
        "no number": intention(conversation, number=2**70),
        "no time": intention(conversation, number=number, at=2**70),
    }


def planted(backend: Backend, stream: UUID, body: bytes, *, closes: bool = False) -> UUID:
    """Append to the operators' stream of TENANT by hand, as an eraser can."""
    event = raw_event(body=body, effect=Effect(closes=closes))._replace(type=INTENDED)
    backend.append([appending(stream, event, tenant=operators_of(TENANT))])
    return stream


@pytest.mark.parametrize("numbers", [(0,), (0, 1, 3)])
@pytest.mark.parametrize("how", [*spoiled_bodies(uuid4(), 0), "closed before its end"])
def test_an_erasure_that_cannot_be_read_keeps_no_conversation_from_being_forgotten(
    backend: Backend, tmp_path: Path, how: str, numbers: tuple[int, ...]
) -> None:
    store = opened(backend, tmp_path)
    chat = store.conversation(KEY)
    chat.user("swordfish")
    conversation, spoiled = chat.conversation_id, set[UUID]()
    for number in numbers:
        bodies = {"closed before its end": intention(conversation, number=number)}
        body = (bodies | spoiled_bodies(conversation, number))[how]
        stream = erasure_id(TENANT, conversation, number)
        spoiled.add(planted(backend, stream, body, closes=how in bodies))
    store.conversation("other").user("Hello")
    assert store.forget("other", **BECAUSE).events == 2
    assert store.forget(conversation, **BECAUSE).events == 2
    assert store.forget(conversation, **BECAUSE).events == 0
    told = [one for one in store.erasures() if one.conversation_id == conversation]
    completed = [one for one in told if one.outcome is not None]
    assert [(one.intention.actor, one.intention.number) for one in completed] == [
        ("ana", next(n for n in range(5) if n not in numbers))
    ]
    assert completed[0] in store.erasures(conversation)
    faulty = {fault.conversation_id for fault in store.verify().faults}
    assert spoiled <= faulty


def test_an_erasure_in_the_stream_of_another_tenant_s_operators_erases_nothing(
    backend: Backend, tmp_path: Path
) -> None:
    theirs = opened(backend, tmp_path, OTHER_TENANT)
    chat = theirs.conversation(KEY)
    chat.user("swordfish")
    stream = erasure_id(OTHER_TENANT, chat.conversation_id, 0)
    ours = opened(backend, tmp_path)
    ours.conversation(KEY).user("Hello")
    planted(backend, stream, intention(chat.conversation_id, OTHER_TENANT))
    assert ours.resume_erasures() == 0
    assert ours.forget(KEY, **BECAUSE).events == 2
    assert all(event.body is not None for event in backend.read(chat.conversation_id))
    assert [one.conversation_id for one in ours.erasures()] != [chat.conversation_id]
    assert stream in {fault.conversation_id for fault in ours.verify().faults}
