"""What the state machine may ask of a log: drawn alike whatever happened before."""

from dataclasses import dataclass

from hypothesis import strategies as st

from onrecord.domain.head import MOST_TOKENS, Effect, Pointer

CONVERSATIONS = 4
IDS = 30
"""So few that ids come again, so many that most batches have none twice."""
POINTERS: list[Pointer] = ["instructions", "tools", "request", "adopted", "amended"]
BLOBS = [b"", b"report", b"letter"]


@dataclass(frozen=True)
class Happening:
    """What is drawn of an event."""

    number: int
    body: bytes
    effect: Effect
    once: str | None
    blob: int | None


@dataclass(frozen=True)
class Wish:
    """What is drawn of a request; `offset` is how far off its expected version is."""

    conversation: int
    stranger: bool
    happenings: list[Happening]
    offset: int | None


tokens = st.integers(0, 10**6) | st.just(MOST_TOKENS)
effects = st.builds(
    Effect,
    prompts=st.booleans(),
    opens_call=st.none() | st.sampled_from("abc"),
    closes_call=st.none() | st.sampled_from("abc"),
    gives_up=st.booleans(),
    points=st.none() | st.sampled_from(POINTERS),
    closes=st.booleans(),
    input_tokens=tokens,
    output_tokens=tokens,
)
happenings = st.builds(
    Happening,
    number=st.integers(0, IDS - 1),
    body=st.sampled_from([b"one", b"two"]),
    effect=effects,
    once=st.none() | st.sampled_from(["result:a", "result:b"]),
    blob=st.none() | st.integers(0, len(BLOBS) - 1),
)
rarely = st.integers(0, 9).map(lambda number: number == 9)
wishes = st.builds(
    Wish,
    conversation=st.integers(0, CONVERSATIONS - 1),
    stranger=rarely,
    happenings=st.lists(happenings, min_size=1, max_size=3, unique_by=lambda h: h.number),
    offset=st.sampled_from([None, 0, -1, 1]),
)
batches = st.lists(wishes, min_size=1, max_size=4)
versions = st.none() | st.integers(0, 12)
