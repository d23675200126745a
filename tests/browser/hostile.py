"""A conversation that attacks whoever looks at it, in every field that holds a text."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote, urlencode
from uuid import uuid4

from onrecord import AssistantCall, Conversation, Store
from onrecord.adapters.conversation.approvals import request_approval
from onrecord.adapters.conversation.conversation import stream_of
from onrecord.adapters.conversation.open_calls import open_calls
from onrecord.domain import jsontext
from onrecord.domain.content import Document
from onrecord.domain.events import DocumentExtracted, RequestSent, ResponseCompleted
from onrecord.projections.matching.template import split
from tests.factories import native_answer

CANARY: Final = "window.canary = 1"
ELSEWHERE: Final = "https://elsewhere.example"

ATTACKS: Final = (
    f"<script>{CANARY}; alert(1)</script>",
    f"<img src=x onerror='{CANARY}'>",
    f"<svg onload='{CANARY}'><script>{CANARY}</script></svg>",
    f"[a](javascript:{CANARY}) [b](JaVaScRiPt:{CANARY}) [c](data:text/html,<script>{CANARY}</script>)",
    f"<javascript:{CANARY}> <a href='javascript:{CANARY}'>d</a>",
    f"![remote]({ELSEWHERE}/a.png) <img src='{ELSEWHERE}/b.png'>",
    f"<iframe src='{ELSEWHERE}/c'></iframe><iframe srcdoc='<script>parent.{CANARY}</script>'></iframe>",
    f"<base href='{ELSEWHERE}/'><meta http-equiv='refresh' content='0;url={ELSEWHERE}/d'>",
    f"<link rel='stylesheet' href='{ELSEWHERE}/e.css'><style>body {{ display: none }}</style>",
    f"""</script></style></textarea></title>--><script>{CANARY}</script>""",
    f"""'" onmouseover="{CANARY}" style="position:fixed;inset:0" autofocus onfocus="{CANARY}""",
    f"<form action='{ELSEWHERE}/f'><button autofocus>e</button></form>",
    "{{ 7 * 7 }} {% for x in x %} ${7 * 7} <%= 7 * 7 %> {{ config }}",
    "\u202e right to left \u2066 and \u2069 back \u200b \u00ad",
    "\x1b]0;a title\x07\x1b[31m red \x1b[2J \x00 \x08 \x9b",
    "[a]: javascript:alert(1)\n\n[a] | a | b |\n|-|-|\n| `x` | y |",
)
TEXT: Final = "\n\n".join(ATTACKS)
NAME: Final = f"\"><img src=x onerror='{CANARY}'>\u202e{{{{ 7 * 7 }}}}</script>"
KEY: Final = f"a/{NAME}?#%2F&amp;"
REASON: Final = f"{NAME} {TEXT[:300]}"

SVG: Final = f"""<svg xmlns="http://www.w3.org/2000/svg" onload="{CANARY}">
<script>{CANARY}; fetch("{ELSEWHERE}/svg")</script><image href="{ELSEWHERE}/g.png"/></svg>""".encode()
HTML: Final = (
    f"<!doctype html><script>{CANARY}; alert(1)</script><img src={ELSEWHERE}/h.png>".encode()
)

HOSTILE: Final = f"/c/{quote(KEY, safe='')}"
SENT: Final = 2
"""The version of a request that was sent."""

APIS: Final = (
    *("anthropic-messages", "openai-chat", "openai-responses"),
    *("gemini", "ollama", "bedrock-converse"),
)
PATHS: Final = (
    "/",
    f"/?text=right&actor={quote(KEY, safe='')}",
    HOSTILE,
    f"{HOSTILE}%2Ffork",
    f"{HOSTILE}/search?text=right",
    f"{HOSTILE}/search?text={quote(NAME, safe='')}",
    *(f"{HOSTILE}/events/{version}" for version in (SENT, 5, 9)),
    *(f"{HOSTILE}/requests?api={api}" for api in APIS),
    f"{HOSTILE}/requests?at=7",
    f"{HOSTILE}/requests/anthropic-messages/diff?a=5&b=12",
    f"{HOSTILE}/sent/{SENT}",
    f"{HOSTILE}/times",
    f"{HOSTILE}/proof",
    f"{HOSTILE}/share",
    "/approvals",
    f"/approvals?{urlencode({'question': '3:0', 'call': NAME, 'key': f'{KEY}/decided'})}",
    "/audit",
    "/usage",
    "/operations",
)
"""Pages that show the hostile conversation. A new page is one more line."""


def record_attacks(store: Store) -> None:
    """Record the conversation, a fork, a redaction, an erasure of another one, calls that wait and waited."""
    chat = store.conversation(KEY, actor=NAME)
    _send(chat)
    chat.instruct(TEXT)
    tool = {"name": "look_up", "description": TEXT, "input_schema": {"type": "object"}}
    chat.tools.declare([tool])
    kinds = ("image/svg+xml", "text/html", "image/png")
    chat.user(TEXT, documents=[_document(chat, kind) for kind in kinds])
    # Such a media type is refused in a prompt; an event can have it.
    chat.log.append(DocumentExtracted(document=_document(chat, f"text/html;{NAME}")))
    answer = uuid4()
    chat.log.append(
        native_answer(answer, f"{TEXT} \ud800 half"),
        ResponseCompleted(response=answer, api="anthropic-messages", envelope={"model": NAME}),
    )
    chat.user(TEXT)
    chat.assistant(TEXT, calls=[AssistantCall(NAME, {"found": TEXT, NAME: [TEXT]}, id=NAME)])
    chat.tool_result(NAME, {"found": TEXT, NAME: [TEXT]})
    chat.annotate({"label": NAME})
    chat.signal(TEXT, name=NAME)
    card = chat.user(TEXT).last
    chat.redact(card, REASON)
    chat.user("And now?")
    chat.fork(f"{KEY}/fork", reason=REASON).user(TEXT)
    _wait(store.conversation(f"{KEY}/waits", actor=NAME))
    decided = store.conversation(f"{KEY}/decided", actor=NAME)
    _wait(decided)
    decided.approve(NAME, reason=REASON)
    store.conversation("erased", actor=NAME).user(TEXT)
    store.forget("erased", reason=REASON, actor=NAME)


def _send(chat: Conversation) -> None:
    """Record a request that was sent, at version SENT."""
    template, _ = split(jsontext.write({"model": NAME, "messages": [TEXT]}))
    chat.log.append(
        RequestSent(api="anthropic-messages", endpoint=NAME, model=NAME, template=template)
    )


def _wait(chat: Conversation) -> None:
    """Record a call that waits for a person."""
    chat.user(TEXT)
    chat.assistant(calls=[AssistantCall(NAME, {NAME: TEXT}, id=NAME)])
    (asked,) = open_calls(stream_of(chat))
    request_approval(stream_of(chat), asked, unsure=False)


def _document(chat: Conversation, media_type: str) -> Document:
    """Return a document that holds scripts, whatever it is said to be."""
    data = SVG if media_type.startswith("image/") else HTML
    return Document(media_type=media_type, name=NAME, blob=stream_of(chat).put((data,)))
