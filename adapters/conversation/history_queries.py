"""What a conversation holds, read from its log: server tools, declarations, documents, new turns.

And what changed between the requests of two versions.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import chain
from types import MappingProxyType
from typing import Final

from onrecord.adapters.conversation.conversation import Conversation, stream_of, tenancy_of
from onrecord.adapters.conversation.item_turns import turn_events, whole_turn_events
from onrecord.adapters.conversation.rendering import options_given, request_from
from onrecord.adapters.conversation.tails import since_prompt, tail_of
from onrecord.adapters.inputs.arguments import version_asked, version_given
from onrecord.adapters.streams.event_reading import (
    blob_among,
    in_force,
    line_of,
    owners_of,
)
from onrecord.adapters.streams.lineage import LineSegment, amendments, parted
from onrecord.adapters.streams.stream import Stream
from onrecord.adapters.telemetry import names
from onrecord.adapters.telemetry.operations import operation
from onrecord.domain.blobs import referenced, restore
from onrecord.domain.content import Native
from onrecord.domain.encoding import Erased, Unrecognised, read_stored
from onrecord.domain.errors import CorruptRecord, NothingToSend, OnrecordError
from onrecord.domain.head import Head
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.log import Backend, Blobs, Log, RecordedEvent
from onrecord.domain.request_template import Recipe
from onrecord.projections.apis.declared_tools import Declared, declared_in
from onrecord.projections.apis.request import Options, Request, options_of, without_own
from onrecord.projections.history.held_documents import HeldDocument, bytes_of, documents
from onrecord.projections.history.history import Block, History, Turn, with_answers
from onrecord.projections.history.responses import Place
from onrecord.projections.history.server_tools import Activity, activity
from onrecord.projections.history.windows import MessageWindow, Window, exchanges_of, in_window
from onrecord.projections.matching.request_diff import RequestContent, RequestDiff, compare

# What tools of providers did, read from what a store holds.


def main_branch(stream: Stream, at: int | None) -> tuple[LineSegment, ...]:
    """Return what the main branch is made of, or was at a version; nothing before it began."""
    head = stream.head()
    return stream.lineage(version_asked(head, at), head) if head.version else ()


def activities(backend: Backend, segments: tuple[LineSegment, ...]) -> tuple[Activity, ...]:
    """Return what providers' tools did in these segments, each block whole."""
    read = whole_turn_events(backend, segments)
    return activity(read.events, lambda native: _with_blobs(backend, segments, native, read.blobs))


# Which tools were declared, and when: read from the log by the head's pointer.


def declared(backend: Backend, segments: tuple[LineSegment, ...]) -> Declared:
    """Return the tools in force at the end of these segments, each whole."""
    redacted = amendments(backend, segments).redacted
    event = in_force(backend, segments, "tools", redacted)
    return Declared() if event is None else declaration(backend, segments, event)


def declaration(
    backend: Backend, segments: tuple[LineSegment, ...], recorded: RecordedEvent
) -> Declared:
    """Return what a recorded declaration put in force; nothing where it was erased."""
    event = recorded.event()
    if isinstance(event, Erased | Unrecognised):
        return Declared()
    declaration = declared_in(event, recorded.version, recorded.conversation_id)
    tools = (
        _with_blobs(backend, segments, tool) if isinstance(tool, Native) else tool
        for tool in declaration.tools
    )
    return replace(declaration, tools=tuple(tools))


def declarations(log: Log, segments: tuple[LineSegment, ...]) -> Iterator[RecordedEvent]:
    """Yield all that were made in these segments, the last one first; reads nothing else."""
    for segment in reversed(segments):
        event = in_force(log, (segment,), "tools")
        while event is not None:
            yield event
            before = segment.cut_at(event.version - 1)
            event = in_force(log, (before,), "tools")


def _with_blobs(
    backend: Backend,
    segments: tuple[LineSegment, ...],
    native: Native,
    beside: Mapping[str, bytes] = MappingProxyType({}),
) -> Native:
    """Return an API's own JSON with the strings that were moved to blobs, in the store or `beside` it."""
    blobs = tuple(referenced(native.value))
    if not blobs:
        return native
    data = {
        blob.sha256: beside[blob.sha256]
        if blob.sha256 in beside
        else blob_among(backend, segments, blob)
        for blob in blobs
    }
    return Native(api=native.api, value=restore(native.value, data))


# The documents of a conversation, read from what a store holds, and their bytes.


def documents_held(backend: Backend, segments: tuple[LineSegment, ...]) -> tuple[HeldDocument, ...]:
    """Return the documents of these segments, in order."""
    read = whole_turn_events(backend, segments)
    found = documents(
        read.events, lambda native: _with_blobs(backend, segments, native, read.blobs)
    )
    return tuple(_with_bytes(held, read.blobs) for held in found)


def _with_bytes(held: HeldDocument, blobs: Mapping[str, bytes]) -> HeldDocument:
    """Return a document that holds its bytes itself, where these are no blob of the store."""
    blob = held.document.blob
    if blob is None or blob.sha256 not in blobs:
        return held
    url = f"data:{held.document.media_type};base64,{b64encode(blobs[blob.sha256]).decode()}"
    document = held.document.model_copy(update={"blob": None, "url": url})
    return replace(held, document=document)


def pieces_of(
    blobs: Blobs, segments: tuple[LineSegment, ...], held_document: HeldDocument
) -> Iterator[bytes] | None:
    """Return the bytes of a document in pieces of at most 1 MiB; None for one at an address."""
    if held_document.blob is None:
        return None
    if held_document.document.blob is None:
        return iter((bytes_of(held_document.document, {}),))
    for owner in owners_of(segments):
        pieces = blobs.get_blob(owner, held_document.document.blob)
        try:
            first = next(pieces, b"")
        except CorruptRecord:
            continue
        return chain((first,), pieces)
    raise CorruptRecord("the bytes of a document are missing: restore them from a backup")


# What is new in a conversation: its turns since a version, as a model is told them.


def turns_since(stream: Stream, at: int | None, since: int) -> tuple[Turn, ...]:
    """Return the turns of what came after a version, as `_turns_since` does; told at a version."""
    with operation(names.READ, stream.key) as observed:
        segments = main_branch(stream, at)
        observed.at(segments[-1].until if segments else 0)
        return _turns_since(stream.backend, segments, since)


def _turns_since(
    backend: Backend, segments: tuple[LineSegment, ...], since: int
) -> tuple[Turn, ...]:
    """Return the turns of what came after a version, whole; reads back to the prompt before it.

    All results of a round are in one turn, in the order of its calls; a call that awaits its result
    has none yet. What it was forked from is there only where all is asked for (0).
    """
    if not segments:
        return ()
    own = segments[-1].conversation_id
    read = turn_events(backend, _behind(backend, segments, since), None)
    folded = read.history()
    # A head does not know of calls that stand in items.
    awaited = {*tail_of(backend, segments).open_calls, *(folded.awaited if read.has_items else ())}

    def is_new(block: Block) -> bool:
        if block.mark == "missing" and block.call_id in awaited:
            return False
        return block.version > since if block.conversation == own else not since

    def whole(block: Block) -> Block:
        if not block.spilled or block.plain["kind"] != "native":
            return block
        content = read_stored(Native.model_validate, block.plain)
        native = _with_blobs(backend, segments, content, read.blobs)
        return replace(block, plain={**block.plain, "value": native.value}, spilled=False)

    new = (
        Turn(turn.role, [whole(block) for block in turn.blocks if is_new(block)])
        for turn in folded.turns
    )
    return tuple(with_answers(turn, folded.responses) for turn in new if turn.blocks)


def _behind(log: Log, segments: tuple[LineSegment, ...], since: int) -> tuple[LineSegment, ...]:
    """Return the segments from the exchange on in which a version is; all of them for 0."""
    if not since:
        return segments
    before, behind = parted(segments, segments[-1].conversation_id, since)
    if not behind:
        return segments
    first = next(iter(since_prompt(log, before)), None)
    if first is None:
        return segments
    return parted(segments, first.conversation_id, first.version - 1)[1]


# What changed between the requests of two versions: read from the log, and compared.


def diff_of(
    conversation: Conversation, a: int, b: int, api: str, window: Window | MessageWindow | None
) -> RequestDiff:
    """Return what changed from the request at version `a` to the one at version `b`."""
    stream, matrix = stream_of(conversation), tenancy_of(conversation).matrix
    options = options_given(matrix, api=api, window=window)
    head = stream.head()
    versions = (version_asked(head, version_given(a)), version_asked(head, version_given(b)))
    before, after = (_content(stream, version, head, options)[1] for version in versions)
    return compare(options.api, before, after, partial(event_at, stream))


def event_at(stream: Stream, place: Place) -> RecordedEvent:
    """Return the event at a place of a conversation, or of one that it was forked from."""
    of, version = place
    read = stream.backend.read(of or stream.conversation_id, after=version - 1, until=version)
    for event in read:
        return event
    raise CorruptRecord(f"the event at version {version} is missing: restore a backup")


def request_content(
    conversation: Conversation, at: int | None, api: str, window: Window | MessageWindow | None
) -> tuple[Request, RequestContent]:
    """Return the request at a version, without its secrets, and what it is made of."""
    stream, matrix = stream_of(conversation), tenancy_of(conversation).matrix
    options = options_given(matrix, api=api, window=window)
    head = stream.head()
    return _content(stream, version_asked(head, at), head, options)


def recipe_content(conversation: Conversation, recipe: Recipe) -> tuple[Request, RequestContent]:
    """Return the request that a recipe makes again, and what it is made of."""
    stream = stream_of(conversation)
    return _content(stream, recipe.version, stream.head(), options_of(recipe))


def _content(
    stream: Stream, version: int, head: Head, options: Options
) -> tuple[Request, RequestContent]:
    backend, segments = stream.backend, stream.lineage(version, head)
    read = turn_events(backend, segments, exchanges_of(options.window))
    folded = read.history(options.missing)
    amending = amendments(backend, segments)
    summarised: tuple[LineSegment, ...] = ()
    if (compaction := amending.compaction) is not None:
        summarised, _ = parted(
            segments, compaction.recorded.conversation_id, compaction.event.until
        )
    try:
        request = request_from(backend, segments, folded, options, read.blobs)
    except NothingToSend as exc:
        raise NothingToSend(f"version {version}: {exc}") from None
    return request, RequestContent(
        version=version,
        conversation=stream.conversation_id,
        history=without_own(in_window(folded, options.window), options.api),
        report=request.report,
        left_out=_left_out(
            folded, request, lambda rest: request_from(backend, segments, rest, options, read.blobs)
        ),
        is_on_branch=partial(_is_among, segments),
        is_summarised=partial(_is_among, summarised),
        redacted=amending.redacted,
        is_windowed=options.window is not None,
    )


_IN_WORDS: Final = "document"
"""The rule by which words go in the place of what is left out (docs/rendering.md)."""


def _left_out(
    folded: History, request: Request, render: Callable[[History], Request]
) -> frozenset[Place]:
    """Return where the events are that a request would be the same without.

    A note that something of an event was left out does not say whether all of it was. So the
    request is made without those that have one: all at once, then by halves where it is another.
    """
    notes = (note for note in request.report if note.deed == "left out")
    noted = {note.version for note in notes if note.rule != _IN_WORDS}
    blocks = chain.from_iterable(turn.blocks for turn in folded.turns)
    places = dict.fromkeys(block.place for block in blocks if block.version in noted)
    body, undecided, left_out = dict(request.body), [tuple(places)], set[Place]()
    while undecided:
        if not (group := undecided.pop()):
            continue
        if _is_same_without(group, folded, render, body):
            left_out.update(group)
        elif len(group) > 1:
            middle = len(group) // 2
            undecided += (group[:middle], group[middle:])
    return frozenset(left_out)


def _is_same_without(
    events: Collection[Place],
    folded: History,
    render: Callable[[History], Request],
    body: JsonObject,
) -> bool:
    turns = (
        Turn(turn.role, [block for block in turn.blocks if block.place not in events])
        for turn in folded.turns
    )
    rest = replace(folded, turns=tuple(turn for turn in turns if turn.blocks))
    try:
        return dict(render(rest).body) == body
    except OnrecordError:  # Without them there may be nothing to send, or a document nobody read.
        return False


def _is_among(segments: tuple[LineSegment, ...], event: RecordedEvent) -> bool:
    origin = event.conversation_id, line_of(event)
    return any(
        (segment.conversation_id, segment.line) == origin and segment.has(event.version)
        for segment in segments
    )
