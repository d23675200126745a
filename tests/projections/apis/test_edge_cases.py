"""The nastiest sequences that providers give and take: each by number, and what must come of it.

The numbers are those of the list that this was built from. What stands elsewhere is named by file
and test. Recordings are looked for beside samples of our own.
"""

from __future__ import annotations

import ast
import json
from collections import Counter
from pathlib import Path
from typing import Final

import pytest

from onrecord.adapters.wire.wires import WIRES
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.request import APIS, Request
from tests.adapters.recorded_calls import Recorded
from tests.adapters.recording.own_history import Anthropic, Chat, Program, Responses, Spelling
from tests.adapters.recording.own_history_others import Bedrock, Gemini, Ollama
from tests.corpus.conversations import alone
from tests.corpus.interactions import calls
from tests.corpus.played import Played, play
from tests.corpus.wire import CORPUS
from tests.projections.known_answers import SAMPLES, answers, read, recorded, sample, turns
from tests.projections.refused import refused

ROOT: Final = Path(__file__).parents[3]
HERE: Final = "tests/projections/apis/test_edge_cases.py"
_SIGNED: Final = "tests/projections/apis/anthropic/test_anthropic_signed.py"
_ITEMS: Final = "tests/projections/apis/openai_responses/test_openai_responses_reasoning.py"
_PARTS: Final = "tests/projections/apis/test_edge_cases_native_parts.py"
_CONTAINERS: Final = "tests/projections/apis/anthropic/test_anthropic_containers.py"
_PAIRS: Final = "tests/projections/apis/anthropic/test_anthropic_server_tools.py"
_RAN: Final = "tests/projections/apis/openai_responses/test_openai_responses_server_tools.py"
_HOPS: Final = "tests/projections/apis/test_hops.py"
_BEDROCK: Final = "tests/projections/apis/bedrock/test_bedrock_messages.py"
_GEMINI: Final = "tests/projections/apis/gemini/test_gemini_calls.py"
_OLLAMA: Final = "tests/projections/apis/ollama/test_ollama.py"
_STREAM: Final = "tests/adapters/wire/openai_responses/test_capture_openai_responses_stream.py"

CASES: Final = {
    1: ("a paused turn", HERE, "test_case_01_a_paused_turn_is_one_run"),
    2: ("a server tool in flight", HERE, "test_case_02_a_server_tool_stays_in_flight"),
    3: ("results out of order", HERE, "test_case_03_results_stand_in_call_order_and_texts_after"),
    4: (
        "an edited prefix",
        _SIGNED,
        "test_an_earlier_message_that_is_gone_leaves_the_thinking_out",
    ),
    5: (
        "thinking without text",
        _SIGNED,
        "test_thinking_with_empty_text_and_redacted_thinking_stay_in_their_place",
    ),
    6: ("a beta response", HERE, "test_case_06_beta_blocks_are_whole"),
    7: ("a second start of a message", HERE, "test_case_07_messages_do_not_merge"),
    8: ("a stream cut amid a call", HERE, "test_case_08_a_call_that_broke_off_is_none"),
    9: (
        "blank text",
        "tests/projections/apis/anthropic/test_anthropic_texts.py",
        "test_blank_text_is_left_out",
    ),
    10: (
        "a container",
        "tests/projections/apis/anthropic/test_anthropic_containers.py",
        "test_the_container_goes_back_until_it_expires",
    ),
    11: (
        "three tellings of encrypted reasoning",
        _STREAM,
        "test_the_done_item_is_the_block_and_the_other_tellings_are_kept_beside",
    ),
    12: ("a final response without output", HERE, "test_case_12_items_are_rebuilt"),
    13: ("reasoning whose message was edited", HERE, "test_case_13_a_run_is_atomic"),
    14: (
        "other modes of storing",
        _ITEMS,
        "test_modes_of_storing_may_change_from_turn_to_turn",
    ),
    15: ("nulls", HERE, "test_case_15_absent_is_not_null"),
    16: ("deltas of compatible servers", HERE, "test_case_16_nothing_is_said_twice"),
    17: (
        "signed parts",
        _PARTS,
        "test_case_17_parts_go_back_as_they_came",
    ),
    18: ("a hop to another provider", HERE, "test_case_18_ids_are_mapped_alike_and_for_good"),
    19: (
        "lossy decoders",
        _PARTS,
        "test_case_19_a_member_that_no_sdk_knows_goes_back",
    ),
    20: ("history surgery", HERE, "test_case_20_marks_do_not_add_up"),
}


ALSO: Final = {
    1: [(_PAIRS, "test_a_result_may_come_in_the_response_after_the_pause")],
    2: [(_PAIRS, "test_a_server_call_in_flight_is_lost_when_the_user_speaks_too_early")],
    3: [
        (_BEDROCK, "test_results_begin_the_next_message_in_the_order_of_the_calls"),
        (_GEMINI, "test_results_stand_in_one_content_in_the_order_of_the_calls"),
        (_OLLAMA, "test_results_stand_in_call_order_and_name_the_calls_that_have_ids"),
    ],
    8: [
        (_BEDROCK, "test_text_of_a_block_that_broke_off_stays"),
        (_GEMINI, "test_calls_of_an_answer_that_is_broken_do_not_go"),
        (
            "tests/adapters/wire/bedrock/test_capture_bedrock_properties.py",
            "test_a_stream_that_is_cut_anywhere_has_of_its_blocks_what_came_whole",
        ),
        (
            "tests/adapters/wire/ollama/test_capture_ollama.py",
            "test_calls_of_an_answer_that_broke_off_are_whole_but_await_nothing",
        ),
    ],
    9: [(_BEDROCK, "test_blank_text_goes_nowhere")],
    10: [
        (_CONTAINERS, "test_code_in_flight_goes_until_its_container_has_expired"),
        (_RAN, "test_code_goes_as_words_once_its_container_is_gone"),
    ],
    13: [(_ITEMS, "test_what_came_of_redacted_reasoning_goes_without_ids")],
    14: [(_ITEMS, "test_reasoning_of_others_is_left_out_with_the_ids_of_what_came_of_it")],
    17: [(_PARTS, "test_case_17_recorded_parts_go_back_as_they_came")],
    18: [
        (_HOPS, "test_what_a_reader_signed_comes_back_to_it_and_to_no_other"),
        (_HOPS, "test_thinking_stands_behind_the_very_prefix_it_was_signed_under"),
    ],
    19: [(_PARTS, "test_case_19_tools_go_along_wherever_the_history_has_calls")],
    20: [
        (_SIGNED, "test_the_last_compaction_stands_for_all_before_it"),
        (
            "tests/projections/history/test_turns.py",
            "test_a_refused_response_is_no_part_of_the_history",
        ),
        (
            "tests/projections/apis/anthropic/test_anthropic_pairs.py",
            "test_an_id_that_is_used_again_becomes_another",
        ),
        ("tests/adapters/recording/test_own_history.py", "test_an_edit_after_an_edit_is_nested"),
    ],
}
"""What else of a case is tested, and where."""


def test_every_case_is_tested_where_it_is_said_to_be() -> None:
    assert list(CASES) == [*range(1, 21)]
    for number, (_, *first) in CASES.items():
        for path, name in [tuple(first), *ALSO.get(number, [])]:
            tree = ast.parse((ROOT / path).read_text())
            tests = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
            assert name in tests, number


def next_request(played: Played, api: str) -> Request:
    """The request that goes on with a word of the user's; nothing of it is refused."""
    played.chat.user("Go on.")
    request = played.chat.request(api)
    assert refused(api, request) == ()
    return request


_PAUSED = "anthropic/pydantic-ai/test_anthropic__test_pause_turn_web_search_vcr.json"
_FLYING = (
    "anthropic/pydantic-ai/test_unpaired_native_tool_calls__"
    "test_in_flight_{}_history_is_accepted.json"
)


@pytest.mark.parametrize(
    "source", ["paused", *recorded(_PAUSED, _PAUSED.replace("search_vcr", "search_streaming_vcr"))]
)
def test_case_01_a_paused_turn_is_one_run(source: str, tmp_path: Path) -> None:
    played = play(turns(source), tmp_path)
    assert [step.relation for step in played.steps] == ["extends", "extends"]
    assert played.steps[1].said == ()
    request = next_request(played, "anthropic-messages")
    assert [message["role"] for message in request["messages"]] == ["user", "assistant", "user"]
    assert [note for note in request.report if note.deed != "noted"] == []


@pytest.mark.parametrize(
    "source",
    ["in flight", *recorded(_FLYING.format("native_tool_call"), _FLYING.format("mcp_call"))],
)
def test_case_02_a_server_tool_stays_in_flight(source: str, tmp_path: Path) -> None:
    played = play(turns(source), tmp_path)
    request = next_request(played, "anthropic-messages")
    roles = ["user", "assistant", "user", "assistant", "user"]
    assert [message["role"] for message in request["messages"]] == roles
    _, asked, results, gave, _ = request["messages"]
    begun = {block["id"] for block in asked["content"] if block["type"].endswith("tool_use")}
    assert {block["type"] for block in results["content"]} == {"tool_result"}
    assert gave["content"][0]["tool_use_id"] in begun


SPELLINGS: Final = [Anthropic(), Chat(), Responses(), Gemini(), Ollama(), Bedrock()]


@pytest.fixture(params=SPELLINGS, ids=lambda spelling: spelling.api)
def program(request: pytest.FixtureRequest, tmp_path: Path) -> Program:
    spelling: Spelling = request.param
    return Program(Recorded(tmp_path), spelling)


@pytest.mark.parametrize("api", APIS)
def test_case_03_results_stand_in_call_order_and_texts_after(program: Program, api: str) -> None:
    program.ask(program.user("u1"), "a1", ["c1", "c2", "c3"])
    chat = program.recorded.chat
    chat.tool_result("c2", "r2")
    chat.user("Are you there?")
    chat.tool_result("c1", "r1")
    assert refused(api, chat.request(api)) == ()
    told = program.main(api)[-7:]
    # Gemini's calls and results are paired by their order: ids of others do not go.
    is_foreign = program.spelling.api != "gemini"
    ids = ["", "", ""] if api == "gemini" and is_foreign else ["c1", "c2", "c3"]
    assert told[:3] == [f"call {call_id}" for call_id in ids]
    assert [word.partition(" gave ")[0] for word in told[3:6]] == ids
    assert [word[-2:] for word in told[3:5]] == ["r1", "r2"]
    assert told[6] == "Are you there?"


@pytest.mark.parametrize(
    "source",
    ["mcp.sse", "mcp.json", *recorded("anthropic/vercel-ai/anthropic-mcp.1.chunks.txt")],
)
def test_case_06_beta_blocks_are_whole(source: str) -> None:
    for answer in answers("anthropic-messages", source):
        made = [part.value for part in answer.blocks if part.value["type"] == "mcp_tool_use"]
        assert any(block["input"] for block in made)
        assert all(block["server_name"] for block in made)


@pytest.mark.parametrize(
    ("source", "is_whole"),
    [
        ("spliced-message-start.sse", False),
        ("duplicate-message-start.sse", True),
        *(
            pytest.param(*param.values, is_whole, marks=param.marks)
            for name, is_whole in [("spliced", False), ("duplicate", True)]
            for param in recorded(f"anthropic/vercel-ai/{name}-message-start.chunks.txt")
        ),
    ],
)
def test_case_07_messages_do_not_merge(source: str, is_whole: bool) -> None:
    (answer,) = answers("anthropic-messages", source)
    assert answer.is_complete == is_whole
    assert answer.needs_raw


@pytest.mark.parametrize(
    "source",
    [
        "max-tokens-in-tool-use.sse",
        "cut-in-tool-use.sse",
        *recorded("anthropic/sdk/incomplete_partial_json_response.txt"),
    ],
)
def test_case_08_a_call_that_broke_off_is_none(source: str, tmp_path: Path) -> None:
    body = (CORPUS / source).read_bytes() if "/" in source else sample("anthropic-messages", source)
    played = play([alone("anthropic", body + b"\n\n")], tmp_path)
    assert played.chat.open_calls() == []
    played.chat.user("Go on.")
    for api in APIS:
        request = played.chat.request(api)
        assert refused(api, request) == ()
        assert "tool_use" not in json.dumps(request.body)
        assert "tool_result" not in json.dumps(request.body)


_WRAPPER = "openai-responses/vercel-ai/parallel-tool-call-wrapper.1.chunks.txt"


@pytest.mark.parametrize(
    "source",
    ["final-without-output.sse", "item-only-in-final.sse", "ids-rotate.sse", *recorded(_WRAPPER)],
)
def test_case_12_items_are_rebuilt(source: str) -> None:
    for answer in answers("openai-responses", source):
        assert answer.is_complete
        assert answer.blocks
        assert [part.index for part in answer.blocks] == sorted(
            {part.index for part in answer.blocks}
        )


_EDITED = (
    "openai-responses/pydantic-ai/test_openai_responses__"
    "test_openai_responses_thinking_with_modified_history.json"
)


@pytest.mark.parametrize("source", recorded(_EDITED))
def test_case_13_a_run_is_atomic(source: str, tmp_path: Path) -> None:
    played = play(calls(source), tmp_path)
    assert [step.call.status for step in played.steps] == [200, 400, 200]
    bodies = [json.loads(step.call.request) for step in played.steps]
    assert [bool(refused("openai-responses", body)) for body in bodies] == [False, True, False]
    next_request(played, "openai-responses")


def test_case_13_reasoning_does_not_go_without_its_message(tmp_path: Path) -> None:
    program = Program(Recorded(tmp_path), Responses())
    body = sample("openai-responses", "reasoning.json")
    said = program.answered(program.send(program.user("u1")), json.loads(body))
    assert said[0]["type"] == "reasoning"
    edited = {"role": "assistant", "content": "I say something else."}
    program.ask([*program.user("u1"), said[0], edited, *program.user("u2")], "a2")
    program.recorded.chat.user("u3")
    request = program.recorded.chat.request("openai-responses")
    assert refused("openai-responses", request) == ()


@pytest.mark.parametrize("api", APIS)
def test_case_15_absent_is_not_null(api: str, tmp_path: Path) -> None:
    """Every block of every sample goes back with its very keys, or the report names why not."""
    folders = {"anthropic-messages": "anthropic", "bedrock-converse": "bedrock"}
    for path in sorted((SAMPLES / api).glob("*.json")):
        if path.name.endswith("expected.json") or not read(api, path.read_bytes()).is_complete:
            continue
        played = play([alone(folders.get(api, api), path.read_bytes())], tmp_path / path.stem)
        played.chat.user("Go on.")
        request = played.chat.request(api)
        sent = WIRES[api].read_request(json.dumps({"max_tokens": 9, **request.body}).encode())
        going = Counter(json.dumps(piece.block) for piece in sent.pieces)
        said = [json.dumps(part.value) for part in read(api, path.read_bytes()).blocks]
        assert Counter(said) <= going or any(note.deed != "noted" for note in request.report)


_SERVERS = "openai-compatible/pydantic-ai/test_"


@pytest.mark.parametrize(
    "source",
    [
        "repeated-in-every-delta.sse",
        "index-missing.sse",
        "index-always-zero.sse",
        *recorded(
            f"{_SERVERS}huggingface__test_hf_model_thinking_part_iter.json",
            f"{_SERVERS}openrouter__test_openrouter_web_search_annotations_stream.json",
            f"{_SERVERS}zai__test_zai_preserved_thinking_round_trip.json",
        ),
    ],
)
def test_case_16_nothing_is_said_twice(source: str) -> None:
    for answer in answers("openai-chat", source):
        assert answer.is_complete
        values = [part.value for part in answer.blocks]
        assert {value["role"] for value in values if "role" in value} == {"assistant"}
        for call in (value for value in values if "function" in value):
            assert isinstance(json.loads(call["function"]["arguments"]), dict)
            name, half = call["id"], call["id"][: len(call["id"]) // 2]
            assert name not in ("", half * 2)


@pytest.mark.parametrize("api", APIS)
def test_case_18_ids_are_mapped_alike_and_for_good(program: Program, api: str) -> None:
    """An id may come again in each turn, and be of a form that nobody else takes."""
    call = "call 0:" + "x" * 70
    history = program.user("u0")
    for number in range(3):
        history = program.ask(history, f"a{number}", [call])
        history = [*history, *program.results(**{call: f"r{number}"})]
    program.ask(history, "done")
    program.recorded.chat.user("Go on.")
    first, again = (program.recorded.chat.request(api) for _ in range(2))
    assert first.body_parts() == again.body_parts()
    told = [said.rule for said in refused(api, first)]
    # A compatible server may have ids of its own, and gets them back.
    assert set(told) <= ({"C5"} if api == program.spelling.api == "openai-chat" else set())


def test_case_20_marks_do_not_add_up(tmp_path: Path) -> None:
    """A program marks its last message each time; what goes has four marks at most."""
    program = Program(Recorded(tmp_path), Anthropic())
    history: list[JsonObject] = []
    for number in range(6):
        mark = {"cache_control": {"type": "ephemeral"}}
        text = {"type": "text", "text": f"u{number}", **mark}
        history = program.ask([*history, {"role": "user", "content": [text]}], f"a{number}")
    assert program.relations() == ["extends"] * 6
    program.recorded.chat.user("Go on.")
    for cache in (False, True):
        request = program.recorded.chat.request("anthropic-messages", cache=cache)
        assert json.dumps(request.body).count("cache_control") <= 4 * cache
        assert refused("anthropic-messages", request) == ()
