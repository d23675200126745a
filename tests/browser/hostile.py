"""A conversation that attacks whoever looks at it, in every field that holds a text."""

from __future__ import annotations

from typing import Final
from uuid import uuid4

from onrecord import AssistantCall, Conversation, Store
from onrecord.adapters.conversation.conversation import stream_of
from onrecord.domain.content import Document
from onrecord.domain.events import DocumentExtracted, ResponseCompleted
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


def record_attacks(store: Store) -> None:
    """Record the conversation, a fork of it, a redaction, and an erasure of another one."""
    chat = store.conversation(KEY, actor=NAME)
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
    store.conversation("erased", actor=NAME).user(TEXT)
    store.forget("erased", reason=REASON, actor=NAME)


def _document(chat: Conversation, media_type: str) -> Document:
    """Return a document that holds scripts, whatever it is said to be."""
    data = SVG if media_type.startswith("image/") else HTML
    return Document(media_type=media_type, name=NAME, blob=stream_of(chat).put((data,)))
