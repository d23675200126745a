"""Whatever an answer says, and however it is cut into chunks, the same is read of it."""

import json

from hypothesis import assume, given
from hypothesis import strategies as st

from onrecord.adapters.wire.anthropic.stream import MessageStream, read_body
from onrecord.domain.content import Native
from onrecord.domain.events import (
    CompactionRecorded,
    Event,
    MessageRecorded,
    OpaqueRecorded,
    ReasoningRecorded,
    ServerToolCallRecorded,
    ServerToolResultRecorded,
    ToolCallRecorded,
)
from onrecord.domain.jsontext import write
from tests.anthropic_wire import JsonObject, chunks, message, spelled

WORDS = st.text(max_size=20)
# JSON has no spelling of its own for halves of a character but the escape.
ODD_WORDS = st.text(st.characters(exclude_categories=()), max_size=20).filter(
    lambda text: text == json.loads(json.dumps(text))
)
NUMBERS = st.integers(-(10**30), 10**30) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | ODD_WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(WORDS, VALUES, max_size=3)
CITED = st.none() | st.lists(st.fixed_dictionaries({"cited_text": WORDS, "title": st.none()}))


def block(kind: str, **members: st.SearchStrategy[object]) -> st.SearchStrategy[JsonObject]:
    return st.fixed_dictionaries({"type": st.just(kind), **members})


def call(kind: str) -> st.SearchStrategy[JsonObject]:
    return block(kind, id=WORDS, name=WORDS, input=OBJECTS, caller=st.none())


BLOCKS = st.one_of(
    block("text", text=ODD_WORDS),
    block("text", citations=CITED, text=WORDS),
    block("thinking", thinking=WORDS, signature=WORDS),
    block("redacted_thinking", data=WORDS),
    call("tool_use"),
    call("server_tool_use"),
    call("mcp_tool_use"),
    block("web_search_tool_result", tool_use_id=WORDS, content=VALUES),
    block("mcp_tool_result", tool_use_id=WORDS, is_error=st.booleans(), content=VALUES),
    block("compaction", content=st.none() | WORDS, encrypted_content=st.none() | WORDS),
    block("fallback", to=st.just({"model": "claude-sonnet-5"})),
    block("container_upload", file_id=WORDS),
    block("hologram", scene=VALUES),
)
MESSAGES = st.lists(BLOCKS, max_size=6).map(lambda blocks: message(*blocks))
SIZES = st.lists(st.integers(1, 40), min_size=1, max_size=4)


@given(MESSAGES, st.integers(1, 9), SIZES, st.booleans())
def test_any_chunking_of_a_stream_gives_the_answer_of_the_body(
    said: JsonObject, piece: int, sizes: list[int], ascii_only: bool
) -> None:
    assume(ascii_only or not has_halves(said))
    stream = MessageStream()
    data = spelled(said, piece=piece, ascii_only=ascii_only)
    fed = [stream.feed(chunk) for chunk in chunks(data, sizes)]
    answer = stream.finish()
    assert answer == read_body(json.dumps(said, ensure_ascii=ascii_only).encode())
    assert fed.index(True) == len(fed) - 1
    assert write([one.value for one in answer.blocks]) == write(said["content"])


def has_halves(said: JsonObject) -> bool:
    """Whether halves of a character occur: only the escape can spell them."""
    return any(
        "\ud800" <= character <= "\udfff" for character in json.dumps(said, ensure_ascii=False)
    )


def native_of(event: Event) -> Native:
    match event:
        case MessageRecorded(content=(Native() as native,)):
            return native
        case (
            CompactionRecorded(content=Native() as native)
            | OpaqueRecorded(content=Native() as native)
            | ReasoningRecorded(content=Native() as native)
            | ServerToolCallRecorded(content=Native() as native)
            | ServerToolResultRecorded(content=Native() as native)
            | ToolCallRecorded(content=Native() as native)
        ):
            return native
        case _:
            raise AssertionError(f"{event} holds no block")
