"""Whatever a response says, and however it is cut into chunks, the same is read of it."""

import json
from random import Random

from hypothesis import assume, given
from hypothesis import strategies as st

from onrecord.adapters.wire.openai_responses.answers import VARIANTS, read_body
from onrecord.adapters.wire.openai_responses.stream import ResponseStream
from onrecord.domain.jsontext import write
from tests.adapters.wire.anthropic.test_capture_anthropic_properties import (
    ODD_WORDS,
    SIZES,
    VALUES,
    WORDS,
    block,
    has_halves,
)
from tests.adapters.wire.openai_responses.openai_responses_streams import answered, fed, values
from tests.anthropic_wire import chunks
from tests.openai_responses_wire import (
    JsonObject,
    event,
    item_events,
    numbered,
    response,
    spelled,
    stream_events,
)

STATUS = st.sampled_from(["completed", "in_progress"])
ANNOTATIONS = st.lists(block("url_citation", url=WORDS, title=st.none()), max_size=2)
CONTENT = st.lists(
    block("output_text", text=ODD_WORDS, annotations=ANNOTATIONS, logprobs=st.just([]))
    | block("refusal", refusal=ODD_WORDS)
    | block("hologram", scene=VALUES),
    max_size=3,
)
SUMMARY = st.lists(block("summary_text", text=WORDS), max_size=2)
OUTCOMES = st.lists(
    st.fixed_dictionaries({"stdout": WORDS, "stderr": WORDS, "outcome": VALUES}), max_size=2
)


def call(kind: str, **members: st.SearchStrategy[object]) -> st.SearchStrategy[JsonObject]:
    return block(kind, id=WORDS, call_id=WORDS, status=STATUS, **members)


ITEMS = st.one_of(
    block("message", id=WORDS, role=st.just("assistant"), content=CONTENT, status=STATUS),
    block("reasoning", id=WORDS, summary=SUMMARY, encrypted_content=st.none() | WORDS),
    block(
        "reasoning",
        summary=SUMMARY,
        content=st.lists(block("reasoning_text", text=WORDS), max_size=2),
    ),
    call("function_call", name=WORDS, arguments=ODD_WORDS),
    call("custom_tool_call", name=WORDS, input=ODD_WORDS),
    call("shell_call", action=st.fixed_dictionaries({"commands": st.lists(WORDS, max_size=3)})),
    call("shell_call_output", output=OUTCOMES),
    call("apply_patch_call", operation=block("create_file", path=WORDS, diff=ODD_WORDS)),
    call("tool_search_call", execution=st.sampled_from(["client", "server"]), arguments=VALUES),
    block("code_interpreter_call", id=WORDS, code=st.none() | WORDS, outputs=VALUES),
    block("mcp_call", id=WORDS, name=WORDS, arguments=ODD_WORDS, output=VALUES),
    block("image_generation_call", id=WORDS, status=STATUS, result=st.none() | WORDS),
    block("compaction", id=WORDS, encrypted_content=WORDS),
    block("hologram", id=WORDS, scene=VALUES),
)
# A second telling of an item finds it by its id: those of one response differ.
OUTPUTS = st.lists(ITEMS, max_size=6, unique_by=lambda item: item.get("id", write(item)))
RESPONSES = OUTPUTS.map(lambda output: response(*output))


@given(RESPONSES, st.integers(1, 9), SIZES, st.booleans())
def test_any_chunking_of_a_stream_gives_the_answer_of_the_body(
    said: JsonObject, piece: int, sizes: list[int], ascii_only: bool
) -> None:
    assume(ascii_only or not has_halves(said))
    stream = ResponseStream()
    data = spelled(said, piece=piece, ascii_only=ascii_only)
    fed = [stream.feed(chunk) for chunk in chunks(data, sizes)]
    answer = stream.finish()
    whole = read_body(json.dumps(said, ensure_ascii=ascii_only).encode())
    assert fed.index(True) == len(fed) - 1
    assert answer.blocks == whole.blocks
    assert write(values(answer)) == write(said["output"])
    assert {**answer.envelope, VARIANTS: None} == {**whole.envelope, VARIANTS: None}
    assert (answer.is_complete, answer.anomalies) == (True, ())
    assert answer.awaits_results == whole.awaits_results


@given(OUTPUTS, st.integers(1, 9), st.randoms(use_true_random=False))
def test_items_may_be_told_across_one_another(
    output: list[JsonObject], piece: int, random: Random
) -> None:
    told = [list(item_events(index, item, piece)) for index, item in enumerate(output)]
    mixed: list[JsonObject] = []
    while any(told):
        mixed.append(random.choice([events for events in told if events]).pop(0))
    first, *_, last = stream_events(response(*output))
    assert values(answered(numbered([first, *mixed, last]))) == output


@given(OUTPUTS, st.integers(1, 9))
def test_an_item_that_is_never_done_holds_all_that_was_told_of_it(
    output: list[JsonObject], piece: int
) -> None:
    first = next(stream_events(response()))
    told = [list(item_events(index, item, piece))[:-1] for index, item in enumerate(output)]
    answer = answered(numbered([first, *(data for events in told for data in events)]))
    assert answer.interruption == "cut"
    assert answer.blocks == ()
    unstated = [{**item, "status": None} for item in output]
    assert [{**one.value, "status": None} for one in answer.unfinished] == unstated


@given(RESPONSES, st.integers(1, 9))
def test_a_stream_cut_anywhere_says_nothing_but_what_the_whole_says(
    said: JsonObject, piece: int
) -> None:
    events = list(map(event, stream_events(said, piece)))
    for count in range(len(events)):
        answer = fed(*events[:count]).finish()
        assert answer.interruption == "cut"
        assert values(answer) == said["output"][: len(answer.blocks)]
        assert [one.index for one in answer.unfinished] in ([], [len(answer.blocks)])
