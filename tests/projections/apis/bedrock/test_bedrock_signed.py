"""Reasoning goes back to Bedrock only where it was made: its prefix, its model, its account."""

from __future__ import annotations

import pytest

from onrecord.domain.events import ToolsDeclared
from onrecord.domain.tools import ToolDefinition
from tests.projections.apis.bedrock import bedrock_happenings as bedrock
from tests.projections.apis.bedrock.bedrock_happenings import CLAUDE, converse, reasoning
from tests.projections.happenings import Story, thinking

REDACTED = {"reasoningContent": {"redactedContent": "c2VjcmV0"}}


def in_a_loop(*blocks: dict[str, object], model: str = CLAUDE, account: str | None = None) -> Story:
    """A conversation amid a round of calls, as it was sent."""
    story = Story()
    story.instruct("be kind")
    schema = {"type": "object"}
    story.happen(ToolsDeclared(tools=(ToolDefinition(name="look_up", input_schema=schema),)))
    story.user("hi")
    bedrock.asks_as_rendered(story, model, account)
    bedrock.answers(story, *(blocks or (reasoning(), REDACTED)), bedrock.call("t1"))
    bedrock.gives(story, "t1", {"text": "found"})
    return story


def thoughts(story: Story, model: str | None = None, **rest: object) -> list[object]:
    request = story.request(bedrock.asked_of(model, **rest))
    told = [block for message in request.body["messages"] for block in message["content"]]
    return [block for block in told if "reasoningContent" in block]


def test_reasoning_goes_back_in_its_place() -> None:
    story = in_a_loop()
    assert converse(story)["messages"][1]["content"][:1] == [reasoning()]
    assert thoughts(story) == [reasoning(), REDACTED]
    bedrock.asks_as_rendered(story)
    bedrock.answers(story, reasoning("two", "dHdv"), "Done.")
    story.user("on")
    assert thoughts(story) == [reasoning(), REDACTED, reasoning("two", "dHdv")]


def test_redacted_reasoning_is_bytes_in_the_arguments_and_base64_in_the_body() -> None:
    request = converse(in_a_loop())
    redacted = {"reasoningContent": {"redactedContent": b"secret"}}
    assert request["messages"][1]["content"][1] == redacted
    assert request.body["messages"][1]["content"][1] == REDACTED


@pytest.mark.parametrize(
    "unsigned", [reasoning(signature=None), reasoning(signature=""), {"reasoningContent": {}}]
)
def test_what_no_model_signed_never_goes(unsigned: dict[str, object]) -> None:
    story = in_a_loop(unsigned, model="openai.gpt-oss-120b-1:0")
    assert thoughts(story) == []
    assert [note.version for note in converse(story).report.of("B10")] == [5]


def test_reasoning_of_another_provider_never_goes() -> None:
    story = Story()
    story.user("hi")
    story.answer(thinking(), "Hi.")
    story.user("on")
    assert thoughts(story) == []


@pytest.mark.parametrize(
    ("model", "goes"),
    [
        (CLAUDE.replace("us.", "eu."), True),
        (CLAUDE.removeprefix("us."), True),
        (f"arn:aws:bedrock:us-east-1:123456789012:inference-profile/{CLAUDE}", True),
        ("us.anthropic.claude-opus-4-8", False),
        ("us.amazon.nova-2-lite-v1:0", False),
        ("arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc", False),
    ],
)
def test_reasoning_is_for_its_model_in_whatever_region(model: str, goes: bool) -> None:
    assert bool(thoughts(in_a_loop(), model)) == goes


def test_reasoning_is_for_its_account() -> None:
    story = in_a_loop(account="one")
    assert thoughts(story, account="one") == [reasoning(), REDACTED]
    assert thoughts(story, account="two") == []


def test_reasoning_is_dropped_as_asked() -> None:
    story = in_a_loop()
    assert thoughts(story, thinking="drop") == []
    assert len(story.request(bedrock.asked_of(thinking="drop")).report.of("thinking")) == 2


def test_reasoning_is_left_out_behind_another_prefix_and_so_is_what_follows() -> None:
    story = in_a_loop()
    bedrock.asks_as_rendered(story)
    bedrock.answers(story, reasoning("two", "dHdv"), "Done.")
    story.redact(3)
    story.user("on")
    assert thoughts(story) == []
    whys = {note.why for note in converse(story).report.of("B10")}
    assert whys == {"what stands before it is not what it was made under"}


def test_cache_points_change_no_prefix() -> None:
    story = in_a_loop()
    assert thoughts(story, cache=True) == [reasoning(), REDACTED]


def test_a_message_of_reasoning_alone_that_does_not_go_leaves_no_empty_message() -> None:
    story = Story()
    story.user("hi")
    bedrock.asks(story, "deepseek.r1-v1:0")
    bedrock.answers(story, reasoning(signature=None))
    story.user("on")
    assert bedrock.roles(converse(story)) == ["user"]
