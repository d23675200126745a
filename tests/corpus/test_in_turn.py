"""Recordings of several calls, fed to the recorder request by request and answer by answer."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Final

import pytest

from onrecord.adapters.conversation.rendering import replays
from onrecord.adapters.storage.sqlite.sqlite import open_sqlite
from onrecord.domain.request_template import canonical
from tests.adapters.recorded_calls import known
from tests.corpus.interactions import calls, files
from tests.corpus.names import names
from tests.corpus.played import Played, Step, play
from tests.corpus.table import RecordProperty, report
from tests.corpus.wire import MISSING, JsonObject, is_there, origin

pytestmark = pytest.mark.skipif(not is_there(), reason=MISSING)

FILES: Final = files() if is_there() else []
SEVERAL_AGENTS: Final = ["extends", "unrelated aside", "extends aside", "extends aside"]
COMPACTED: Final = ["extends", "extends", "view aside", "extends"]

# What the recorded programs do but append to their list: how each turn goes on then, and why.
EXPLAINED: Final[dict[str, tuple[list[str], str]]] = {
    "anthropic/pydantic-ai/test_anthropic__test_anthropic_code_execution_tool.json": (
        ["extends", "branches aside"],
        "another prompt under the same instructions: it may be the first one, edited",
    ),
    "anthropic/sdk/snap-TestSyncRunTools-f59a9391.json": (
        ["extends", "branches aside"],
        "a result without its call, which the service refused",
    ),
    "openai-chat/pydantic-ai/test_prefect__test_multiple_agents.json": (
        SEVERAL_AGENTS,
        "two agents with prompts of their own",
    ),
    "openai-chat/pydantic-ai/test_temporal__test_multiple_agents.json": (
        SEVERAL_AGENTS,
        "two agents with prompts of their own",
    ),
    "openai-compatible/pydantic-ai/test_zai__test_zai_glm_5_3_reasoning_effort.json": (
        ["extends", "branches aside"],
        "the same prompt with another effort: another sample",
    ),
    "openai-responses/pydantic-ai/test_google__test_google_model_thinking_part_from_other_model"
    ".json": (["extends", "view"], "another provider is told of reasoning as of its own"),
    "openai-responses/pydantic-ai/test_google__test_thinking_with_tool_calls_from_other_model"
    ".json": (
        ["extends", "extends", "branches aside"],
        "the last request again, of another provider: another sample",
    ),
    "openai-responses/pydantic-ai/test_openai_responses__test_openai_conversation_id_auto_"
    "respects_pydantic_ai_conversation_id.json": (
        ["reference", "extends"],
        "the first in a conversation that the service holds, the second with a list of its own",
    ),
    "openai-responses/pydantic-ai/test_openai_responses__test_openai_conversation_id_tool_call_"
    "continuation.json": (["reference"] * 2, "both in a conversation that the service holds"),
    "openai-responses/pydantic-ai/test_openai_responses__test_openai_include_raw_annotations_"
    "streaming.json": (
        ["extends", "branches aside", "unrelated aside"],
        "a prompt twice, and then another one under other instructions",
    ),
    "openai-responses/pydantic-ai/test_openai_responses__test_openai_previous_response_id_seed_"
    "auto_chains_through_retries.json": (
        ["extends", "reference", "reference", "reference"],
        "each by the id of the response before",
    ),
    "openai-responses/pydantic-ai/test_openai_responses__test_openai_responses_compact_messages"
    ".json": (COMPACTED, "a summary by the service, from which the program goes on"),
    "openai-responses/pydantic-ai/test_openai_responses__test_openai_responses_compact_messages_"
    "direct.json": (COMPACTED[:3], "a summary by the service"),
    "openai-responses/pydantic-ai/test_openai_responses__test_openai_responses_compact_with_auto_"
    "previous_response_id.json": (
        ["extends", "reference aside"],
        "a summary by the service of what it holds itself",
    ),
    "openai-responses/pydantic-ai/test_openai_responses__test_openai_responses_compact_with_"
    "instructions.json": (["extends", "view aside"], "a summary by the service"),
    "openai-responses/pydantic-ai/test_openai_responses__test_openai_responses_stream.json": (
        ["extends", "branches aside"],
        "the program gave the model's call an id of its own, and so its result",
    ),
    "openai-responses/pydantic-ai/test_openai_responses__test_openai_responses_thinking_with_"
    "modified_history.json": (
        ["extends", "branches aside", "extends"],
        "an edited answer, which was refused with its reasoning, and then accepted without",
    ),
    "openai-responses/pydantic-ai/test_tool_search__test_live_tool_search_handoff_openai_to_"
    "anthropic.json": (
        ["extends", "extends", "view", "extends"],
        "another provider is told of a search as of a call of the program's, with a result",
    ),
}


@pytest.fixture(scope="module", params=FILES, ids=lambda name: name.removesuffix(".json")[-70:])
def name(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture(scope="module")
def played(name: str, tmp_path_factory: pytest.TempPathFactory) -> Played:
    return play(calls(name), tmp_path_factory.mktemp("played"))


def test_each_request_goes_on_as_its_recording_shows(name: str, played: Played) -> None:
    relations = [step.relation for step in played.steps]
    if origin(name) in EXPLAINED:
        assert relations == EXPLAINED[origin(name)][0]
        return
    lists = [[told(piece.block) for piece in step.sent.pieces] for step in played.steps]
    appended = [one for one, more in pairwise(lists) if more[: len(one)] == one != more]
    assert sum(relation.startswith("extends") for relation in relations) > len(appended)


def test_every_input_is_recorded_once(
    name: str, played: Played, record_property: RecordProperty
) -> None:
    counts = Counter(files=1)
    recorded, sent = Counter[str](), Counter[str]()
    for step in played.steps:
        anew = Counter(told(block) for event in step.said for block in played.blocks(event))
        has = Counter(told(piece.block) for piece in step.sent.pieces)
        assert anew <= has, "recorded, and not said"
        recorded += anew
        sent |= has
        counts.update(kinds(played, step, anew), requests=1)
        counts[step.request.relation] += 1
    assert recorded <= sent, "recorded more often than it is said"
    if {step.relation for step in played.steps} == {"extends"}:
        assert counts["rewritten"] == 0
    assert counts["new"] == recorded.total()
    report(record_property, "in turn", counts)


def kinds(played: Played, step: Step, anew: Counter[str]) -> Counter[str]:
    """How many blocks of a request are new, known as they were, known by a name, and so on."""
    left, found = Counter(anew), Counter[str]()
    before = [
        block
        for recorded in played.chat.log.read(until=step.version - 1)
        for block in played.blocks(known(recorded))
    ]
    exact = {told(block) for block in before}
    named = {name for block in before for name in names(block)}
    for piece in step.sent.pieces:
        block = told(piece.block)
        if left[block]:
            left[block] -= 1
            found["new"] += 1
        elif block in exact:
            found["matched"] += 1
        elif not names(piece.block):
            found["blank"] += 1
        else:
            found["respelled" if names(piece.block) & named else "rewritten"] += 1
    return found


def told(block: JsonObject) -> str:
    """A block as JSON; a text is a text, whatever the API calls it."""
    plain = block.get("type", "input_text") == "input_text" and block.keys() <= {"type", "text"}
    return json.dumps(canonical({**block, "type": "text"} if plain else block), sort_keys=True)


def test_every_request_joins_to_the_body_that_was_sent(played: Played) -> None:
    outcomes = list(replays(played.chat))
    assert [
        (outcome.is_whole, outcome.remark) for outcome in outcomes if not outcome.is_whole
    ] == []
    assert len(outcomes) == len(played.steps)
    for step in played.steps:
        template = step.request.template
        if not template.cut:
            sha256 = hashlib.sha256(step.call.request).hexdigest()
            assert (template.size, template.sha256) == (len(step.call.request), sha256)


def test_a_file_keeps_what_memory_does(name: str, played: Played, tmp_path: Path) -> None:
    with closing(open_sqlite(tmp_path / "log.db")) as backend:
        kept = play(calls(name), tmp_path, backend)
        assert said_in(kept) == said_in(played)
        assert [step.relation for step in kept.steps] == [step.relation for step in played.steps]
        assert {outcome.is_whole for outcome in replays(kept.chat)} == {True}


def said_in(played: Played) -> list[tuple[str, list[JsonObject]]]:
    return [(type(event).__name__, played.blocks(event)) for event in played.events()]
