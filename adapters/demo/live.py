"""A short conversation with each real service whose key is set, judged by what it answers.

A report has a number that stands nowhere else, a tool gives another: who names both has read the
PDF and the tool's result. Each conversation goes on with the next API, which must know them too.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from onrecord.adapters.conversation.rendering import replays
from onrecord.adapters.demo import support_agent
from onrecord.adapters.demo.clients import advice, answered, failures, is_installed, say, voice
from onrecord.adapters.demo.report_pdf import one_page_pdf
from onrecord.adapters.demo.screen import Screen
from onrecord.adapters.demo.story import DemoOptions, opened
from onrecord.adapters.store import Store
from onrecord.adapters.terminal import output
from onrecord.domain.errors import InvalidInput

SYSTEM: Final = "You answer in one short sentence. Use the tools before you answer."
QUESTION: Final = (
    "Which reference does the report carry, and at which gate is parcel NW-20931? Name both."
)
AGAIN: Final = "Name the report's reference and the parcel's gate once more, from what was said."
QUESTION_WITHOUT: Final = "At which gate is parcel NW-20931?"
AGAIN_WITHOUT: Final = "Name the parcel's gate once more, from what was said."
_AWS: Final = ("AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_BEARER_TOKEN_BEDROCK")
KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "anthropic-messages": ("ANTHROPIC_API_KEY",),
    "openai-chat": ("OPENAI_API_KEY",),
    "openai-responses": ("OPENAI_API_KEY",),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "ollama": ("OLLAMA_HOST",),
    "bedrock-converse": _AWS,
}
"""The variables that the SDK of each API looks for; one of them says that the service is there."""

_NO_PDF: Final = frozenset({"ollama"})
"""Who takes no report, so that none is given, and nothing asked of it, where they begin."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What a model can only know by reading: the report's reference, the gate that a tool names."""

    reference: str = field(default_factory=lambda: f"NR{_digits()}")
    gate: str = field(default_factory=lambda: f"G{_digits()}")


@dataclass(frozen=True, slots=True)
class Check:
    """Something that must hold of a service, and whether it does; `answer` is the text that was looked at."""

    api: str
    what: str
    holds: bool
    answer: str


def run_live(telling: DemoOptions) -> bool:
    """Talk to the real services, and tell how it went; whether all checks hold.

    Raises InvalidInput where no key is set: nothing could be said of any service.
    """
    apis = [api for api in KEYS if _missing(api) is None]
    if not apis:
        wanted = dict.fromkeys(names[0] for names in KEYS.values())
        raise InvalidInput(f"--live needs a service: set {' or '.join(wanted)}")
    screen = Screen(quiet=telling.as_json)
    with opened(telling) as (store, folder):
        screen.hello(store.url, live=True)
        for api in KEYS:
            if (why := _missing(api)) is not None:
                screen.remark(f"{api}: skipped, {why}")
        checks = [
            check for api in apis for check in _checked(telling, store, folder, apis, api, screen)
        ]
        if telling.as_json:
            output.json_line(_document(store, checks, kept=telling.keep))
    return all(check.holds for check in checks)


def _missing(api: str) -> str | None:
    """Return what is missing to talk to a service; None: nothing is."""
    if not any(os.environ.get(name) for name in KEYS[api]):
        return f"{' or '.join(KEYS[api])} is not set"
    return None if is_installed(api) else advice(api)


def names(answer: str, fact: str) -> bool:
    """Whether a text names a fact, however it is spelled: `NR 482-913` is `NR482913`."""
    return _letters(fact) in _letters(answer)


def _checked(
    telling: DemoOptions, store: Store, folder: Path, apis: list[str], api: str, screen: Screen
) -> Iterator[Check]:
    """Yield what a conversation begun on an API comes to; what goes wrong is a check, too."""
    screen.heading(api)
    try:
        for check in _conversation(telling, store, folder, apis, api, screen):
            screen.checked(check.what, holds=check.holds)
            yield check
    except failures() as exc:
        screen.checked(str(exc), holds=False)
        yield Check(api, "answers", holds=False, answer=str(exc))


def _conversation(
    telling: DemoOptions, store: Store, folder: Path, apis: list[str], api: str, screen: Screen
) -> Iterator[Check]:
    facts = Facts()
    report = folder / f"report-{api}.pdf"
    report.write_bytes(one_page_pdf((f"Delivery report, reference {facts.reference}", "All well.")))
    results = {"track_parcel": f"Parcel NW-20931 stands at gate {facts.gate}."}
    conversation = store.conversation(f"live/{api}")
    conversation.instruct(SYSTEM)
    conversation.tools.declare(
        tool for tool in support_agent.TOOLS if tool["name"] == "track_parcel"
    )
    has_report = api not in _NO_PDF
    question = QUESTION if has_report else QUESTION_WITHOUT
    say(conversation, screen, question, [report] if has_report else [])
    with voice(api, telling.models[api], conversation, None) as model:
        answer = answered(conversation, model, screen, results)
    if has_report:
        yield Check(
            api, "names what stands in the PDF alone", names(answer, facts.reference), answer
        )
    yield Check(api, "names what the tool gave", names(answer, facts.gate), answer)
    following = apis[(apis.index(api) + 1) % len(apis)]
    if following != api:
        screen.heading(f"{api}, on to {following}")
        say(conversation, screen, AGAIN if has_report else AGAIN_WITHOUT)
        with voice(following, telling.models[following], conversation, None) as model:
            answer = answered(conversation, model, screen, results)
        knows = names(answer, facts.gate) and (not has_report or names(answer, facts.reference))
        yield Check(following, f"knows what {api} was told", knows, answer)
    proven = all(outcome.is_proven for outcome in replays(conversation))
    yield Check(api, "every request is proven", proven, "")


def _document(store: Store, checks: Iterable[Check], *, kept: bool) -> dict[str, object]:
    listed = [
        {"api": check.api, "what": check.what, "holds": check.holds, "said": check.answer}
        for check in checks
    ]
    return {"url": store.url if kept else None, "checks": listed}


def _digits() -> str:
    return f"{secrets.randbelow(900_000) + 100_000}"


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text)).casefold()
