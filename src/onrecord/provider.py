"""What a package needs that adds an API to Onrecord; docs/adding-a-provider.md makes one, whole.

An `Api` says what the JSON of the API means to other APIs, and makes its requests. A `Wire` reads
requests and answers from bytes. A `Rule` finds what the provider would refuse. What `onrecord`
exports (`Request`, `Options`, `Text`, events, errors) is not exported here again.
"""

from onrecord.adapters.wire.answer import (
    Anomaly,
    Answer,
    Loss,
    ReadBody,
    body_reader,
    text_or_none,
    whole_blocks,
)
from onrecord.adapters.wire.api import AnswerStream, Endpoint, Wire
from onrecord.adapters.wire.blocks import AnswerBlock, BlockContext, UnnamedCalls
from onrecord.adapters.wire.requests import (
    ReadRequest,
    RequestEvents,
    Result,
    WireRequest,
    answered_turns,
    optional_objects,
    required_objects,
)
from onrecord.adapters.wire.stream_reader import Decoder as SseDecoder
from onrecord.adapters.wire.stream_reader import ServerSentEvent
from onrecord.domain.content import NeutralBlock, Opaque, ServerToolCall, ServerToolResult
from onrecord.domain.jsontext import JsonObject, read_bounded_object
from onrecord.projections.api import Api, Reader, Replay, UsagePlaces
from onrecord.projections.apis.answers import headline, is_call, words_for_nothing
from onrecord.projections.apis.documents import Router
from onrecord.projections.apis.draft import Draft, RuleNames
from onrecord.projections.apis.foreign import told_of
from onrecord.projections.apis.request import nothing_to_send, outside
from onrecord.projections.apis.rules import Found as Breach
from onrecord.projections.apis.rules import Rule
from onrecord.projections.apis.tools import Wants
from onrecord.projections.apis.user_messages import RESULTS
from onrecord.projections.history.history import History
from onrecord.projections.history.responses import Response, Responses
from onrecord.projections.matching.units import Piece, piece_of
from onrecord.projections.members import members_of, placed_objects, token_count

__all__ = [
    "RESULTS",
    "Anomaly",
    "Answer",
    "AnswerBlock",
    "AnswerStream",
    "Api",
    "BlockContext",
    "Breach",
    "Draft",
    "Endpoint",
    "History",
    "JsonObject",
    "Loss",
    "NeutralBlock",
    "Opaque",
    "Piece",
    "ReadBody",
    "ReadRequest",
    "Reader",
    "Replay",
    "RequestEvents",
    "Response",
    "Responses",
    "Result",
    "Router",
    "Rule",
    "RuleNames",
    "ServerSentEvent",
    "ServerToolCall",
    "ServerToolResult",
    "SseDecoder",
    "UnnamedCalls",
    "UsagePlaces",
    "Wants",
    "Wire",
    "WireRequest",
    "answered_turns",
    "body_reader",
    "headline",
    "is_call",
    "members_of",
    "nothing_to_send",
    "optional_objects",
    "outside",
    "piece_of",
    "placed_objects",
    "read_bounded_object",
    "required_objects",
    "text_or_none",
    "token_count",
    "told_of",
    "whole_blocks",
    "words_for_nothing",
]
