"""Any histories, as other programs may keep them: their messages in any order, for properties."""

from itertools import pairwise
from typing import Any

from hypothesis import strategies as st

from tests.adapters.histories.kept_histories import APIS

Message = dict[str, Any]

IDS = st.sampled_from(["a", "b", "c"])
TEXTS = st.sampled_from(["yes", "no", "", " ", "half a \ud83d", "x" * 70_000])


def text(said: str) -> Message:
    return {"type": "text", "text": said}


def call(call_id: str) -> Message:
    return {"type": "tool_use", "id": call_id, "name": "f", "input": {}}


def result(call_id: str) -> Message:
    return {"type": "tool_result", "tool_use_id": call_id, "content": "r"}


def message(role: str, content: object) -> Message:
    return {"role": role, "content": content}


def calling(call_ids: list[str]) -> Message:
    function = {"name": "f", "arguments": "{}"}
    calls = [{"id": it, "type": "function", "function": function} for it in call_ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def given_by_tool(call_id: str) -> Message:
    return {"role": "tool", "tool_call_id": call_id, "content": "r"}


def call_item(call_id: str) -> Message:
    return {"type": "function_call", "call_id": call_id, "name": "f", "arguments": "{}"}


def output_item(call_id: str) -> Message:
    return {"type": "function_call_output", "call_id": call_id, "output": "r"}


def content(role: str, parts: list[Message]) -> Message:
    return {"role": role, "parts": parts}


def said_in_part(said: str, thought: bool) -> Message:
    return {"text": said, **({"thought": True} if thought else {})}


def called_in_part(call_id: str, has_id: bool) -> Message:
    """A call of Gemini's; its developer API gives none of them an id."""
    own = {"id": call_id} if has_id else {}
    return {"functionCall": {**own, "name": "f", "args": {"of": call_id}}}


def given_in_part(call_id: str, has_id: bool) -> Message:
    own = {"id": call_id} if has_id else {}
    return {"functionResponse": {**own, "name": "f", "response": {"result": "r"}}}


def said_in_block(said: str) -> Message:
    return {"text": said}


def tool_use(call_id: str) -> Message:
    return {"toolUse": {"toolUseId": call_id, "name": "f", "input": {}}}


def tool_result(call_id: str) -> Message:
    return {"toolResult": {"toolUseId": call_id, "content": [{"text": "r"}]}}


UNHEARD_OF: Message = {"type": "unheard_of", "x": None}
UNHEARD_OF_MEMBER: Message = {"unheardOf": {}}
REASONING: Message = {"type": "reasoning", "id": "rs", "summary": []}
ROLES = st.sampled_from(["user", "assistant"])
BLOCKS = st.one_of(
    st.builds(text, TEXTS), st.builds(call, IDS), st.builds(result, IDS), st.just(UNHEARD_OF)
)
PARTS = st.one_of(
    st.builds(said_in_part, TEXTS, st.booleans()),
    st.builds(called_in_part, IDS, st.booleans()),
    st.builds(given_in_part, IDS, st.booleans()),
    st.just(UNHEARD_OF_MEMBER),
)
BEDROCK_BLOCKS = st.one_of(
    st.builds(said_in_block, TEXTS),
    st.builds(tool_use, IDS),
    st.builds(tool_result, IDS),
    st.just(UNHEARD_OF_MEMBER),
)
MESSAGES: dict[str, st.SearchStrategy[Message]] = {
    "anthropic-messages": st.builds(message, ROLES, TEXTS | st.lists(BLOCKS, max_size=4)),
    "openai-chat": st.one_of(
        st.builds(message, ROLES, TEXTS),
        st.builds(calling, st.lists(IDS, max_size=3)),
        st.builds(given_by_tool, IDS),
    ),
    "ollama": st.one_of(
        st.builds(message, ROLES, TEXTS),
        st.builds(calling, st.lists(IDS, max_size=3)),
        st.builds(given_by_tool, IDS),
    ),
    "gemini": st.builds(content, st.sampled_from(["user", "model"]), st.lists(PARTS, max_size=4)),
    "bedrock-converse": st.builds(message, ROLES, st.lists(BEDROCK_BLOCKS, max_size=4)),
    "openai-responses": st.one_of(
        st.builds(message, ROLES, TEXTS),
        st.builds(call_item, IDS),
        st.builds(output_item, IDS),
        st.just(REASONING),
        st.just(UNHEARD_OF),
    ),
}


@st.composite
def lists(draw: st.DrawFn, most: int = 8) -> tuple[str, list[Message]]:
    """An API, and a list of its messages in any order: calls and results as they come."""
    api = draw(st.sampled_from(APIS))
    return api, in_turns(draw(st.lists(MESSAGES[api], min_size=1, max_size=most)))


def in_turns(messages: list[Message]) -> list[Message]:
    """Return messages without what follows in a turn of Gemini's: its contents are one answer."""
    roles = ["", *(message.get("role", "") for message in messages)]
    turns = zip(messages, pairwise(roles), strict=True)
    return [message for message, around in turns if around != ("model", "model")]
