"""Any sequence of verbs, by one or two at a time, against the rules in their plainest form."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from itertools import islice
from typing import Any, ClassVar, TypeVar
from uuid import UUID, uuid4

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test
from uuid_utils.compat import uuid7

from onrecord.domain.blobs import blob_of
from onrecord.domain.errors import (
    ConversationForgotten,
    CorruptRecord,
    StaleCursor,
    StorageReadOnly,
)
from onrecord.domain.head import Pointer
from onrecord.domain.log import Append, Backend, Cursor, Verdict
from tests.contract.opened import TENANTS, Opened
from tests.contract.places import Place
from tests.contract.rules import Refused, Rules, Told, first_of, remembered, seen
from tests.contract.wishes import (
    BLOBS,
    CONVERSATIONS,
    IDS,
    POINTERS,
    Wish,
    batches,
    rarely,
    versions,
)
from tests.factories import raw_event
from tests.ledger import verified_log, verify_leaf
from tests.patience import PATIENCE
from tests.search import WHOLE

EXAMPLES, STEPS = 20, 40

conversations = st.integers(0, CONVERSATIONS - 1)
handles = st.integers(0, 1)

Answer = TypeVar("Answer")


class LogMachine(RuleBasedStateMachine):
    """A few conversations of three tenants in one store, opened twice, and the rules beside them."""

    opened: ClassVar[Opened]

    def __init__(self) -> None:
        super().__init__()
        self.opened.of(0).sweep_blobs(0)
        begins = {cursor.shard: cursor.position for cursor in self.opened.of(0).cursors()}
        self.model = Rules(self.opened.shards, begins)
        self.conversations = [uuid4() for _ in range(CONVERSATIONS)]
        self.ids = {tenant: [uuid7() for _ in range(IDS)] for tenant in TENANTS}
        self.prefix = uuid4()

    @rule(batch=batches, handle=handles)
    def append(self, batch: list[Wish], handle: int) -> None:
        appends = [self.append_of(wish) for wish in batch]
        assert outcome(self.opened.of(handle), appends) == expected(self.model, appends)

    @rule(one=batches, two=batches, apart=st.booleans())
    def append_at_once(self, one: list[Wish], two: list[Wish], apart: bool) -> None:
        """Two threads, by one handle or two: as if one had come first, whichever it was."""
        first, second = ([self.append_of(wish) for wish in batch] for batch in (one, two))
        backends = self.opened.of(0), self.opened.of(int(apart))
        found = at_once(lambda: outcome(backends[0], first), lambda: outcome(backends[1], second))
        forth, back = self.model.copy(), self.model.copy()
        if found == (expected(forth, first), expected(forth, second)):
            self.model = forth
            return
        assert found[::-1] == (expected(back, second), expected(back, first))
        self.model = back

    @rule(which=conversations, handle=handles)
    def forget(self, which: int, handle: int) -> None:
        conversation = self.conversations[which]
        assert self.opened.of(handle).forget(conversation) == self.model.forget(conversation)

    @rule(handle=handles)
    def reopen(self, handle: int) -> None:
        self.opened.reopen(handle)

    @rule(
        which=conversations,
        after=st.integers(0, 9),
        until=versions,
        limit=versions,
        exchange=st.integers(0, 4),
        pointer=st.sampled_from(POINTERS),
        handle=handles,
    )
    def read(
        self,
        which: int,
        after: int,
        until: int | None,
        limit: int | None,
        exchange: int,
        pointer: Pointer,
        handle: int,
    ) -> None:
        backend, conversation = self.opened.of(handle), self.conversations[which]
        said = self.told(which).said
        end = len(said) if until is None else max(after, until)
        found = backend.read(conversation, after=after, until=until, limit=limit)
        assert seen(found) == remembered(said[after:end][:limit])
        self.check_tell(backend, which, exchange, until)
        self.check_pointers(backend, which, pointer, until or 0)

    def check_tell(self, backend: Backend, which: int, exchange: int, until: int | None) -> None:
        told, conversation = self.told(which), self.conversations[which]
        start = backend.exchange_start(conversation, exchange)
        assert start == (first_of(told, exchange) if exchange else 0)
        last = told.head.version if until is None else until
        wanted = [
            (said.version, said.event_id.bytes, said.body)
            for said in told.said
            if (start or not exchange) and start <= said.version <= last
        ]
        found = backend.tell(conversation, exchange=exchange, until=until)
        assert [(t.version, t.event_id, t.body) for t in found] == wanted

    def check_pointers(self, backend: Backend, which: int, pointer: Pointer, until: int) -> None:
        told, conversation = self.told(which), self.conversations[which]
        wanted = [said for said in told.said if said.effect.points == pointer][::-1]
        early = [said for said in wanted if said.version <= until]
        assert seen(backend.pointed(conversation, pointer, until, 3)) == remembered(early[:3])
        assert seen(backend.pointed(conversation, pointer, 2**62, 1)) == remembered(wanted[:1])

    @rule(tenant=st.sampled_from(TENANTS), back=st.integers(-2, 20), limit=st.integers(1, 30))
    def read_log(self, tenant: UUID, back: int, limit: int) -> None:
        shard, backend = self.model.shards[tenant], self.opened.of(0)
        end = self.model.end(shard)
        after = max(self.model.begins[shard], end - back)
        cursor = Cursor(self.opened.incarnation(), shard, after)
        if after > end:
            with pytest.raises(StaleCursor):
                backend.read_log(cursor, limit)
            return
        with pytest.raises(StaleCursor):
            backend.read_log(Cursor(uuid4(), shard, after), limit)
        wanted = self.model.log(shard)[after - self.model.begins[shard] :][:limit]
        found = backend.read_log(cursor, limit)
        assert [event.position for event in found] == list(
            range(after + 1, after + 1 + len(wanted))
        )
        assert seen(found) == remembered(wanted)
        with backend.subscribe(cursor) as subscription:
            assert seen(islice(subscription, len(wanted))) == remembered(wanted)

    @rule(
        tenant=st.sampled_from(TENANTS),
        key=st.sampled_from("kl"),
        which=st.none() | conversations,
        handle=handles,
    )
    def open(self, tenant: UUID, key: str, which: int | None, handle: int) -> None:
        backend, name = self.opened.of(handle), f"{self.prefix}/{key}"
        given = uuid4() if which is None else self.conversations[which]
        wanted = answer(lambda: self.model.open(tenant, name, given))
        assert answer(lambda: backend.open(tenant, name, given)) == wanted
        assert backend.find(tenant, name) == self.model.keys.get((tenant, name))

    @rule(
        which=conversations,
        number=st.integers(0, 2),
        stranger=rarely,
        used=st.booleans(),
        handle=handles,
    )
    def put_blob(self, which: int, number: int, stranger: bool, used: bool, handle: int) -> None:
        conversation, data = self.conversations[which], BLOBS[number]
        tenant, blob = self.tenant_of(which, stranger), blob_of(data)
        wanted = answer(lambda: self.model.put_blob(tenant, conversation, blob))
        backend = self.opened.of(handle)
        found = answer(lambda: backend.put_blob(tenant, conversation, [data]))
        assert found == (blob if wanted is None else wanted)
        if used:
            appends = [Append(tenant, conversation, (raw_event(blobs=(blob,)),))]
            assert outcome(backend, appends) == expected(self.model, appends)
        got: bytes | None = None
        with suppress(CorruptRecord):
            got = b"".join(backend.get_blob(conversation, blob))
        assert got == (data if (conversation, blob) in self.model.blobs else None)

    @rule(handle=handles)
    def sweep(self, handle: int) -> None:
        assert self.opened.of(handle).sweep_blobs(0) == self.model.sweep_blobs()

    @rule(tenant=st.sampled_from(TENANTS), handle=handles)
    def look_through_the_catalogue(self, tenant: UUID, handle: int) -> None:
        moved = [said.conversation_id for said in self.model.log(self.model.shards[tenant])][::-1]
        begun = [c for c in dict.fromkeys(moved) if self.model.told[c].tenant == tenant]
        found = list(islice(self.opened.of(handle).conversations(tenant), len(begun)))
        assert [(line.conversation_id, line.head) for line in found] == [
            (conversation, self.model.told[conversation].head) for conversation in begun
        ]

    def teardown(self) -> None:
        """At the end, all that is there is what the rules say, by either handle."""
        for handle in (0, 1):
            backend = self.opened.of(handle)
            for which, conversation in enumerate(self.conversations):
                told = self.told(which)
                assert backend.head(conversation) == told.head
                assert backend.owner(conversation) == told.tenant
                assert seen(backend.read(conversation)) == remembered(told.said)
            for shard, log in self.model.logs.items():
                begin = self.model.begins[shard]
                new = backend.read_log(
                    Cursor(self.opened.incarnation(), shard, begin), len(log) + 1
                )
                assert seen(new) == remembered(log)
                assert [event.position for event in new] == [begin + 1 + n for n in range(len(log))]
                for event in new:
                    verify_leaf(event)

    def told(self, which: int) -> Told:
        return self.model.conversation(self.conversations[which])

    def tenant_of(self, which: int, stranger: bool) -> UUID:
        """Whose the conversation is or will be; somebody else's if it has an owner to be kept from."""
        owner = which % len(TENANTS)
        return TENANTS[(owner + (stranger and bool(self.told(which).said))) % len(TENANTS)]

    def append_of(self, wish: Wish) -> Append:
        tenant, told = (
            self.tenant_of(wish.conversation, wish.stranger),
            self.told(wish.conversation),
        )
        events = tuple(
            raw_event(
                event_id=self.ids[tenant][happening.number],
                body=happening.body,
                effect=happening.effect,
                once=happening.once,
                blobs=() if happening.blob is None else (blob_of(BLOBS[happening.blob]),),
            )
            for happening in wish.happenings
        )
        at = None if wish.offset is None else max(0, told.head.version + wish.offset)
        return Append(tenant, self.conversations[wish.conversation], events, at)


def outcome(backend: Backend, appends: Sequence[Append]) -> list[Verdict] | type[Refused]:
    return answer(lambda: backend.append(appends))


def expected(rules: Rules, appends: Sequence[Append]) -> list[Verdict] | type[Refused]:
    """The verdicts by the rules, which keep nothing of a batch that is refused."""
    trial = rules.copy()
    found = answer(lambda: trial.append_all(appends))
    if found is not Refused:
        rules.append_all(appends)
    return found


def answer(asked: Callable[[], Answer]) -> Answer | type[Refused]:
    try:
        return asked()
    except (Refused, StorageReadOnly, ConversationForgotten):
        return Refused


def at_once(*calls: Callable[[], Answer]) -> tuple[Answer, ...]:
    with ThreadPoolExecutor(len(calls)) as pool:
        running: list[Future[Answer]] = [pool.submit(call) for call in calls]
        return tuple(future.result(PATIENCE) for future in running)


def run(place: Place, how: settings) -> None:
    opened = Opened(place)
    space: dict[str, Any] = {"opened": opened}
    run_state_machine_as_test(type("Machine", (LogMachine,), space), settings=how)
    verified_log(opened.of(1))
    opened.close()


# Not made smaller, which takes minutes: the steps that failed stand in the failure.
SHORT = settings(
    settings.get_profile("alike"),
    max_examples=EXAMPLES,
    stateful_step_count=STEPS,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
LONG = settings(
    SHORT,
    max_examples=40 * EXAMPLES,
    derandomize=False,
    phases=settings.get_profile(WHOLE).phases,
    print_blob=True,
)


def test_every_backend_does_what_the_rules_say(place: Place) -> None:
    run(place, SHORT)


@pytest.mark.soak
def test_every_backend_does_what_the_rules_say_at_length(place: Place) -> None:
    run(place, LONG)
