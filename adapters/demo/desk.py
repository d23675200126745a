"""The desk's other conversations: what people look for in a record, in small scenes.

A window leaves a report out, a tool gives far more than the others, a refund waits for a person, a card
number is redacted, a conversation is erased, and the log is sealed before and after. All names and figures
are made up.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from onrecord.adapters.conversation.conversation import Conversation
from onrecord.adapters.conversation.rendering import replays
from onrecord.adapters.demo.clients import DemoFailed, ModelClient, voice
from onrecord.adapters.demo.report_pdf import one_page_pdf
from onrecord.adapters.demo.screen import Screen
from onrecord.adapters.demo.services.scenes import Answer, JsonObject
from onrecord.adapters.demo.services.server import DemoServer
from onrecord.adapters.store import Store
from onrecord.adapters.tools.python import tool
from onrecord.adapters.tools.runner.runner import ToolRunner
from onrecord.adapters.tools.tool import Tool
from onrecord.projections.apis.anthropic.tool_rules import turns_of
from onrecord.projections.history.windows import Window

API: Final = "anthropic-messages"
AGENT: Final = "ana"
LEAD: Final = "bo"
"""The two people of the desk, by name: LEAD redacts, erases and decides."""

REPORT_KEY: Final = "support/4712"
REFUND_KEY: Final = "support/4713"
ERASED_KEY: Final = "support/4690"
WINDOW: Final = Window(exchanges=1, step=1)
"""What this program sends of a conversation: the last exchange, and the open one."""

REPORT: Final = "depot-north-week-38.pdf"
REDACTION: Final = "a customer's card number"
ERASURE: Final = "the customer asked for it on 12 September"

PRICES: Final = """# Dollars per million tokens. These prices are made up.
[models."claude-*"]
input = 3
output = 15

[models."*"]
input = 1
output = 4
"""
"""The prices of the demo's models, as `onrecord usage --prices` reads them."""

_SYSTEM: Final = "You are the support agent of Northwind Parcels. Say what you were not shown."
_SCANS: Final = 80
_SLOW: Final = 0.4
"""How long the archive takes, in seconds."""


def depot_log(depot: str) -> str:
    """Read the scans of a depot's whole week, from the archive."""
    time.sleep(_SLOW)
    scans = (f"{at:04d} NW-{20_000 + at * 7} scanned at depot {depot}" for at in range(_SCANS))
    return "\n".join(scans)


def depot_phone(depot: str) -> str:
    """Look up the number that a depot answers at."""
    return f"Depot {depot} answers at extension 38."


def refund(parcel: str, euros: int) -> str:
    """Pay a customer back."""
    return f"{euros} euros are paid back for {parcel}."


_REFUND: Final = tool(refund, needs_approval=True)


@dataclass(frozen=True, slots=True)
class _Exchange:
    """A prompt, and what the model says: perhaps a call first."""

    prompt: str
    answer: str
    call: JsonObject | None = None


def _call(call_id: str, name: str, arguments: JsonObject) -> JsonObject:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


_REPORT_EXCHANGES: Final = (
    _Exchange(
        "Here is the report of depot North. Which scans of its week are missing?",
        "None: the report counts 80 scans, and the archive has as many.",
        _call("toolu_01Qe4LmXw7TbNsVhRk2PzYcD", "depot_log", {"depot": "North"}),
    ),
    _Exchange(
        "For the refund: the customer's card is 4000 0012 3456 7899.",
        "Please do not send me card numbers. A lead can redact this one.",
    ),
    _Exchange(
        "How do I reach the depot?",
        "It answers at extension 38.",
        _call("toolu_01Bn6HsGy9KdWqJtFv3RxMaU", "depot_phone", {"depot": "North"}),
    ),
    _Exchange(
        "What does the report say of Tuesday?",
        "I see no report in what I was sent. Please attach it again.",
    ),
)
_REFUND_EXCHANGE: Final = _Exchange(
    "She wants the 180 euros back for NW-20931.",
    "The refund is made.",
    _call("toolu_01Tz8PcJk5YmLgXwDn4VbEqS", "refund", {"parcel": "NW-20931", "euros": 180}),
)
_ERASED_EXCHANGE: Final = _Exchange(
    "I am Mia Berg, Lindenweg 4. Please change my address.", "It is changed, Mrs. Berg."
)
_TITLE: Final = _Exchange("Name this conversation in four words.", "Scans of depot North")
_ALL: Final = (*_REPORT_EXCHANGES, _REFUND_EXCHANGE, _ERASED_EXCHANGE, _TITLE)


def tell_desk(store: Store, model: str, folder: Path, screen: Screen, *, seals: bool) -> None:
    """Record the desk's conversations; seal the log before and after what people change, if it has a key.

    Raises DemoFailed where a request does not come to what was sent.
    """
    with DemoServer(_answer) as server:
        _tell_report(store, model, folder, server)
        screen.remark(f"{REPORT_KEY}: a window of one exchange leaves its report out")
        _tell(store, ERASED_KEY, model, server, [_ERASED_EXCHANGE])
        if seals:
            store.seal()
            screen.remark("the log is sealed: what comes now changes nothing that was sealed")
        _tell_refund(store, model, server)
        screen.remark(f"{REFUND_KEY}: a refund waits for somebody who approves it")
    _redact(store)
    screen.remark(f"{REPORT_KEY}: {LEAD} redacts {REDACTION}")
    store.forget(ERASED_KEY, reason=ERASURE, actor=LEAD)
    screen.remark(f"{ERASED_KEY}: {LEAD} erases it, for {ERASURE}")
    if seals:
        store.seal()
    for key in (REPORT_KEY, REFUND_KEY):
        if not all(outcome.is_proven for outcome in replays(store.conversation(key))):
            raise DemoFailed(f"a request of {key} does not come to what was sent")


def _tell_report(store: Store, model: str, folder: Path, server: DemoServer) -> None:
    """Tell the conversation whose report leaves the window, and its title, which is a side branch."""
    report = folder / REPORT
    report.write_bytes(
        one_page_pdf(("Depot North, week 38", "", f"{_SCANS} scans. Tuesday: no van."))
    )
    conversation = store.conversation(REPORT_KEY, actor=AGENT)
    first, *others = _REPORT_EXCHANGES
    tools = [tool(depot_log), tool(depot_phone)]
    conversation.instruct(_SYSTEM)
    conversation.tools.declare(tools)
    with voice(API, model, conversation, server) as speaker:
        conversation.user(first.prompt, documents=[report])
        _exchange(conversation, speaker, tools)
        _name(conversation, model, server)
        for each in others:
            conversation.user(each.prompt)
            _exchange(conversation, speaker, tools)


def _tell_refund(store: Store, model: str, server: DemoServer) -> None:
    conversation = store.conversation(REFUND_KEY, actor=AGENT)
    conversation.tools.declare([_REFUND])
    with voice(API, model, conversation, server) as speaker:
        conversation.user(_REFUND_EXCHANGE.prompt)
        speaker.ask(conversation.request(API, model=model), _QUIET)
    ToolRunner(conversation, [_REFUND]).run()
    if not conversation.approvals():
        raise DemoFailed("the refund does not wait for anybody")


def _tell(
    store: Store, key: str, model: str, server: DemoServer, exchanges: list[_Exchange]
) -> None:
    conversation = store.conversation(key, actor=AGENT)
    with voice(API, model, conversation, server) as speaker:
        for each in exchanges:
            conversation.user(each.prompt)
            _exchange(conversation, speaker, [])


def _exchange(conversation: Conversation, speaker: ModelClient, tools: list[Tool]) -> None:
    """Ask until all is said, in the window, and make the calls."""
    while True:
        speaker.ask(conversation.request(API, model=speaker.model, window=WINDOW), _QUIET)
        if not conversation.open_calls():
            return
        ToolRunner(conversation, tools).run()


def _name(conversation: Conversation, model: str, server: DemoServer) -> None:
    """Have the conversation named by a request of its own, as programs do."""
    import anthropic

    with anthropic.Anthropic(api_key="demo", base_url=server.url, max_retries=0) as client:
        conversation.record(client).messages.create(
            model=model, max_tokens=32, messages=[{"role": "user", "content": _TITLE.prompt}]
        )


def _redact(store: Store) -> None:
    """Redact the prompt that has a card number."""
    conversation = store.conversation(REPORT_KEY, actor=LEAD)
    card = _REPORT_EXCHANGES[1].prompt.encode()
    for event in conversation.events():
        if event.type == "message.recorded" and card in (event.body or b""):
            conversation.redact(event.version, REDACTION)
            return
    raise DemoFailed("the prompt with a card number is not recorded")


def _answer(request: JsonObject) -> Answer:
    """Return what the model says to the last prompt: its call first, if it has one."""
    texts = list(_prompts(request))
    exchange = next(each for each in _ALL if each.prompt == texts[-1])
    last = turns_of(request)[-1]
    if exchange.call is not None and not last.has_only_results:
        return Answer(content=(exchange.call,), stop_reason="tool_use")
    return Answer(content=({"type": "text", "text": exchange.answer},))


def _prompts(request: Mapping[str, object]) -> Iterator[str]:
    known = {each.prompt for each in _ALL}
    for turn in turns_of(request):
        for placed in turn.blocks:
            if (text := placed.block.get("text")) in known:
                yield str(text)


_QUIET: Final = Screen(quiet=True)
