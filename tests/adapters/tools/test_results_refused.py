"""Results that no record can hold: refused with place and type, and nothing is stored."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, RootModel

import onrecord
from onrecord.adapters.store import backend_of
from tests.adapters.found_results import call, text

PDF = b"%PDF-1.7 the report"
PNG = b"\x89PNG\r\n\x1a\n a picture"


@pytest.fixture
def chat() -> onrecord.Conversation:
    return onrecord.connect("memory://").conversation("support/4711")


class Unheard:
    def __repr__(self) -> str:
        return "Ada"


@pytest.mark.parametrize(
    ("given", "path", "kind"),
    [
        ({"a": [1, Unheard()]}, "/a/1", "Unheard"),
        ({"a": {"Ada"}}, "/a", "set"),
        ({"a": (each for each in "Ada")}, "/a", "generator"),
        ({"a": complex(1, 2)}, "/a", "complex"),
        ({"a": float("nan")}, "/a", "not finite"),
        ([[float("-inf")]], "/0/0", "not finite"),
        ({"a": {(1, 2): 3}}, "/a", "tuple"),
        ({"a": {1: 2, "1": 3}}, "/a", "the same"),
        ({"a": Unheard}, "/a", "type"),
        ({"a": PDF, "b": Unheard()}, "/b", "Unheard"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_what_has_no_json_form_is_refused_by_place_and_type_and_nothing_is_stored(
    given: object, path: str, kind: str
) -> None:
    store = onrecord.connect("memory://")
    with pytest.raises(
        onrecord.InvalidContent, match=rf"at {path} .*{kind}.*no JSON form"
    ) as caught:
        store.conversation("support/4711").tool_result("call_1", given)
    assert "Ada" not in str(caught.value)
    assert list(store.conversations()) == []
    assert backend_of(store).sweep_blobs(0) == 0


@pytest.mark.parametrize(("given", "is_own"), [(Unheard(), True), ({1}, False), (Unheard, False)])
def test_the_way_to_record_a_type_of_your_own_is_named(given: object, *, is_own: bool) -> None:
    with pytest.raises(onrecord.InvalidContent) as caught:
        onrecord.connect("memory://").conversation("support/4711").tool_result("call_1", given)
    assert ("onrecord.result_type(Unheard, ...)" in str(caught.value)) is is_own


@pytest.mark.parametrize("missing", ["missing.pdf", "."])
def test_a_file_that_cannot_be_read_leaves_no_other_document_behind(
    tmp_path: Path, missing: str
) -> None:
    store = onrecord.connect("memory://")
    with pytest.raises(onrecord.InvalidContent, match="cannot be read") as caught:
        store.conversation("support/4711").tool_result("call_1", [PDF, tmp_path / missing])
    assert repr((tmp_path / missing).name) in str(caught.value)
    assert str(tmp_path.parent) not in str(caught.value)
    assert backend_of(store).sweep_blobs(0) == 0


def test_a_closed_conversation_takes_no_document() -> None:
    store = onrecord.connect("memory://")
    chat = store.conversation("support/4711")
    chat.user("Hello")
    chat.end()
    with pytest.raises(onrecord.ConversationClosed):
        chat.tool_result("call_1", PDF)
    assert backend_of(store).sweep_blobs(0) == 0


def in_lists(depth: int) -> list[Any]:
    made: list[Any] = []
    for _ in range(depth):
        made = [made]
    return made


def in_mappings(depth: int) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for _ in range(depth):
        made = {"a": made}
    return made


@pytest.mark.parametrize("given", [in_lists(10_000), in_mappings(10_000)], ids=["lists", "maps"])
def test_a_result_that_is_nested_10_000_deep_is_refused_and_says_so(
    chat: onrecord.Conversation, given: object
) -> None:
    with pytest.raises(onrecord.InvalidContent, match="nested more than 200 deep"):
        chat.tool_result("call_1", {"file": PDF, "rest": given})
    assert chat.head().version == 0


def test_a_result_that_is_nested_as_deep_as_may_be_goes_to_every_api(
    chat: onrecord.Conversation,
) -> None:
    call(chat)
    chat.tool_result("call_1", in_mappings(199))
    for api in APIS:
        assert chat.request(api)


APIS = (
    *("anthropic-messages", "openai-chat", "openai-responses"),
    *("gemini", "ollama", "bedrock-converse"),
)


def cyclic_list() -> list[Any]:
    made: list[Any] = [1]
    made.append({"again": made})
    return made


def cyclic_mapping() -> dict[str, Any]:
    made: dict[str, Any] = {}
    made["self"] = [made, made]
    return made


class Node(BaseModel):
    next: Any = None


class Wrapped(RootModel[Any]):
    pass


def cyclic_model() -> Node:
    made = Node()
    made.next = [made]
    return made


def cyclic_root() -> Wrapped:
    made = Wrapped(None)
    made.root = made
    return made


@pytest.mark.parametrize("made", [cyclic_model, cyclic_root])
def test_a_model_that_holds_itself_is_refused(
    chat: onrecord.Conversation, made: Callable[[], BaseModel]
) -> None:
    with pytest.raises(onrecord.InvalidContent, match="holds itself"):
        chat.tool_result("call_1", made())


@pytest.mark.parametrize("given", [cyclic_list(), cyclic_mapping()], ids=["list", "mapping"])
def test_a_result_that_holds_itself_is_refused_and_says_where(
    chat: onrecord.Conversation, given: object
) -> None:
    with pytest.raises(onrecord.InvalidContent, match=r"holds itself, at /(1/again|self/0)"):
        chat.tool_result("call_1", given)
    assert chat.head().version == 0


def test_what_stands_twice_in_a_result_does_not_hold_itself(chat: onrecord.Conversation) -> None:
    shared = {"a": [1]}
    chat.tool_result("call_1", [shared, shared, {"b": shared}])
    assert text(chat) == [{"a": [1]}, {"a": [1]}, {"b": {"a": [1]}}]


def test_a_small_result_that_unfolds_to_millions_is_refused(chat: onrecord.Conversation) -> None:
    laughs: list[Any] = ["ha"]
    for _ in range(100):
        laughs = [laughs, laughs]
    with pytest.raises(onrecord.InvalidContent, match="more than 1,000,000 values"):
        chat.tool_result("call_1", laughs)


def test_a_range_without_end_is_refused_before_it_is_counted(chat: onrecord.Conversation) -> None:
    with pytest.raises(onrecord.InvalidContent, match="more than 1,000,000 values"):
        chat.tool_result("call_1", range(10**15))
