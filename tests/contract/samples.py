"""The samples of each API's wire: hand-made answers, and what reading them must give.

`tests/samples/API/` holds them; its README says how. A new API is held to the contract of wires by
its folder there, and by what `WAYS` says of it, where it is not as most are.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from onrecord.adapters.wire.answer import Answer
from onrecord.adapters.wire.api import AnswerStream
from onrecord.adapters.wire.stream_reader import Decoder
from onrecord.adapters.wire.wires import WIRES
from onrecord.projections.api import names
from tests.bedrock_wire import frames_of

JsonObject = dict[str, Any]

SAMPLES = Path(__file__).parents[1] / "samples"
EXPECTED, BODY = ".expected.json", ".json"


def as_it_is(text: bytes) -> bytes:
    return text


def in_frames(text: bytes) -> bytes:
    return frames_of(text.decode())


def from_sse(text: bytes) -> list[JsonObject]:
    return [json.loads(one.data) for one in Decoder().feed(text) if one.data != b"[DONE]"]


def as_sse(events: list[JsonObject]) -> bytes:
    return b"".join(b"data: %s\n\n" % spelled(event) for event in events)


def from_lines(text: bytes) -> list[JsonObject]:
    return [json.loads(line) for line in text.splitlines()]


def as_lines(events: list[JsonObject]) -> bytes:
    return b"".join(spelled(event) + b"\n" for event in events)


def spelled(value: JsonObject) -> bytes:
    return json.dumps(value).encode()


@dataclass(frozen=True, slots=True)
class Ways:
    """How the samples of an API are spelled, and what their expectations leave unsaid.

    `spelled` makes the bytes of a stream. `keeps_order` tells whether the keys of a block come in the
    order of its body: a stream that gives an object in parts has an order of its own. `untold` are
    members of an envelope that expectations leave out. `odd` is what notes on blocks begin with,
    whose bytes are no event. `events` reads the JSON of a stream, and `as_text` writes it; `passing` are
    members that an event has of itself, or that are JSON in pieces: no record has their texts.
    """

    spelled: Callable[[bytes], bytes] = as_it_is
    keeps_order: bool = True
    untold: frozenset[str] = frozenset()
    notes: str = ""
    events: Callable[[bytes], list[JsonObject]] = from_sse
    as_text: Callable[[list[JsonObject]], bytes] = as_sse
    passing: frozenset[str] = frozenset()


WAYS = {
    "anthropic-messages": Ways(
        untold=frozenset({"type", "role"}), passing=frozenset({"type", "partial_json"})
    ),
    "openai-chat": Ways(passing=frozenset({"obfuscation"})),
    "openai-responses": Ways(
        passing=frozenset({"type", "item_id", "sequence_number", "status", "obfuscation"})
    ),
    # Counts grow with each chunk, and pieces of arguments become these.
    "gemini": Ways(passing=frozenset({"usageMetadata", "jsonPath", "nullValue"})),
    # What the last line says holds.
    "ollama": Ways(events=from_lines, as_text=as_lines, passing=frozenset({"created_at", "done"})),
    "bedrock-converse": Ways(
        spelled=in_frames,
        keeps_order=False,
        notes="block ",
        events=from_lines,
        as_text=as_lines,
        passing=frozenset({"p", "input"}),
    ),
}


@dataclass(frozen=True, slots=True)
class Sample:
    """An answer on the wire: a stream, or a body."""

    api: str
    path: Path

    @property
    def ways(self) -> Ways:
        return WAYS.get(self.api, Ways())

    @property
    def is_body(self) -> bool:
        return self.path.suffix == BODY

    @property
    def content_type(self) -> str:
        return "application/json" if self.is_body else next(iter(WIRES[self.api].streams))

    @property
    def expected(self) -> JsonObject:
        """What reading it must give; of a message that another one broke off, that message."""
        path = self.path.with_name(f"{self.path.stem}{EXPECTED}")
        expected: JsonObject = json.loads(path.read_bytes())
        return expected["earlier"][0] if "earlier" in expected else expected

    @property
    def data(self) -> bytes:
        text = self.path.read_bytes()
        return text if self.is_body else self.cut(self.ways.spelled(text))

    def cut(self, data: bytes) -> bytes:
        return data[: len(data) - int(self.expected.get("cut", 0))]

    def read(self, sizes: Iterable[int] = (64,)) -> Answer:
        return read(self, self.data, sizes)

    def __str__(self) -> str:
        return f"{self.api}/{self.path.name}"


def read(sample: Sample, data: bytes, sizes: Iterable[int] = (64,)) -> Answer:
    """What is read of data as if it came in place of a sample's, in chunks of these sizes."""
    wire = WIRES[sample.api]
    if sample.is_body:
        return wire.read_body(data, "malformed", None)
    stream = stream_of(sample.api)
    for chunk in chunks(data, sizes):
        stream.feed(chunk)
    return stream.finish()


def stream_of(api: str) -> AnswerStream:
    """What reads a streamed answer of an API, of its usual content type."""
    return next(iter(WIRES[api].streams.values()))()


def chunks(data: bytes, sizes: Iterable[int]) -> Iterator[bytes]:
    """Data cut into chunks of these sizes, again and again."""
    wanted, at = list(sizes), 0
    while at < len(data):
        for size in wanted:
            if data[at : at + size]:
                yield data[at : at + size]
            at += size


def samples_of(api: str) -> list[Sample]:
    found = sorted((SAMPLES / api).iterdir()) if (SAMPLES / api).exists() else []
    return [Sample(api, path) for path in found if not path.name.endswith(EXPECTED)]


ROLES = ("model", "assistant")
"""Whose an answer is: each event says that by its kind."""

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=5,
)

EVERY = [sample for api in names() for sample in samples_of(api)]
BODIES = [sample for sample in EVERY if sample.is_body]
STREAMS = [sample for sample in EVERY if not sample.is_body]
BOTH = [
    (sample, Sample(sample.api, sample.path.with_suffix(BODY)))
    for sample in STREAMS
    if sample.path.with_suffix(BODY).exists()
]
"""What is there as a stream and as a body."""
