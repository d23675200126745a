"""Which conversation a request says it is of: one row a spelling, as each tool sends it."""

import json
from typing import Any

import pytest

from onrecord.adapters.proxy.grouping import Group, group_of

SESSION = "0b1f6c1e-7f0a-4c55-9a64-1f2e6f0d9a11"
THREAD = "019a2b3c-4d5e-7f60-8123-456789abcdef"
PARENT = "019a2b3c-0000-7f60-8123-456789abcdef"
HASH = "a" * 64
CLAUDE = f"claude-code/{SESSION}"
CODEX = f"codex/{THREAD}"
TITLE = "You are a title generator. You output ONLY a thread title."

ROWS: list[tuple[str, dict[str, str], dict[str, Any], Group]] = [
    ("nothing", {}, {}, Group()),
    (
        "its own key",
        {"x-onrecord-conversation": "support/4711", "x-claude-code-session-id": SESSION},
        {},
        Group("named", "support/4711"),
    ),
    ("claude code", {"x-claude-code-session-id": SESSION}, {}, Group("session", CLAUDE)),
    (
        "a subagent of claude code",
        {"x-claude-code-session-id": SESSION, "x-claude-code-agent-id": "a1"},
        {},
        Group("agent", f"{CLAUDE}/a1", CLAUDE),
    ),
    (
        "a subagent of a subagent",
        {
            "x-claude-code-session-id": SESSION,
            "x-claude-code-agent-id": "a2",
            "x-claude-code-parent-agent-id": "a1",
        },
        {},
        Group("agent", f"{CLAUDE}/a2", f"{CLAUDE}/a1"),
    ),
    (
        "claude code before it had headers",
        {},
        {"metadata": {"user_id": f"user_{HASH}_account_{SESSION}_session_{SESSION}"}},
        Group("session", CLAUDE),
    ),
    (
        "claude code with a key and no account",
        {},
        {"metadata": {"user_id": f"user_{HASH}_account__session_{SESSION}"}},
        Group("session", CLAUDE),
    ),
    (
        "claude code that writes JSON",
        {},
        {"metadata": {"user_id": json.dumps({"device_id": HASH, "session_id": SESSION})}},
        Group("session", CLAUDE),
    ),
    ("a user is no session", {}, {"metadata": {"user_id": "ana"}}, Group()),
    ("JSON of others", {}, {"metadata": {"user_id": '{"user": 1}'}}, Group()),
    ("broken JSON", {}, {"metadata": {"user_id": '{"session_id": '}}, Group()),
    ("metadata that is none", {}, {"metadata": "x"}, Group()),
    (
        "codex",
        {"session-id": PARENT, "thread-id": THREAD},
        {"prompt_cache_key": THREAD},
        Group("session", CODEX),
    ),
    (
        "codex before",
        {"session_id": THREAD, "x-codex-window-id": f"{THREAD}:2"},
        {},
        Group("session", CODEX),
    ),
    ("codex by its window", {"x-codex-window-id": f"{THREAD}:7"}, {}, Group("session", CODEX)),
    (
        "a thread that codex began from another",
        {"thread-id": THREAD, "x-codex-parent-thread-id": PARENT},
        {},
        Group("agent", CODEX, f"codex/{PARENT}"),
    ),
    (
        "a review without a thread of its own",
        {"session-id": THREAD, "x-codex-window-id": f"{THREAD}:0", "x-openai-subagent": "review"},
        {},
        Group("agent", f"{CODEX}/review", CODEX),
    ),
    (
        "codex compacts its own thread",
        {"thread-id": THREAD, "x-openai-subagent": "compact"},
        {},
        Group("session", CODEX),
    ),
    (
        "codex says it in one header",
        {"x-codex-turn-metadata": json.dumps({"session_id": PARENT, "thread_id": THREAD})},
        {},
        Group("session", CODEX),
    ),
    (
        "codex says it in the body",
        {},
        {"client_metadata": {"x-codex-window-id": f"{THREAD}:0", "thread_id": THREAD}},
        Group("session", CODEX),
    ),
    ("opencode", {"x-session-affinity": "ses_1"}, {}, Group("session", "opencode/ses_1")),
    *(
        (
            f"opencode's call for a title, {member}",
            {"x-session-affinity": "ses_1"},
            {member: told},
            Group("agent", "opencode/ses_1/title", "opencode/ses_1"),
        )
        for member, told in (
            ("system", [{"type": "text", "text": TITLE}]),
            ("instructions", TITLE),
            ("messages", [{"role": "system", "content": TITLE}]),
            ("input", [{"role": "developer", "content": [{"type": "input_text", "text": TITLE}]}]),
            ("systemInstruction", {"parts": [{"text": TITLE}]}),
        )
    ),
    (
        "a session of opencode about titles",
        {"x-session-affinity": "ses_1"},
        {"system": [], "messages": [{"role": "user", "content": [{"text": f"Say: {TITLE}"}]}]},
        Group("session", "opencode/ses_1"),
    ),
    ("opencode's gateway", {"x-opencode-session": "s"}, {}, Group("session", "opencode/s")),
    ("held", {}, {"conversation": "conv_1"}, Group("held", "openai/conv_1")),
    ("held, as an object", {}, {"conversation": {"id": "conv_1"}}, Group("held", "openai/conv_1")),
    (
        "the response before",
        {},
        {"previous_response_id": "resp_1"},
        Group("response", response="resp_1"),
    ),
    ("helicone", {"helicone-session-id": "h"}, {}, Group("session", "helicone/h")),
    ("litellm", {"x-litellm-session-id": "l"}, {}, Group("session", "litellm/l")),
    ("any session", {"x-session-id": "s"}, {}, Group("session", "session/s")),
    ("a session of nobody known", {"session-id": "s"}, {}, Group("session", "session/s")),
    ("a trace is no conversation", {"traceparent": f"00-{HASH[:32]}-{HASH[:16]}-01"}, {}, Group()),
    ("a cache key is none", {}, {"prompt_cache_key": "app"}, Group()),
    ("who asks is none", {}, {"user": "ana", "safety_identifier": "ana"}, Group()),
    ("an id with a slash", {"x-claude-code-session-id": "a/b"}, {}, Group()),
    ("an id that is too long", {"x-session-id": "s" * 129}, {}, Group()),
    ("an empty id", {"x-claude-code-session-id": ""}, {}, Group()),
    ("a line in an id", {"x-session-id": "a\nb"}, {}, Group()),
]


@pytest.mark.parametrize(("what", "headers", "body", "group"), ROWS, ids=[row[0] for row in ROWS])
def test_each_tool_is_told_by_what_it_sends(
    what: str, headers: dict[str, str], body: dict[str, Any], group: Group
) -> None:
    assert group_of(headers, body, "openai") == group, what


def test_what_a_provider_holds_is_kept_apart_from_another_ones() -> None:
    body = {"conversation": "conv_1"}
    assert group_of({}, body, "openai") != group_of({}, body, "azure")
