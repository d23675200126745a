"""docs/checking.md and docs/rendering.md list every rule that a breach can name."""

import re
from pathlib import Path

from onrecord.projections.api import known_rules

ROOT = Path(__file__).parents[3]


def listed(page: str) -> set[str]:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return set(re.findall(r"^\| `?([A-Z]\d+|[a-z]+)`? \|", text, re.MULTILINE)) - {"rule"}


def named() -> set[str]:
    return {rule.name for rules in known_rules().values() for rule in rules} | {"types", "secret"}


def test_every_rule_is_listed() -> None:
    assert named() - listed("checking.md") - listed("rendering.md") == set()


def test_every_word_that_is_listed_is_a_rule() -> None:
    assert listed("checking.md") - named() == set()


def test_the_rules_of_an_api_bear_its_letter() -> None:
    letters = {api: {rule.name[0] for rule in rules} for api, rules in known_rules().items()}
    capitals = {api: {each for each in found if each.isupper()} for api, found in letters.items()}
    bears = {
        "anthropic-messages": {"R"},
        "openai-chat": {"C"},
        "openai-responses": {"O"},
        "gemini": {"G"},
        "ollama": {"L"},
        "bedrock-converse": {"B"},
    }
    assert capitals == {api: letters for api, letters in bears.items() if api in known_rules()}
