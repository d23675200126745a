"""What users of other stores complain of, as rules that hold here: each by number.

The numbers are those of the list that this was built from; those that are missing are of storage.
What stands elsewhere is named by file and test.
"""

from __future__ import annotations

import ast
import json
from itertools import product
from pathlib import Path
from typing import Final
from uuid import UUID

import pytest

import onrecord
from onrecord.domain.content import Native
from onrecord.domain.encoding import Erased, Unrecognised
from onrecord.domain.events import MessageRecorded, ReasoningRecorded, ResponseCompleted
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.request import APIS, Options, Request
from onrecord.projections.history.windows import Window
from tests.projections.apis.bedrock import bedrock_happenings as bedrock
from tests.projections.apis.gemini import gemini_happenings as gemini
from tests.projections.apis.openai_chat import chat_happenings as chat
from tests.projections.apis.openai_responses import responses_happenings as responses
from tests.projections.happenings import (
    API,
    Story,
    flat,
    search_result,
    server_tool_use,
    text,
    thinking,
    tool_use,
)
from tests.projections.recorded import recorded
from tests.projections.refused import refused

ROOT: Final = Path(__file__).parents[3]
HERE: Final = "tests/projections/apis/test_complaints.py"
_SIGNED: Final = "tests/projections/apis/anthropic/test_anthropic_signed.py"
_TALK: Final = "tests/adapters/conversation/test_talk.py"
_TURNS: Final = "tests/projections/history/test_turns.py"

COMPLAINTS: Final = {
    "1 limits cut between a call and its output": (HERE, "test_windows_never_part_a_call"),
    "2 orphans poison a session, and guards drop what the service holds": (
        HERE,
        "test_an_output_alone_is_refused_unless_the_service_holds_its_call",
    ),
    "3 trimming leaves orphans on some renderers": (HERE, "test_windows_never_part_a_call"),
    "4 a call that was cancelled wedges its thread": (HERE, "test_a_lost_result_wedges_nothing"),
    "5 a result that was not saved is never saved": (
        _TALK,
        "test_a_result_recorded_twice_changes_nothing",
    ),
    "6 server blocks are dropped, then refused": (HERE, "test_server_blocks_keep_their_place"),
    "7 the order of blocks in a turn is lost": (HERE, "test_server_blocks_keep_their_place"),
    "8 spans that nobody understands are rebuilt": (
        HERE,
        "test_unknown_blocks_go_back_as_they_came",
    ),
    "9 half a thinking block wedges a session": (
        HERE,
        "test_a_block_that_broke_off_is_kept_and_not_sent",
    ),
    "10 there is no way out of a bad signature": (
        _SIGNED,
        "test_thinking_can_be_dropped_to_recover_a_wedged_session",
    ),
    "11 a signature that a store lost breaks every resumed thread": (
        "tests/projections/apis/test_edge_cases_native_parts.py",
        "test_case_17_parts_go_back_as_they_came",
    ),
    "12 what cannot be written becomes a string": (
        "tests/domain/test_jsontext.py",
        "test_what_has_no_json_form_is_not_written",
    ),
    "13 equal timestamps shuffle messages": (
        "tests/contract/test_append.py",
        "test_events_get_dense_versions_and_positions",
    ),
    "14 two writers interleave in silence": (
        _TALK,
        "test_a_writer_who_names_a_version_is_told_when_someone_was_first",
    ),
    "15 a second writer kills the stream of the first": (
        _TURNS,
        "test_what_is_said_while_a_request_is_out_comes_after_its_response",
    ),
    "16 a client that sends all again doubles it": (
        "tests/adapters/recording/test_own_history.py",
        "test_what_is_appended_extends_the_main_line",
    ),
    "17 each request is stored in full": (
        "tests/projections/matching/test_template.py",
        "test_what_an_event_holds_is_not_stored_again",
    ),
    "22 compaction deletes what auditors want": (
        HERE,
        "test_a_compaction_takes_nothing_from_the_record",
    ),
    "23 a prompt and its answer are lost with the line": (
        "tests/adapters/wire/clients/test_tee_killed.py",
        "test_killed_callers_lose_nothing_that_was_acknowledged",
    ),
    "24 one changed byte costs the cache": (
        "tests/contract/test_renderers.py",
        "test_a_request_begins_with_every_request_before_it_unless_the_report_says_why",
    ),
    "foreign thinking is imitated": (HERE, "test_foreign_thinking_is_told_in_no_words"),
    "a server's call becomes the caller's": (HERE, "test_no_server_call_becomes_the_callers"),
    "pictures make up the log": (
        "tests/domain/test_blobs.py",
        "test_a_long_string_leaves_a_reference",
    ),
}


@pytest.mark.parametrize("complaint", COMPLAINTS)
def test_every_complaint_is_tested_where_it_is_said_to_be(complaint: str) -> None:
    path, name = COMPLAINTS[complaint]
    tree = ast.parse((ROOT / path).read_text())
    assert name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def loops(rounds: int) -> Story:
    """Exchanges, each with two calls and their results, and one more prompt."""
    story = Story()
    for number in range(rounds):
        story.user(f"prompt {number}")
        story.ask()
        ids = [f"toolu_{number}_{part}" for part in range(2)]
        story.answer(*map(tool_use, ids), stop="tool_use")
        for call_id in ids:
            story.result(call_id)
        story.ask()
        story.answer(f"answer {number}")
    story.user("and now?")
    return story


def body(request: Request) -> str:
    return json.dumps(dict(request))


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("exchanges", [1, 2, 3])
def test_windows_never_part_a_call(api: str, exchanges: int) -> None:
    chat = onrecord.connect("memory://").conversation("support/4711")
    for _, event in loops(5).events:
        chat.log.append(event)
    request = chat.request(api, window=Window(exchanges=exchanges, step=1))
    assert refused(api, request) == ()
    assert "prompt 0" not in body(request)
    assert "prompt 4" in body(request)


def test_an_output_alone_is_refused_unless_the_service_holds_its_call() -> None:
    api, output = "openai-responses", {"input": [responses.output()]}
    assert [told.rule for told in refused(api, output)] == ["O2"]
    assert refused(api, {**output, "previous_response_id": "resp_1"}) == ()
    story = Story()
    story.user("hi")
    responses.answers(story, responses.call())
    responses.gives(story, responses.output())
    assert responses.items(story)[1:] == [responses.call(), responses.output()]


@pytest.mark.parametrize("api", APIS)
def test_a_lost_result_wedges_nothing(api: str) -> None:
    story = Story()
    story.user("hi")
    story.answer(tool_use("toolu_1"), tool_use("toolu_2"), stop="tool_use")
    story.result("toolu_2")
    story.user("are you there?")
    before = list(story.events)
    request = story.request(Options(api=api))
    assert refused(api, request) == ()
    assert "are you there?" in body(request)
    assert story.events == before


def test_server_blocks_keep_their_place() -> None:
    said = [
        thinking("a", "c2ln"),
        server_tool_use("srvtoolu_1"),
        search_result("srvtoolu_1"),
        thinking("b", "c2lm"),
        text("It rains."),
    ]
    story = Story()
    story.user("hi")
    story.ask_as_rendered()
    story.answer(*said)
    story.user("thanks")
    assert [block for _, block in flat(story.request())][1:-1] == said


def test_unknown_blocks_go_back_as_they_came() -> None:
    hologram: JsonObject = {"type": "hologram", "beams": [1, None, {"x": []}], "sig": "=="}
    story = Story()
    story.user("hi")
    story.answer(text("See:"), hologram, text("Nice?"))
    story.user("thanks")
    assert [block for _, block in flat(story.request())][2] == hologram
    item = {"type": "hologram", "id": "hg_1", "beams": None}
    other = Story()
    other.user("hi")
    responses.answers(other, item, responses.message("Nice?"))
    assert responses.items(other)[1] == item


@pytest.mark.parametrize("api", APIS)
def test_a_block_that_broke_off_is_kept_and_not_sent(api: str) -> None:
    story = Story()
    story.user("hi")
    story.ask()
    story.cut(unfinished=({"type": "thinking", "thinking": ""}, "half a thought"))
    story.user("go on")
    assert "half a thought" in str(story.events)
    request = story.request(Options(api=api))
    assert "half a thought" not in body(request)
    assert [note.rule for note in request.report] == ["unfinished"]
    assert refused(api, request) == ()


def test_a_compaction_takes_nothing_from_the_record() -> None:
    story = loops(2)
    summary: JsonObject = {"type": "compaction", "content": "They looked it up."}
    story.answer(summary, "Go on.")
    story.user("thanks")
    now = story.request()
    assert "prompt 0" not in body(now)
    assert "They looked it up." in body(now)
    told = [each.event() for each in recorded(story)]
    assert len(told) == len(story.events)
    assert not any(isinstance(event, Erased | Unrecognised) for event in told)
    assert "prompt 0" in body(story.request(at=9))


def thinks(api: str) -> Story:
    """A model of this API thinks, and greets."""
    story = Story()
    story.user("hi")
    match api:
        case "anthropic-messages":
            story.answer(thinking("secret thought"), "Hello.")
        case "openai-chat":
            chat.answers(story, chat.says("Hello.", reasoning_content="secret thought"))
        case "openai-responses":
            told = [{"type": "summary_text", "text": "secret thought"}]
            thought = {**responses.reasoning(), "summary": told}
            responses.answers(story, thought, responses.message("Hello."))
        case "gemini":
            gemini.answers(story, gemini.thought("secret thought"), gemini.text("Hello."))
        case "bedrock-converse":
            bedrock.answers(story, bedrock.reasoning("secret thought"), {"text": "Hello."})
        case _:
            greeting = {"role": "assistant", "content": "Hello."}
            said = (Native(api="ollama", value=greeting),)
            idea = Native(api="ollama", value={"thinking": "secret thought"})
            response = UUID(int=1)
            story.happen(ReasoningRecorded(response=response, index=0, content=idea))
            story.happen(
                MessageRecorded(role="assistant", response=response, index=1, content=said)
            )
            story.happen(ResponseCompleted(response=response, api="ollama", envelope={}))
    story.user("thanks")
    return story


@pytest.mark.parametrize(
    ("source", "api"), [pair for pair in product(APIS, APIS) if len(set(pair)) == 2]
)
def test_foreign_thinking_is_told_in_no_words(source: str, api: str) -> None:
    """A model that is shown another's thinking as text goes on in the same way."""
    request = thinks(source).request(Options(api=api))
    assert refused(api, request) == ()
    assert "secret thought" not in body(request)
    assert "Hello." in body(request)
    assert "think" not in body(request)


@pytest.mark.parametrize("api", [api for api in APIS if api != API])
def test_no_server_call_becomes_the_callers(api: str) -> None:
    story = Story()
    story.user("hi")
    story.answer(server_tool_use("srvtoolu_1"), search_result("srvtoolu_1"), "It rains.")
    story.user("thanks")
    request = story.request(Options(api=api))
    assert refused(api, request) == ()
    assert "srvtoolu_1" not in body(request)
    for mark in ("tool_use", "tool_calls", "function_call", "functionCall", "toolUse"):
        assert mark not in body(request)
