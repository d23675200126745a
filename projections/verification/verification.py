"""What must hold of a log, whoever wrote it: each event as committed to, each row as the events say.

It finds damage, and what is changed without computing hashes anew. A forger who rewrites every row,
hashes and all, is found only by whoever kept a root elsewhere (docs/format.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Final, NamedTuple, TypeAlias, cast, get_args
from uuid import UUID

from onrecord.domain import events
from onrecord.domain.admission import Standing, need_of, why_refused
from onrecord.domain.encoding import NAMES, VERSIONS, Erased, Unrecognised
from onrecord.domain.encryption.bodies import ENCRYPTED, key_name_in
from onrecord.domain.errors import CorruptRecord
from onrecord.domain.events import Event
from onrecord.domain.head import (
    MOST_TOKENS,
    NOTHING,
    Effect,
    Head,
    Pointer,
    advance,
    effect_of,
)
from onrecord.domain.header import CODEC, ClientHeader, body_digest, leaf, recorded_header
from onrecord.domain.inventory import Commitment, StoredEvent, StoredHead
from onrecord.domain.log import RecordedEvent
from onrecord.domain.new_events import once_of
from onrecord.domain.operators import is_apart, is_operators

Happened: TypeAlias = Event | Unrecognised | Erased
"""What an event tells, as far as it can be told."""

Digest: TypeAlias = Callable[[str], bytes]
"""Makes the keyed digest of a name, by the log's own key."""

_PROMPTS: Final = frozenset({"message.recorded", "signal.received"})
_COUNTS: Final = frozenset({"response.completed", "response.interrupted"})
_CLOSES: Final = "conversation.closed"
_POINTS: Final = {
    "instructions.set": "instructions",
    "tools.declared": "tools",
    "request.sent": "request",
    "line.adopted": "adopted",
    "history.compacted": "amended",
    "content.redacted": "amended",
}
"""What an event of a type points at, unless it is on a side branch."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that does not hold: of the event at a version, of a conversation, of the log.

    `version` is 0 where it is of no event, `conversation_id` None where it is of no conversation.
    """

    conversation_id: UUID | None
    version: int
    why: str


def happened_in(event: RecordedEvent) -> Happened | None:
    """Return what happened; None where the body does not have the shape of its type."""
    try:
        return event.event()
    except CorruptRecord:
        return None


def header_of(event: RecordedEvent) -> ClientHeader | None:
    """Return the client header; None where it cannot be read."""
    try:
        return event.client_header()
    except CorruptRecord:
        return None


def commitment_faults(event: RecordedEvent) -> Iterator[Fault]:
    """Yield what does not hold of an event's bytes: its leaf, its digest, its header."""
    if event.position < 1:
        yield _fault(event, f"it is at position {event.position}, and positions begin at 1")
    for why in hash_faults(event):
        yield _fault(event, why)
    header = header_of(event)
    if header is None:
        yield _fault(event, "its header cannot be read")
        return
    leading = (header.event_id, header.conversation_id, header.type, header.schema_version)
    if leading != (event.event_id, event.conversation_id, event.type, event.schema_version):
        yield _fault(event, "its header is that of another event")


def hash_faults(event: RecordedEvent | Commitment) -> Iterator[str]:
    """Yield what does not hold of an event's hashes, in words; nothing is parsed for it."""
    committed = recorded_header(event.header, event.version, event.position, event.recorded_at)
    if event.leaf != leaf(committed, event.digest):
        yield "its leaf is not that of its header, place and digest"
    if (event.body is None) != (event.salt is None):
        yield "its body and its salt are not erased together"
    elif (
        event.body is not None
        and event.salt is not None
        and event.digest != body_digest(event.salt, event.body)
    ):
        yield "its digest is not that of its salt and body"


def place_faults(event: RecordedEvent, before: RecordedEvent | None) -> Iterator[Fault]:
    """Yield what is wrong with the place of an event in its shard, behind another one."""
    last = 0 if before is None else before.position
    if event.position != last + 1:
        yield _fault(event, f"it is at position {event.position}, the one before it at {last}")


class Forking(NamedTuple):
    """An event that says that its conversation goes on from another one, and from which."""

    recorded: RecordedEvent
    origin: UUID


class Fold:
    """A conversation as its events leave it, taken one after the other from the first one on.

    What an event did cannot always be told: it was erased, is of a newer release, or is encrypted and
    its key is not here. Then its columns must be such as its type allows, and the fold goes on from them.
    `unread_under` are the versions of the encrypted ones that could not be read, by the name of their keys.
    """

    def __init__(self, conversation_id: UUID, digest: Digest) -> None:
        """Begin before the first event."""
        self.conversation_id = conversation_id
        self.head = Head()
        self.tenant: UUID | None = None
        self.key: str | None = None
        self.is_fork = self.is_operators = False
        self.forks: list[Forking] = []
        self.events = self.erased = 0
        self.newer = self.unread = 0
        self.unread_under: dict[str, list[int]] = {}
        self.started_at = self.recorded_at = self.position = 0
        self._digest = digest
        self._calls_known = self._counts_known = True

    def take(self, stored: StoredEvent, happened: Happened | None) -> list[Fault]:
        """Take the next event; return what does not hold of it and of the columns beside it."""
        event, header = stored.event, header_of(stored.event)
        faults = list(self._begin(stored, header))
        if event.body is not None and event.salt is not None and happened is None:
            faults.append(_fault(event, "its body does not have the shape of its type"))
        effect = _effect(happened, header)
        if isinstance(happened, events.ConversationStarted) and not self.events:
            self.key = happened.key
        self.is_fork = self.is_fork or event.type == "conversation.forked"
        if isinstance(happened, events.ConversationForked):
            self.forks.append(Forking(event, happened.origin))
        self.is_operators = self.is_operators or is_operators(event.type)
        faults += self._follow(event, happened)
        faults += self._advance(stored, effect)
        faults += self._once(stored, happened, effect)
        self.events += 1
        self.erased += event.body is None
        is_unknown = effect is None and event.body is not None
        self.unread += is_unknown and isinstance(happened, Erased)
        name = key_name_in(event.header)
        if isinstance(happened, Erased) and event.body is not None and name is not None:
            self.unread_under.setdefault(name, []).append(event.version)
        self.newer += is_unknown and not isinstance(happened, Erased)
        self.recorded_at, self.position = event.recorded_at, event.position
        return faults

    def head_faults(self, stored: StoredHead) -> Iterator[Fault]:
        """Yield where the row of the head is not what the events come to."""
        if not self.events:
            yield self._of_head("its head says that it has begun, and none of its events is there")
            return
        known, head = self._known_members(stored.forgotten), stored.head
        wrong = [name for name in known if getattr(self.head, name) != getattr(head, name)]
        if not (0 <= head.input_tokens <= MOST_TOKENS and 0 <= head.output_tokens <= MOST_TOKENS):
            wrong += [name for name in ("input_tokens", "output_tokens") if name not in known]
        if stored.forgotten and head.open_calls:
            wrong.append("open_calls")
        for name in ("tenant", "position", "started_at", "recorded_at"):
            if getattr(self, name) != getattr(stored, name):
                wrong.append(name)
        if wrong:
            why = f"its head is not what its events come to: {', '.join(wrong)}"
            yield self._of_head(why)
        if stored.forgotten and self.erased < self.events:
            yield self._of_head("it counts as forgotten, and has events that are not erased")
        if not stored.forgotten and self.erased:
            yield self._of_head(f"{self.erased} of its events are erased, and it is not forgotten")

    def _begin(self, stored: StoredEvent, header: ClientHeader | None) -> Iterator[Fault]:
        event = stored.event
        if not self.events:
            # Applications of `eventsourcing` may count from 0.
            self.head = Head(version=-1 if event.version == 0 else 0)
            self.tenant = header.tenant if header else stored.tenant
            self.started_at = event.recorded_at
        expected = self.head.version + 1
        if event.version != expected:
            yield _fault(event, f"version {expected} should stand here")
            self.head = replace(self.head, version=event.version - 1)
        if header and header.tenant != self.tenant:
            yield _fault(event, "its header names another tenant than the events before it")
        if header and stored.tenant not in (None, header.tenant):
            yield _fault(event, "its header names another tenant than its row")

    def _follow(self, event: RecordedEvent, happened: Happened | None) -> Iterator[Fault]:
        """Yield where the conversation would not have taken the event after those before it."""
        tenant = UUID(int=0) if self.tenant is None else self.tenant
        if not is_apart(tenant, event.conversation_id, [event.type]):
            yield _fault(event, "it mixes what is the operators' with what is a conversation's")
        need = None if happened is None else need_of(happened)
        status = Standing(self.events > 0, self.head.version, self.head.closed)
        if not status.takes(need):
            yield _fault(event, f"it should not stand here: {why_refused(need)}")

    def _advance(self, stored: StoredEvent, effect: Effect | None) -> Iterator[Fault]:
        """Move the head by an effect, or by the event's columns as far as its type allows them."""
        event, before = stored.event, self.head.exchange
        may_prompt = _may_prompt(event) if effect is None else effect.prompts
        if stored.pointer not in _pointers(event, effect):
            yield _fault(event, f"its row says that it points at {stored.pointer or 'nothing'}")
        if effect is None:
            self._calls_known = False
            self._counts_known = self._counts_known and event.type in NAMES.keys() - _COUNTS
            points = cast("Pointer | None", stored.pointer)
            effect = Effect(points=points, closes=event.type == _CLOSES)
        self.head = advance(self.head, effect)
        exchanges = {self.head.exchange} if self._calls_known else {before, before + may_prompt}
        if event.exchange not in exchanges:
            yield _fault(event, f"it is in exchange {event.exchange}, not {max(exchanges)}")
        self.head = replace(self.head, exchange=event.exchange)
        if stored.opens_exchange not in (None, event.exchange > before):
            yield _fault(event, "its row is wrong about whether it opened an exchange")

    def _once(
        self, stored: StoredEvent, happened: Happened | None, effect: Effect | None
    ) -> Iterator[Fault]:
        expected = None
        if happened is not None and not isinstance(happened, Unrecognised | Erased):
            name = once_of(happened)
            expected = None if name is None else self._digest(name)
        elif effect is None and stored.event.body is not None:
            return  # Of a newer release.
        if stored.once != expected:
            yield _fault(stored.event, "what it can hold only once is not what its row says")

    def _known_members(self, forgotten: bool) -> list[str]:
        unknown: set[str] = set()
        if not self._calls_known or forgotten:
            unknown |= {"open_calls"}
        if not self._counts_known:
            unknown |= {"input_tokens", "output_tokens"}
        if self.newer:
            unknown |= {"closed"}
        return [member.name for member in fields(Head) if member.name not in unknown]

    def _of_head(self, why: str) -> Fault:
        return Fault(self.conversation_id, 0, why)


def _effect(happened: Happened | None, header: ClientHeader | None) -> Effect | None:
    """Return what an event did to the head; None where that cannot be told."""
    if happened is not None and not isinstance(happened, Unrecognised | Erased):
        return effect_of(happened)
    if isinstance(happened, Unrecognised) and is_operators(happened.type):
        return effect_of(happened)
    # What applications of `eventsourcing` record does nothing to it.
    return NOTHING if header is not None and header.codec not in (CODEC, ENCRYPTED) else None


def _may_prompt(event: RecordedEvent) -> bool:
    """Return whether an event whose effect is not known may have opened an exchange."""
    return event.type in _PROMPTS or _is_newer(event)


def _pointers(event: RecordedEvent, effect: Effect | None) -> tuple[str | None, ...]:
    """Return what an event may point at."""
    if effect is not None:
        return (effect.points,)
    if _is_newer(event):
        return (None, *get_args(Pointer))
    return (None, _POINTS.get(event.type))


def _is_newer(event: RecordedEvent) -> bool:
    return event.schema_version > VERSIONS.get(event.type, 0)


def _fault(event: RecordedEvent, why: str) -> Fault:
    return Fault(event.conversation_id, event.version, why)
