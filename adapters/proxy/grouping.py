"""Which conversation a request says it is of: from its headers and its body, and nothing else.

What a program sends only correlates its own calls: a key is looked up among the conversations of
the tenant that the proxy's key is for. Facts of each tool: docs/proxy.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple, TypeAlias, cast

from onrecord.domain.jsontext import JsonObject

Relation: TypeAlias = Literal["named", "session", "agent", "held", "response", "none"]
"""What tells the conversation: its own key, a tool's session, a subagent of one, what the provider
holds, the response that the request goes on from, or nothing but what the request says.
"""


class Group(NamedTuple):
    """The conversation that a request is of; `parent` is that whose agent began it.

    `response` is the provider's id of the response that it goes on from, where only that is told.
    """

    relation: Relation = "none"
    key: str | None = None
    parent: str | None = None
    response: str | None = None


_Headers: TypeAlias = Mapping[str, str]

EXPLICIT: Final = "x-onrecord-conversation"
"""The header that names a conversation by its key."""

_ID: Final = re.compile(r"[\w.:@+-]{1,128}", re.ASCII)
"""What an id of a session looks like; it has no slash, so that keys are told apart by theirs."""

_USER: Final = re.compile(r"user_[0-9a-f]{64}_account_[0-9a-f-]*_session_([0-9a-f-]{8,64})")
"""`metadata.user_id` as Claude Code wrote it; newer ones hold JSON."""

_CODEX: Final = ("x-codex-window-id", "x-codex-turn-metadata", "x-codex-parent-thread-id")
_SAME_THREAD: Final = frozenset({"compact"})
"""Kinds of Codex's helpers that speak for the thread itself."""

_OPENCODE: Final = ("x-opencode-session", "x-session-affinity")
_TITLE: Final = "You are a title generator."
"""How opencode's call for a title begins: it comes before the first prompt, under the same session."""

_DEEPEST: Final = 6
_OPENING: Final = ("system", "instructions", "messages", "input", "systemInstruction")
"""The members of a body in which the instructions come first, by API."""

_OTHER_SESSIONS: Final = (
    ("helicone-session-id", "helicone"),
    ("x-litellm-session-id", "litellm"),
    ("x-session-id", "session"),
    ("session-id", "session"),
    ("session_id", "session"),
)


def group_of(headers: _Headers, body: JsonObject, provider: str) -> Group:
    """Return the conversation that a request to a provider says it is of.

    `headers` are by their names in small letters.
    """
    for told_by in _SOURCES:
        group = told_by(headers, body, provider)
        if group is not None:
            return group
    return Group()


def _explicit(headers: _Headers, _body: JsonObject, _provider: str) -> Group | None:
    key = headers.get(EXPLICIT)
    return None if key is None else Group("named", key)


def _claude_code(headers: _Headers, body: JsonObject, _provider: str) -> Group | None:
    session = _id(headers.get("x-claude-code-session-id")) or _session_of_user(body)
    if session is None:
        return None
    main = f"claude-code/{session}"
    agent = _id(headers.get("x-claude-code-agent-id"))
    if agent is None:
        return Group("session", main)
    parent = _id(headers.get("x-claude-code-parent-agent-id"))
    above = main if parent is None or parent == agent else f"{main}/{parent}"
    return Group("agent", f"{main}/{agent}", above)


def _session_of_user(body: JsonObject) -> str | None:
    """Return the session that Claude Code writes into `metadata.user_id`; others have users there."""
    user: object = _member(body.get("metadata"), "user_id")
    if not isinstance(user, str):
        return None
    if match := _USER.fullmatch(user):
        return match[1]
    return _id(_member(_object(user), "session_id"))


def _codex(headers: _Headers, body: JsonObject, _provider: str) -> Group | None:
    facts = dict(_codex_facts(headers, body))
    thread = facts.get("thread") or facts.get("session")
    if thread is None:
        return None
    own, parent = f"codex/{thread}", facts.get("parent")
    above = None if parent is None else f"codex/{parent}"
    agent = facts.get("agent")
    if agent is not None and agent not in _SAME_THREAD and facts.get("thread") in (None, parent):
        return Group("agent", f"{own}/{agent}", above or own)  # It has no thread of its own.
    if above is not None and above != own:
        return Group("agent", own, above)
    return Group("session", own)


def _codex_facts(headers: _Headers, body: JsonObject) -> Iterator[tuple[str, str]]:
    """Yield what Codex says of itself; of what it says twice, its own headers last."""
    metadata = _object(headers.get("x-codex-turn-metadata"))
    sent = _member(body, "client_metadata")
    is_codex = any(name in headers for name in _CODEX) or "thread-id" in headers
    if not is_codex and _member(sent, "x-codex-window-id") is None:
        return
    named: tuple[tuple[str, tuple[str, ...]], ...] = (
        ("session", ("session_id", "session-id")),
        ("thread", ("thread_id", "thread-id")),
        ("parent", ("parent_thread_id", "x-codex-parent-thread-id")),
        ("agent", ("subagent_kind", "x-openai-subagent")),
    )
    for source in (sent, metadata, headers):
        for fact, names in named:
            for name in names:
                if (value := _id(_member(source, name))) is not None:
                    yield fact, value
    window = headers.get("x-codex-window-id") or _member(sent, "x-codex-window-id")
    if not any(name in headers for name in ("thread-id", "session-id", "session_id")) and (
        isinstance(window, str) and (session := _id(window.rpartition(":")[0])) is not None
    ):
        yield "session", session


def _opencode(headers: _Headers, body: JsonObject, _provider: str) -> Group | None:
    session = next((told for name in _OPENCODE if (told := _id(headers.get(name)))), None)
    if session is None:
        return None
    own = f"opencode/{session}"
    if any(_first_text(body.get(member)).startswith(_TITLE) for member in _OPENING):
        return Group("agent", f"{own}/title", own)
    return Group("session", own)


def _first_text(value: object) -> str:
    """Return the first text in a message, or in a list of them; an empty one for none."""
    for _ in range(_DEEPEST):
        if isinstance(value, str):
            return value
        if isinstance(value, list):
            value = next(iter(cast("list[object]", value)), None)
        else:
            value = next(
                (found for name in ("text", "content", "parts") if (found := _member(value, name))),
                None,
            )
    return ""


def _held(_headers: _Headers, body: JsonObject, provider: str) -> Group | None:
    """Return the conversation that OpenAI holds, or the response that is gone on from there."""
    conversation = body.get("conversation")
    held = _id(conversation) or _id(_member(conversation, "id"))
    if held is not None:
        return Group("held", f"{provider}/{held}")
    response = _id(body.get("previous_response_id"))
    return None if response is None else Group("response", response=response)


def _sessions(table: tuple[tuple[str, str], ...]) -> Callable[..., Group | None]:
    def told(headers: _Headers, _body: JsonObject, _provider: str) -> Group | None:
        for name, program in table:
            if (session := _id(headers.get(name))) is not None:
                return Group("session", f"{program}/{session}")
        return None

    return told


_SOURCES: Final[tuple[Callable[[_Headers, JsonObject, str], Group | None], ...]] = (
    _explicit,
    _claude_code,
    _codex,
    _opencode,
    _held,
    _sessions(_OTHER_SESSIONS),
)
"""What is asked, in this order; the first that tells a conversation does."""


def _id(value: object) -> str | None:
    return value if isinstance(value, str) and _ID.fullmatch(value) else None


def _member(value: object, name: str) -> object:
    return cast("Mapping[str, Any]", value).get(name) if isinstance(value, Mapping) else None


def _object(text: str | None) -> JsonObject:
    """Return the object that a text of JSON holds; an empty one where it holds none."""
    if text is None or not text.startswith("{"):
        return {}
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return cast("JsonObject", value) if isinstance(value, dict) else {}
