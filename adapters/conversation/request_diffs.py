"""What changed between the requests of two versions: read from the log, and compared."""

from __future__ import annotations

from collections.abc import Iterable

from onrecord.adapters.conversation.conversation import Conversation, stream_of, tenancy_of
from onrecord.adapters.conversation.rendering import options_given, request_of
from onrecord.adapters.inputs.arguments import version_asked, version_given
from onrecord.adapters.streams.event_reading import events_for, told_whole
from onrecord.adapters.streams.lineage import amendments
from onrecord.adapters.streams.stream import Stream
from onrecord.domain.errors import CorruptRecord
from onrecord.domain.head import Head
from onrecord.domain.log import RecordedEvent, Told
from onrecord.projections.apis.request import Options, without_own
from onrecord.projections.history.responses import Place
from onrecord.projections.history.turns import history
from onrecord.projections.history.windows import MessageWindow, Window, exchanges_of, in_window
from onrecord.projections.matching.request_diff import RequestContent, RequestDiff, compare


def diff_of(
    conversation: Conversation, a: int, b: int, api: str, window: Window | MessageWindow | None
) -> RequestDiff:
    """Return what changed from the request at version `a` to the one at version `b`."""
    stream, matrix = stream_of(conversation), tenancy_of(conversation).matrix
    options = options_given(matrix, api=api, window=window)
    head = stream.head()
    versions = (version_asked(head, version_given(a)), version_asked(head, version_given(b)))
    before, after = (_content(stream, version, head, options) for version in versions)

    def event_at(place: Place) -> RecordedEvent:
        of, version = place
        read = stream.backend.read(of or stream.conversation_id, after=version - 1, until=version)
        for event in read:
            return event
        raise CorruptRecord(f"the event at version {version} is missing: restore a backup")

    return compare(options.api, before, after, event_at)


def _content(stream: Stream, version: int, head: Head, options: Options) -> RequestContent:
    backend, segments = stream.backend, stream.lineage(version, head)
    read = events_for(backend, segments, exchanges_of(options.window))
    viewed = in_window(history(read, options.missing), options.window)
    return RequestContent(
        version=version,
        conversation=stream.conversation_id,
        history=without_own(viewed, options.api),
        report=request_of(backend, segments, options).report,
        recorded=_places(told_whole(backend, segments)),
        unsummarised=_places(events_for(backend, segments, None)),
        redacted=amendments(backend, segments).redacted,
        is_windowed=options.window is not None,
    )


def _places(read: Iterable[Told]) -> frozenset[Place]:
    return frozenset((event.conversation_id, event.version) for event in read)
