from __future__ import annotations

from typing import Any

from onrecord.domain.request_template import Prefix
from tests.prefixes import prefix_of

HI: dict[str, Any] = {"role": "user", "content": "Hi"}


def test_a_digest_is_stored_and_so_stays_what_it_is() -> None:
    digest = "228192c772827f68602921b4b2644247977d76015699289439f422d57b5857dc"
    assert prefix_of("s", [{"name": "t"}], [HI]) == digest


def test_a_string_counts_as_one_text_block() -> None:
    spelled = {"role": "user", "content": [{"type": "text", "text": "Hi"}]}
    assert prefix_of(None, None, [HI]) == prefix_of(None, [], [spelled])


def test_neighbours_of_one_role_count_as_one_message() -> None:
    blocks = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    apart = [{"role": "user", "content": [block]} for block in blocks]
    assert prefix_of("s", None, apart) == prefix_of(
        "s", None, [{"role": "user", "content": blocks}]
    )


def test_nulls_cache_marks_and_the_order_of_keys_do_not_count() -> None:
    marked = {
        "text": "Hi",
        "citations": None,
        "cache_control": {"type": "ephemeral"},
        "type": "text",
    }
    assert prefix_of(None, None, [HI]) == prefix_of(
        None, None, [{"role": "user", "content": [marked]}]
    )


def test_instructions_tools_roles_and_texts_count() -> None:
    digests = {
        prefix_of(None, None, [HI]),
        prefix_of("s", None, [HI]),
        prefix_of(None, [{"name": "t"}], [HI]),
        prefix_of(None, None, [{**HI, "role": "assistant"}]),
        prefix_of(None, None, [{**HI, "content": "Ho"}]),
        prefix_of(None, None, [HI, HI]),
    }
    assert len(digests) == 6


def test_instructions_that_are_an_object_count_with_all_they_say() -> None:
    """OpenAI's APIs give them as messages, or as a text beside items."""

    def developer(text: str) -> list[dict[str, Any]]:
        return [{"role": "developer", "content": text}]

    digests = {
        prefix_of({"messages": developer("Be brief.")}, None, [HI]),
        prefix_of({"messages": developer("Be kind.")}, None, [HI]),
        prefix_of({"input": developer("Be brief.")}, None, [HI]),
        prefix_of({"instructions": "Be brief.", "input": developer("Be kind.")}, None, [HI]),
        prefix_of({"instructions": "Be kind.", "input": developer("Be kind.")}, None, [HI]),
    }
    assert len(digests) == 5


def test_the_digest_can_be_asked_for_at_any_block() -> None:
    prefix = Prefix("s", None)
    prefix.add("user", "Hi")
    first = prefix.digest()
    prefix.add("assistant", "Ho")
    assert first == prefix_of("s", None, [HI])
    assert prefix.digest() != first
    assert prefix.blocks == 2


def test_a_role_may_be_any_text_of_json() -> None:
    odd = {"role": "\ud83d", "content": "Hi"}
    assert prefix_of(None, None, [odd]) != prefix_of(None, None, [HI])
