"""The loop of an agent, whoever the model is: say something, ask until all is said, give results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from onrecord.adapters.conversation.conversation import Talk
from onrecord.adapters.demo.screen import Screen
from onrecord.adapters.demo.voices import Voice
from onrecord.domain.errors import OnrecordError

_MOST_ANSWERS: Final = 12


class DemoFailed(OnrecordError):
    """The demo did not come out as it must; that is a bug."""


def say(talk: Talk, screen: Screen, text: str, documents: Iterable[Path] = ()) -> None:
    """Record a prompt, and show it."""
    attached = list(documents)
    talk.user(text, documents=attached)
    screen.prompt(text, [path.name for path in attached])


def answered(talk: Talk, voice: Voice, screen: Screen, results: Mapping[str, str]) -> str:
    """Ask until the model has said all, and return its last words.

    Its calls get `results`, by the tool's name; where it pauses it is asked again. Raises DemoFailed
    for a model that comes to no end.
    """
    for _ in range(_MOST_ANSWERS):
        heard = voice.ask(talk.request(voice.api, model=voice.model), screen)
        calls = talk.open_calls()
        for call in calls:
            result = results.get(call.name, f"There is no tool {call.name}.")
            talk.tool_result(call.id, result)
            screen.result(call.name, result)
        if not calls and not heard.pauses:
            return heard.text
    raise DemoFailed(f"the model did not come to an end in {_MOST_ANSWERS} answers")
