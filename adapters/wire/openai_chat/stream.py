"""A streamed answer of OpenAI's Chat Completions API, put together from its chunks.

Our own assembly, never an SDK's: those join repeated roles and ids, merge calls that share an
index, and raise where a server leaves one out. Order and shapes of chunks: platform.openai.com,
"Streaming chat completions"; what compatible servers make of them is in the tests.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, cast

from onrecord.adapters.wire.answer import Anomaly, Answer, Interruption, Loss, named
from onrecord.adapters.wire.openai_chat.answers import API, Choice, completed
from onrecord.adapters.wire.openai_chat.calls import FUNCTION, Calls, GrowingContent
from onrecord.adapters.wire.openai_chat.merging import Elements, Members, Shape, Text, says
from onrecord.adapters.wire.stream_reader import DONE, EventReader, ServerSentEvent, index_or
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.members import members_of, objects

_PADDING: Final = "obfuscation"
"""A member of chunks that hides their length, and says nothing."""

_DETAIL: Final[Shape] = {"text": Text, "summary": Text}
_AUDIO: Final[Shape] = {"data": Text, "transcript": Text}
_MESSAGE: Final[Shape] = {
    "content": GrowingContent,
    "refusal": Text,
    "reasoning": Text,
    "reasoning_content": Text,
    "reasoning_details": lambda: Elements(_DETAIL),
    "audio": lambda: Members(_AUDIO),
    "tool_calls": Calls,
    "function_call": lambda: Members(FUNCTION),
}
_CHOICE: Final[Shape] = {"delta": lambda: Members(_MESSAGE), "text": Text}


class CompletionStream(EventReader):
    """Reads one streamed response; its last event is `[DONE]`, or an error."""

    __slots__ = ("_choices", "_envelope")

    def __init__(self) -> None:
        """Begin a response."""
        super().__init__()
        self._envelope = Members(appends=False)
        self._choices: dict[int, Members] = {}

    def finish(self, loss: Loss = "cut", detail: str | None = None) -> Answer:
        """Return what the response said; `loss` is why, if its last event has not been seen."""
        grown = [self._choices[index].value() for index in sorted(self._choices)]
        stopped = [says(members.get("finish_reason")) for members in grown]
        ending = self._ending_of(stopped, loss, detail)
        choices = [
            _choice(members, came_whole=stop or ending[0] is None)
            for members, stop in zip(grown, stopped, strict=True)
        ]
        beside: JsonObject = {"choices": [choice.members for choice in choices]} if choices else {}
        odd = () if ending[0] else self._unsaid(stopped)
        answer = self._answer(API, {**self._envelope.value(), **beside}, ending, *odd)
        return completed(answer, choices)

    def _take(self, event: ServerSentEvent) -> None:
        if event.data.strip() == DONE:
            self._raw, self._over = event.data, True
            return
        data = self._read(event.data)
        if data is None:
            return
        if self._over:
            self._note("an event after the last one")
        elif self._interruption is None:
            self._follow(event.name, data)

    def _follow(self, name: str, data: JsonObject) -> None:
        error = data.get("error")
        if says(error):
            self._fail(error)
        elif name == "error" or data.get("object") == "error":
            self._fail(data)
            return
        elif "choices" not in data:
            self._note("an event without choices")
        for member, value in data.items():
            if member == "choices":
                self._add(value)
            elif member != _PADDING and (member != "error" or not says(value)):
                self._envelope.take(member, value, self._complain)

    def _add(self, choices: Any) -> None:
        """Take the deltas of choices in; one without an index is at its place in the list."""
        if not isinstance(choices, list | None):
            self._note("choices that are no list")
            return
        for place, choice in enumerate(cast("list[Any]", choices or [])):
            if not isinstance(choice, dict):
                self._note("a choice that is no object")
                continue
            index = index_or(cast("JsonObject", choice).get("index"), place)
            if index not in self._choices:
                self._choices[index] = Members(_CHOICE)
            self._choices[index].add(choice, self._complain)

    def _complain(self, member: str) -> None:
        """Note that a member says more than can be kept of it: the first time is enough."""
        if member not in self._odd:
            self._odd.add(member)
            self._note(f"more than one value of {named(member)}")

    def _ending_of(
        self, stopped: list[bool], loss: Loss, detail: str | None
    ) -> tuple[Interruption | None, str | None]:
        """Return why the response is not whole, if it is not."""
        if self._interruption is None and self._over and not stopped:
            return "malformed", "a completion of no choice"
        if self._interruption is None and stopped and all(stopped):
            return None, None
        return self._ending(loss, detail or self._broken_off())

    def _unsaid(self, stopped: list[bool]) -> list[Anomaly]:
        """Return what is odd about the end of a whole response."""
        odd = [] if all(stopped) else [Anomaly("a choice without a finish reason")]
        return [*odd, *self._left_over()]


def _choice(members: JsonObject, *, came_whole: bool) -> Choice:
    """Return a choice; a server may bring its whole message where a delta is expected."""
    bringing = "delta" if isinstance(members.get("delta"), dict) else "message"
    message = members.get(bringing)
    if not isinstance(message, dict):
        return Choice({}, members, came_whole)
    others = {name: value for name, value in members.items() if name != bringing}
    return Choice(cast("JsonObject", message), others, came_whole)


def answers_among(events: Sequence[JsonObject]) -> int:
    """Return how many completions events are of: whole ones, and those that say more behind their end."""
    ended: set[int] = set()
    count = 0
    for event in events:
        choices = objects(event.get("choices"))
        if any("message" in choice and "delta" not in choice for choice in choices):
            count, ended = count + 1, set[int]()
            continue
        begun = {index_or(choice.get("index"), 0) for choice in choices if _says(choice)}
        if not count or begun & ended:
            count, ended = count + 1, set[int]()
        ended |= {
            index_or(choice.get("index"), 0) for choice in choices if choice.get("finish_reason")
        }
    return count


def _says(choice: JsonObject) -> bool:
    """Whether a choice's delta says something."""
    delta = members_of(choice.get("delta"))
    return bool(delta.get("content") or delta.get("tool_calls"))
