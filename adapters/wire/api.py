"""What is to be known of an API to record its wire: how requests and answers are read.

One value an API; `wires.py` finds them. What they share (attempts, retries, secrets, lines) is
written once, against this.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from re import Pattern
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeAlias, cast
from uuid import UUID

from onrecord.adapters.wire.answer import Answer, Loss, ReadBody
from onrecord.adapters.wire.blocks import EventOf, Recording
from onrecord.adapters.wire.requests import ReadRequest, WireRequest
from onrecord.domain.errors import MalformedJson
from onrecord.domain.events import AttemptFailed
from onrecord.domain.jsontext import JsonObject, read_bounded, read_bounded_object
from onrecord.projections.matching.units import Piece
from onrecord.projections.members import members_of


class AnswerStream(Protocol):
    """Reads one streamed answer, chunk by chunk; nothing that arrives makes it raise.

    One of which no event says that it is the last has `endings` as well, an integer: how often all
    may have come, 0 where more must. Only the end of the body tells.
    """

    def feed(self, chunk: bytes) -> bool:
        """Take the next bytes in; return whether the answer's last event has been seen."""
        ...

    def finish(self, loss: Loss = "cut", detail: str | None = None) -> Answer:
        """Return what the answer said; `loss` is why, if its last event has not been seen."""
        ...


Kind: TypeAlias = Literal["turn", "answer", "batch", "upload", "later", "status", "results", "none"]
"""A turn is recorded; `answer` reads what an earlier turn was answered in the background.

`batch` sends several turns at once; `upload` sends a file, which may hold those of a batch, and
`later` has them answered one day. `status` asks how batches stand, and `results` reads what the
turns of one were answered. None is no conversation.
"""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """What requests to an end of a path are for; `*` is any text within one segment of it.

    `compacts` says of a turn that it asks for a summary of what it says, and for nothing else.
    """

    method: str
    path: str
    kind: Kind
    compacts: bool = False


class BatchEntry(NamedTuple):
    """One request of a batch: the caller's name for it, and what would be the body of a call.

    `url` is where that call would go, if the batch says so.
    """

    name: str
    body: bytes
    url: str | None = None


class BatchResult(NamedTuple):
    """What one request of a batch was answered, by the caller's name for it."""

    name: str
    answer: Answer
    request_id: str | None = None


class BatchStatus(NamedTuple):
    """How a batch stands: where its requests are known by, and where its results are, if there are.

    `results` are those that the status holds itself, each with its bytes; `files` the ids of the
    files that have them as lines. `url` is where each request goes, if the status says so.
    """

    batch_id: str
    requests_id: str
    results: tuple[tuple[BatchResult, bytes], ...] = ()
    files: tuple[str, ...] = ()
    url: str | None = None


def no_status(body: JsonObject) -> tuple[BatchStatus, ...]:
    """Return none: of an API whose results are at a path that names the batch."""
    return ()


@dataclass(frozen=True, slots=True)
class ResultsWire:
    """How the results of batches are read that come as lines.

    `read_result` reads a line; None where it is none. `name` finds the name in the beginning of a
    line that is too long to be read, as JSON, for its first group. Results are read at a path that
    ends with an id and one word: the id of the batch, or where they are `in_files` that of a file,
    of which a status alone tells whose it is.
    """

    read_result: Callable[[bytes], BatchResult | None]
    name: Pattern[bytes]
    in_files: bool = False

    def name_in(self, head: bytes) -> str | None:
        """Return the name in the beginning of a line; None where it does not stand there whole."""
        match = self.name.match(head)
        try:
            return None if match is None else json.loads(match[1])
        except ValueError:
            return None


@dataclass(frozen=True, slots=True)
class BatchWire:
    """How an API's batches are read, which send many requests and have their answers read later.

    `entries` gives the requests that the body of one sends, none where they lie elsewhere:
    InvalidContent or MalformedJson where one cannot be read. `read_created` reads what the provider
    says to it, as `read_body` does: an answer that is deferred, whose `provider_id` is what the
    requests are known by: the batch's id, or that of the file which has them. `read_status` reads
    how batches stand; what is no status of this API's says nothing. `lines` reads results that come
    so.
    """

    entries: Callable[[bytes], tuple[BatchEntry, ...]]
    read_created: Callable[[bytes, Loss, str | None], Answer]
    read_status: Callable[[JsonObject], tuple[BatchStatus, ...]] = no_status
    lines: ResultsWire | None = None


def no_family() -> type[Exception] | None:
    """Return none: an API without an SDK of its own."""
    return None


def family_of(module: str, error: str) -> Callable[[], type[Exception] | None]:
    """Return what gives the error of a module, once something imported that."""
    return lambda: getattr(sys.modules.get(module), error, None)


def no_answers(events: Sequence[JsonObject]) -> int:
    """Return 0: nobody can tell how many answers these events are of."""
    del events
    return 0


@dataclass(frozen=True, slots=True)
class Wire:
    """How an API's wire is read.

    `streams` has a reader of streamed answers for each content type, the usual one first.
    `read_body` reads a whole answer; its `loss` and `detail` say why the body may be cut. Neither
    raises. `event_of` returns the event that records a block. `read_request` raises MalformedJson
    for a body that is no JSON, InvalidContent for one that is no request of this API.
    `request_events` returns the events of the new pieces of a request. An assistant's message takes
    the next of the responses' ids; the last argument is the side branch, None for the main one.

    `endpoints` are the ends of the paths of this API, the longest first. `content_paths` are the
    parts of a request that the model reads, as JSON pointers with `*` for any place in a list: they
    are kept word for word, and secrets are searched in all the rest. `tools_path` is where messages
    may hold definitions of tools. `held_by_provider` has the members of a request that refer to what
    the provider holds and the record does not, and what that is. `headers` are those that change
    the meaning of a request. `family` returns the base class of the SDK's errors, if the SDK was
    imported. `batches` reads batches, if they are recorded. `is_respelled` is True if the SDK writes
    a request differently from what it was given (respelling.py).

    Of what a program hands over: `answers_among` counts the answers that events of a stream are of, 0
    or 1 where they are of one. `answer_members` are those of an envelope that only answers of this
    API have; None where the reader keeps no others. `sdk_arguments` has the members that only the
    SDK's functions take, no request, and whose they are. `model_prefix` is what a name of a model
    may begin with, where the path says it already.
    """

    api: str
    streams: Mapping[str, Callable[[], AnswerStream]]
    read_body: Callable[[bytes, Loss, str | None], Answer]
    event_of: EventOf
    read_request: ReadRequest
    request_events: Callable[[WireRequest, Sequence[Piece], Iterator[UUID], UUID | None], Recording]
    endpoints: tuple[Endpoint, ...]
    content_paths: frozenset[str]
    tools_path: str | None = None
    held_by_provider: Mapping[str, str] = field(default_factory=dict[str, str])
    headers: tuple[str, ...] = ()
    family: Callable[[], type[Exception] | None] = no_family
    batches: BatchWire | None = None
    is_respelled: bool = False
    answer_members: frozenset[str] | None = None
    answers_among: Callable[[Sequence[JsonObject]], int] = no_answers
    sdk_arguments: Mapping[str, str] = field(default_factory=dict[str, str])
    model_prefix: str = ""


def answer_count(
    begins: Callable[[JsonObject], bool], ends: Callable[[JsonObject], bool]
) -> Callable[[Sequence[JsonObject]], int]:
    """Return what counts answers: one begins anew only behind the end of the one before."""

    def count(events: Sequence[JsonObject]) -> int:
        answers, is_over = 0, True
        for event in events:
            if is_over and begins(event):
                answers, is_over = answers + 1, False
            is_over = is_over or ends(event)
        return answers

    return count


# What a service says when it does not answer, as an event.
#
# Errors are objects under `error` with a `type` (platform.claude.com, "Errors";
# platform.openai.com, "Error codes") or, at Google, a `status` (google.aip.dev, AIP-193), in a
# list where chunks were asked.

_LONGEST: Final = 16 * 1024
"""How many bytes of an error page are kept: proxies send whole web pages."""


def attempt_failed(
    status: int, body: bytes, *, request: UUID, line: UUID | None = None
) -> AttemptFailed:
    """Return the event of an attempt that was answered with an HTTP error.

    The error is the body's JSON as it came; what is no JSON is kept as text, its beginning only.
    """
    try:
        error: Any = read_bounded(body)
        reason = error_kind(_object(error).get("error"))
    except MalformedJson:
        error, reason = body[:_LONGEST].decode("utf-8", "replace"), None
    return AttemptFailed(request=request, status=status, error=error, reason=reason, line=line)


def error_kind(error: Any) -> str | None:
    """Return the type of an error, which names no content."""
    kinds = (members_of(error).get(name) for name in ("type", "status"))
    return next((kind for kind in kinds if isinstance(kind, str)), None)


def _object(body: Any) -> JsonObject:
    """Return the object of an error's body; MalformedJson where there is none."""
    listed: list[Any] = cast("list[Any]", body) if isinstance(body, list) else [body]
    if len(listed) == 1 and isinstance(listed[0], dict):
        return cast("JsonObject", listed[0])
    raise MalformedJson("expected a JSON object")


# What the batches of all APIs have in common, as JSON.


def as_object(value: object) -> JsonObject | None:
    """Return a value that is an object; None for any other."""
    return cast("JsonObject", value) if isinstance(value, dict) else None


def creation_reader(
    api: str, read_body: ReadBody, id_of: Callable[[JsonObject], str | None], what: str
) -> ReadBody:
    """Return what reads what a service says to requests that it took, and answers later.

    `id_of` gives the id that it gave them; where it gave none this is no `what`.
    """

    def read_created(body: bytes, loss: Loss = "malformed", detail: str | None = None) -> Answer:
        try:
            created = read_bounded_object(body)
        except MalformedJson:
            return read_body(body, loss, detail)
        provider_id = id_of(created)
        if provider_id is None:
            why = f"this is no {what}"
            return Answer(api, envelope=created, interruption="malformed", detail=why)
        return Answer(api, envelope=created, provider_id=provider_id, interruption="deferred")

    return read_created
