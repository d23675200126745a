"""The request of a conversation, as it is now or as it was at a version.

The one of now is made from a fold that this process keeps: only the events that came since the last
request are read and folded. A request shares nothing with that fold, so its receiver may change it.
"""

from __future__ import annotations

from dataclasses import dataclass

from onrecord.adapters.conversation.rendering import (
    OF_OTHER_SHAPE,
    ask,
    request_from,
    sources_of,
)
from onrecord.adapters.inputs.arguments import version_asked
from onrecord.adapters.recording.tenancy import Tenancy
from onrecord.adapters.streams.folding import AT_ONCE, Fold, fold, may_go_on
from onrecord.adapters.streams.folds import FoldCache, FoldKey
from onrecord.adapters.streams.lineage import LineSegment
from onrecord.adapters.streams.stream import Stream
from onrecord.adapters.telemetry import names
from onrecord.adapters.telemetry.operations import operation
from onrecord.domain.log import NewSince
from onrecord.projections.apis.request import Options
from onrecord.projections.history.history import History
from onrecord.projections.history.windows import exchanges_of
from onrecord.projections.matching.template import RenderedRequest


def ask_for(stream: Stream, at: int | None, options: Options, tenancy: Tenancy) -> RenderedRequest:
    """Return the request of a conversation, as it is now or as it was at a version."""
    with operation(names.REQUEST, stream.key) as observed:
        rendered = _asked(stream, at, options, tenancy)
        observed.at(rendered.version)
    return rendered


def _asked(stream: Stream, at: int | None, options: Options, tenancy: Tenancy) -> RenderedRequest:
    folds = tenancy.folds
    if at is None and folds is not None and (conversation_id := stream.found()) is not None:
        key = FoldKey(conversation_id, exchanges_of(options.window), options.missing)
        return _CurrentRequest(stream, key, options, folds).ask()
    head = stream.head()
    segments = stream.lineage(version_asked(head, at), head)
    return ask(stream.backend, segments, options)


@dataclass(frozen=True, slots=True)
class _CurrentRequest:
    """What makes the request of all that was said in a conversation."""

    stream: Stream
    key: FoldKey
    options: Options
    folds: FoldCache

    def ask(self) -> RenderedRequest:
        """Return the request, from the fold that is kept or from one that is kept from now on."""
        # Asked for before anything is read: what another thread forgets meanwhile is not kept then.
        drops = self.folds.drops
        kept = self.folds.take(self.key)
        found = self.stream.new_since(*((kept.head.version, AT_ONCE) if kept else (0, 0)))
        version = version_asked(found.head, None)
        drops = self.folds.observe(found, drops)
        if kept is not None and (request := self._gone_on(kept, found, drops)) is not None:
            return request
        return self._fresh(found, drops, self.stream.lineage(version, found.head))

    def _gone_on(self, kept: Fold, found: NewSince, drops: int) -> RenderedRequest | None:
        """Return the request of a fold that goes on; None where it has to be folded anew."""
        try:
            if not kept.go_on(self.stream.backend, found):
                return None
            segments, history = kept.segments, kept.history()
            self.folds.put(self.key, kept, drops)
            return self._request(segments, history)
        except OF_OTHER_SHAPE:
            return None  # An event may be damaged: reading all of them tells which one.

    def _fresh(
        self, found: NewSince, drops: int, segments: tuple[LineSegment, ...]
    ) -> RenderedRequest:
        """Return the request of a fold from scratch, which is kept if it may go on."""
        backend, (conversation_id, window, missing) = self.stream.backend, self.key
        try:
            made = fold(backend, segments, found, window, missing)
            if made.has_items:
                # One more item may change what earlier ones say: their fold does not go on.
                return ask(backend, segments, self.options)
            history = made.history()
            if may_go_on(backend, conversation_id, segments):
                self.folds.put(self.key, made, drops)
            return self._request(segments, history)
        except OF_OTHER_SHAPE:
            return ask(backend, segments, self.options)

    def _request(self, segments: tuple[LineSegment, ...], history: History) -> RenderedRequest:
        backend, options = self.stream.backend, self.options
        request = request_from(backend, segments, history, options).own()
        sources = sources_of(backend, lambda: segments, options)
        return RenderedRequest(request, segments[-1].until, sources)
