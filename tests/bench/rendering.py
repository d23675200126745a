"""What rendering a conversation costs, beside `json.loads` of the rendered request's bytes.

`python -m tests.bench.rendering [messages]` prints a JSON line a measure. The conversation is one
that a recorded client leaves: prompts, calls, results and answers, and with each answer its request
and its envelope. Ours begins with the events as the log has them, bodies not yet read. Both sides
only compute, so it is the processor's time that counts: others at work on the machine change it
little. Each other API, in its own spelling, is held against Anthropic's, and once more with
reasoning in each answer, which goes back signed, encrypted or, in completions and to Ollama, in
clear.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Final, TypeAlias

from onrecord.domain import jsontext
from onrecord.domain.log import Told
from onrecord.projections.apis.request import Options, render
from tests.bench.history import history
from tests.bench.measure import Aim, Contender, Measure, Pace, computing, take_turns
from tests.bench.payload import API as ANTHROPIC
from tests.bench.reasoning import reasoned_history
from tests.bench.spellings import BEDROCK, CHAT, GEMINI, OLLAMA, RESPONSES

Made: TypeAlias = Callable[[str, int], list[Told]]
"""Makes a conversation that an API answered, of so many messages."""

_MESSAGES: Final = 10_000
_PACE: Final = Pace(rounds=9, each=3)


def measure(messages: int) -> Measure:
    """Return what a request of so many messages costs, and what reading its bytes does."""
    recorded = history(ANTHROPIC, messages)
    body = jsontext.write(dict(render(recorded, Options())))
    peer = Contender("json.loads", "", lambda _: lambda: json.loads(body), computing)
    ours, theirs = take_turns([_rendering(ANTHROPIC, recorded), peer], _PACE)
    note = f"{messages} messages, {len(body)} bytes"
    return Measure("rendering", "ms", ours, theirs, Aim(3), note)


def measure_beside(api: str, messages: int, made: Made, name: str) -> Measure:
    """Return what a request for an API costs, and what one of Anthropic's does."""
    sides = [_rendering(known, made(known, messages)) for known in (api, ANTHROPIC)]
    ours, theirs = take_turns(sides, _PACE)
    return Measure(f"{name}.{api}", "ms", ours, theirs, Aim(1.3), f"{messages} messages")


def _rendering(api: str, recorded: list[Told]) -> Contender:
    return Contender(api, "", lambda _: lambda: render(recorded, Options(api=api)), computing)


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else _MESSAGES
    print(json.dumps(measure(count).line()), flush=True)
    for made, name in ((history, "rendering"), (reasoned_history, "rendering.reasoned")):
        for other in (CHAT, RESPONSES, BEDROCK, GEMINI, OLLAMA):
            print(json.dumps(measure_beside(other, count, made, name).line()), flush=True)
