"""Routes of the log as it is: what our own client, a backend over HTTP, appends and reads."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from functools import partial
from itertools import islice
from typing import Annotated, Any, Final, Protocol, TypeVar, cast
from uuid import UUID

from pydantic import Field
from starlette.responses import Response

from onrecord.adapters.service.model import Empty, Model
from onrecord.adapters.service.problems import MALFORMED, Problem
from onrecord.adapters.service.route import Call, Route, answered, posting, reading
from onrecord.adapters.service.routes.log_paths import LOG, OF_ONE, conversation_id_of
from onrecord.adapters.service.strangers import (
    is_visible,
    must_act_for,
    must_be_in_clear,
    must_be_of_its_tenant,
    must_be_whole,
    must_go_on_from_its_tenant,
    must_make_no_keys,
    must_move_nothing,
)
from onrecord.adapters.storage.http.append_forms import (
    AppendsForm,
    VerdictsForm,
    append_of,
    verdict_form,
)
from onrecord.adapters.storage.http.event_forms import (
    CursorForm,
    CursorsForm,
    EventsForm,
    HeadForm,
    NewSinceForm,
    TailForm,
    TellForm,
    event_form,
    head_form,
    told_form,
)
from onrecord.adapters.storage.http.forms import (
    LONGEST_WAIT,
    MOST_EVENTS,
    ConversationIds,
    Count,
    Limit,
    Number,
    Shard,
    Standing,
    VersionOrBefore,
)
from onrecord.adapters.storage.subscription import POLL_SECONDS, Wakeups
from onrecord.domain.head import Head, Pointer
from onrecord.domain.log import (
    BEFORE_FIRST,
    Append,
    Cursor,
    NewSince,
    RecordedEvent,
    Told,
    Verdict,
)

EventT = TypeVar("EventT", RecordedEvent, Told)

_SCAN_SECONDS: Final = 1.0
"""How long other tenants' events are passed over in one answer: it says how far it came."""

_MOST_BYTES: Final = 8 << 20
"""Of bodies in one answer: what follows is asked for again."""


class Range(Model):
    """Events with after < version <= until, at most `limit`."""

    after: VersionOrBefore = BEFORE_FIRST
    """The version that they come after."""
    until: Count | None = None
    """The last version, if not all."""
    limit: Limit = MOST_EVENTS
    """The most of one answer."""


class Since(Model):
    """Events that came after a version, at most `limit`."""

    after: VersionOrBefore
    """The version that they come after."""
    limit: Limit = MOST_EVENTS
    """The most of one answer."""


class Telling(Model):
    """From the prompt that opened an exchange on, up to a version."""

    exchange: Count = 0
    """The number of the exchange; 0 is from the first event on."""
    until: Count | None = None
    """The last version, if not all."""


class Pointed(Model):
    """The last events that a head pointed at so."""

    pointer: Pointer
    """What the head pointed at."""
    until: Count
    """The last version."""
    limit: Limit = 1
    """The most of one answer."""


class Exchange(Model):
    """The number of an exchange."""

    exchange: Count
    """The number of the exchange."""


class Place(Model):
    """A place in a shard."""

    incarnation: UUID
    """The incarnation of the log."""
    shard: Shard
    """The number of the shard."""
    after: Count
    """The position that they come after."""
    limit: Limit = MOST_EVENTS
    """The most of one answer."""


class WaitedPlace(Place):
    """A place in a shard, and how many seconds to wait where nothing follows there."""

    wait: Annotated[float, Field(gt=0, le=LONGEST_WAIT)]
    """How many seconds to wait where nothing follows."""


async def standing(call: Call[Empty, Empty]) -> Response:
    """Return whose log this is for whoever asks."""
    backend, access = call.backend, call.access

    def look() -> tuple[UUID, bool]:
        return backend.cursors()[0].incarnation, backend.may_forget()

    incarnation, may_forget = await call.steps.run(look)
    return answered(
        Standing(
            tenant=call.tenant,
            role=access.role,
            all_tenants=access.all_tenants,
            incarnation=incarnation,
            may_forget=may_forget and access.allows("operate"),
        )
    )


async def append(call: Call[Empty, AppendsForm]) -> Response:
    """Append, each request as a whole or not at all."""
    appends = _appends(call)
    for each in appends:
        must_act_for(call, each.tenant)
        must_make_no_keys(each)
        must_move_nothing(each)
        must_be_in_clear(each)
        if not call.access.all_tenants:
            must_be_whole(each)

    def write() -> tuple[UUID, list[Verdict]]:
        for each in appends:
            must_be_of_its_tenant(call, each)
        must_go_on_from_its_tenant(call, appends)
        verdicts = call.backend.append(appends)
        return call.backend.incarnation(), verdicts

    incarnation, verdicts = await call.steps.run(write)
    return answered(
        VerdictsForm(incarnation=incarnation, verdicts=list(map(verdict_form, verdicts)))
    )


def _appends(call: Call[Empty, AppendsForm]) -> list[Append]:
    try:
        return list(map(append_of, call.body.appends))
    except ValueError:
        raise Problem(MALFORMED, "bytes of a text are no UTF-8") from None


async def events(call: Call[Range, Empty]) -> Response:
    """Return events of a conversation, in order of version."""
    asked, conversation_id = call.query, conversation_id_of(call)

    def read() -> Iterable[RecordedEvent]:
        if not is_visible(call, conversation_id):
            return ()
        return call.backend.read(
            conversation_id, after=asked.after, until=asked.until, limit=asked.limit
        )

    page, is_all = await call.steps.run(lambda: _page(read()))
    return answered(EventsForm.model_construct(events=list(map(event_form, page)), is_all=is_all))


async def tell(call: Call[Telling, Empty]) -> Response:
    """Return what a fold takes of events of a conversation."""
    asked, conversation_id = call.query, conversation_id_of(call)

    def read() -> Iterable[Told]:
        if not is_visible(call, conversation_id):
            return ()
        return call.backend.tell(conversation_id, exchange=asked.exchange, until=asked.until)

    page, is_all = await call.steps.run(lambda: _page(read()))
    return answered(TellForm.model_construct(events=list(map(told_form, page)), is_all=is_all))


async def first_events(call: Call[Empty, ConversationIds]) -> Response:
    """Return the first events of several conversations."""

    def read() -> list[RecordedEvent]:
        ids = [each for each in call.body.conversation_ids if is_visible(call, each)]
        return call.backend.first_events(ids)

    found = await call.steps.run(read)
    return answered(EventsForm.model_construct(events=list(map(event_form, found))))


async def new_since(call: Call[Since, Empty]) -> Response:
    """Return where a conversation stands and what came after a version."""
    asked, conversation_id = call.query, conversation_id_of(call)

    def read() -> NewSince:
        found = call.backend.new_since(conversation_id, asked.after, asked.limit)
        if is_visible(call, conversation_id):
            return found
        return found._replace(head=Head(), events=[])

    found = await call.steps.run(read)
    page, is_all = _page(found.events)
    form = NewSinceForm.model_construct(
        incarnation=found.incarnation,
        erasures=found.erasures,
        head=head_form(found.head),
        events=list(map(event_form, page)),
        is_all=is_all,
    )
    return answered(form)


async def head(call: Call[Empty, Empty]) -> Response:
    """Return where a conversation stands."""
    conversation_id = conversation_id_of(call)

    def read() -> Head:
        return call.backend.head(conversation_id) if is_visible(call, conversation_id) else Head()

    return answered(head_form(await call.steps.run(read)))


async def pointed(call: Call[Pointed, Empty]) -> Response:
    """Return the last events up to a version that a head pointed at, the last one first."""
    asked, conversation_id = call.query, conversation_id_of(call)

    def read() -> list[RecordedEvent]:
        if not is_visible(call, conversation_id):
            return []
        return call.backend.pointed(conversation_id, asked.pointer, asked.until, asked.limit)

    found = await call.steps.run(read)
    return answered(EventsForm.model_construct(events=list(map(event_form, found))))


async def exchange(call: Call[Exchange, Empty]) -> Response:
    """Return the version of the prompt that opened an exchange; 0 if there is none such."""
    number, conversation_id = call.query.exchange, conversation_id_of(call)

    def read() -> int:
        if not is_visible(call, conversation_id):
            return 0
        return call.backend.exchange_start(conversation_id, number)

    return answered(Number(number=await call.steps.run(read)))


async def cursors(call: Call[Empty, Empty]) -> Response:
    """Return the end of each shard."""
    found = await call.steps.run(call.backend.cursors)
    forms = [
        CursorForm(**{name: getattr(each, name) for name in Cursor.__slots__}) for each in found
    ]
    return answered(CursorsForm(cursors=forms))


async def shard_events(call: Call[Place, Empty]) -> Response:
    """Return what follows in a shard; events of other tenants are passed over."""
    return await _following(call, 0)


async def tail(call: Call[WaitedPlace, Empty]) -> Response:
    """Return what follows in a shard, waited for; events of other tenants are passed over."""
    return await _following(call, call.query.wait)


async def _following(call: Call[Any, Empty], wait: float) -> Response:
    asked, loop = call.query, asyncio.get_running_loop()
    after, ends = Cursor(asked.incarnation, asked.shard, asked.after), loop.time() + wait
    wakeups = cast("_Followed", call.backend).wakeups
    while True:
        seen = wakeups.seen()
        page, end = await call.steps.run(partial(_visible_after, call, after))
        left = ends - loop.time()
        if (
            page
            or call.tails.hub.is_over
            or (left <= 0 and (end == after or left < -_SCAN_SECONDS))
        ):
            break
        if end == after:
            await wakeups.awaited(seen, min(left, POLL_SECONDS))
        after = end
    form = TailForm.model_construct(
        events=list(map(event_form, page)),
        incarnation=end.incarnation,
        position=end.position,
    )
    return answered(form)


def _visible_after(call: Call[Any, Empty], after: Cursor) -> tuple[list[RecordedEvent], Cursor]:
    """Return events that whoever asks may see, and how far in the shard they were looked for."""
    read = call.backend.read_log(after, call.query.limit)
    page, _ = _page(read)
    if page:
        after = Cursor(after.incarnation, after.shard, page[-1].position)
    return [event for event in page if is_visible(call, event.conversation_id)], after


class _Followed(Protocol):
    """What each kind of store has beside the verbs of its port."""

    wakeups: Wakeups


def _page(events: Iterable[EventT]) -> tuple[list[EventT], bool]:
    """Return the first events, as many as one answer has room for, and whether that is all."""
    page, size = list[EventT](), 0
    reading = iter(events)
    for event in islice(reading, MOST_EVENTS):
        page.append(event)
        size += len(event.body or b"")
        if size > _MOST_BYTES:
            break
    else:
        # A page of as many events as there may be says nothing of what follows.
        return page, len(page) < MOST_EVENTS
    return page, False


ROUTES: Final[tuple[Route[Any, Any], ...]] = (
    reading(LOG, "log_standing", "Whose log is it?", standing, Standing),
    reading(f"{LOG}/cursors", "log_cursors", "Where does each shard end?", cursors, CursorsForm),
    reading(
        *(f"{LOG}/events", "log_shard_events", "Read a shard.", shard_events, TailForm),
        query=Place,
        statuses=(410,),
    ),
    reading(
        *(f"{LOG}/tail", "log_tail", "Follow a shard.", tail, TailForm),
        query=WaitedPlace,
        statuses=(410,),
        is_tail=True,
    ),
    reading(f"{OF_ONE}/events", "log_events", "Read events.", events, EventsForm, query=Range),
    reading(f"{OF_ONE}/told", "log_tell", "Read what folds take.", tell, TellForm, query=Telling),
    reading(f"{OF_ONE}/new", "log_new", "Read what is new.", new_since, NewSinceForm, query=Since),
    reading(f"{OF_ONE}/head", "log_head", "Where does it stand?", head, HeadForm),
    reading(f"{OF_ONE}/pointed", "log_pointed", "Find events.", pointed, EventsForm, query=Pointed),
    reading(
        f"{OF_ONE}/exchange", "log_exchange", "Find a prompt.", exchange, Number, query=Exchange
    ),
    posting(
        *("write", f"{LOG}/appends", "log_append", "Append events, byte for byte."),
        *(append, VerdictsForm),
        body=AppendsForm,
        statuses=(507,),
    ),
    posting(
        *("read", f"{LOG}/first-events", "log_first_events", "Read first events."),
        *(first_events, EventsForm),
        body=ConversationIds,
    ),
)
