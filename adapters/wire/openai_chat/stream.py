"""A streamed answer of OpenAI's Chat Completions API, put together from its chunks.

Our own assembly, never an SDK's: those join repeated roles and ids, merge calls that share an
index, and raise where a server leaves one out. Order and shapes of chunks: platform.openai.com,
"Streaming chat completions"; what compatible servers make of them is in the tests.
"""

from __future__ import annotations

from typing import Any, Final, cast

from onrecord.adapters.wire.answer import Anomaly, Answer, Interruption, Loss, named
from onrecord.adapters.wire.api import error_kind
from onrecord.adapters.wire.nesting import read_object
from onrecord.adapters.wire.openai_chat.answers import API, Choice, completed
from onrecord.adapters.wire.openai_chat.calls import FUNCTION, Calls, Content
from onrecord.adapters.wire.openai_chat.merging import Elements, Members, Shape, Text, says
from onrecord.adapters.wire.sse import Decoder, ServerSentEvent
from onrecord.domain.errors import MalformedJson
from onrecord.domain.jsontext import JsonObject

_DONE: Final = b"[DONE]"
_PADDING: Final = "obfuscation"
"""A member of chunks that hides their length, and says nothing."""

_DETAIL: Final[Shape] = {"text": Text, "summary": Text}
_AUDIO: Final[Shape] = {"data": Text, "transcript": Text}
_MESSAGE: Final[Shape] = {
    "content": Content,
    "refusal": Text,
    "reasoning": Text,
    "reasoning_content": Text,
    "reasoning_details": lambda: Elements(_DETAIL),
    "audio": lambda: Members(_AUDIO),
    "tool_calls": Calls,
    "function_call": lambda: Members(FUNCTION),
}
_CHOICE: Final[Shape] = {"delta": lambda: Members(_MESSAGE), "text": Text}


class CompletionStream:
    """Reads one streamed response, chunk by chunk; nothing that arrives makes it raise."""

    __slots__ = (
        "_anomalies",
        "_choices",
        "_decoder",
        "_detail",
        "_envelope",
        "_error",
        "_interruption",
        "_odd",
        "_over",
        "_raw",
    )

    def __init__(self) -> None:
        """Begin a response."""
        self._decoder = Decoder()
        self._envelope = Members(appends=False)
        self._choices: dict[int, Members] = {}
        self._anomalies: list[Anomaly] = []
        self._odd: set[str] = set()
        self._interruption: Interruption | None = None
        self._detail: str | None = None
        self._error: Any = None
        self._over = False
        self._raw = b""

    def feed(self, chunk: bytes) -> bool:
        """Take the next bytes in; return whether the response's last event has been seen.

        The last event is `[DONE]`, or an error. Once seen, it stays seen.
        """
        for event in self._decoder.feed(chunk):
            self._take(event)
        return self._over

    def finish(self, loss: Loss = "cut", detail: str | None = None) -> Answer:
        """Return what the response said; `loss` is why, if its last event has not been seen."""
        held = [self._choices[index].value() for index in sorted(self._choices)]
        stopped = [says(members.get("finish_reason")) for members in held]
        interruption, known = self._ending(stopped, loss, detail)
        choices = [
            _choice(members, came_whole=stop or interruption is None)
            for members, stop in zip(held, stopped, strict=True)
        ]
        told: JsonObject = {"choices": [choice.members for choice in choices]} if choices else {}
        answer = Answer(
            api=API,
            envelope={**self._envelope.value(), **told},
            interruption=interruption,
            detail=known,
            error=self._error,
            anomalies=(*self._anomalies, *(() if interruption else self._left_over(stopped))),
        )
        return completed(answer, choices)

    def _take(self, event: ServerSentEvent) -> None:
        self._raw = event.data
        if event.data.strip() == _DONE:
            self._over = True
            return
        try:
            data = read_object(event.data)
        except MalformedJson as exc:
            self._give_up(f"an event cannot be read: {exc}")
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
        for member, news in data.items():
            if member == "choices":
                self._add(news)
            elif member != _PADDING and (member != "error" or not says(news)):
                self._envelope.take(member, news, self._complain)

    def _add(self, choices: Any) -> None:
        """Take the deltas of choices in; one without an index is at its place in the list."""
        if not isinstance(choices, list | None):
            self._note("choices that are no list")
            return
        for place, choice in enumerate(cast("list[Any]", choices or [])):
            if not isinstance(choice, dict):
                self._note("a choice that is no object")
                continue
            index = _index(cast("JsonObject", choice), place)
            if index not in self._choices:
                self._choices[index] = Members(_CHOICE)
            self._choices[index].add(choice, self._complain)

    def _fail(self, error: Any) -> None:
        self._over = True
        self._interruption = "error"
        self._error = error
        self._detail = error_kind(error)

    def _give_up(self, why: str) -> None:
        """Keep what is known, and put nothing more in; what was over, or given up, stays so."""
        self._note(why)
        if self._interruption is None and not self._over:
            self._interruption, self._detail = "malformed", why

    def _complain(self, member: str) -> None:
        """Note that a member says more than can be kept of it: the first time is enough."""
        if member not in self._odd:
            self._odd.add(member)
            self._note(f"more than one value of {named(member)}")

    def _note(self, what: str) -> None:
        self._anomalies.append(Anomaly(what, self._raw))

    def _ending(
        self, stopped: list[bool], loss: Loss, detail: str | None
    ) -> tuple[Interruption | None, str | None]:
        """Return why the response is not whole, if it is not."""
        if self._interruption is not None:
            return self._interruption, self._detail
        if self._over and not stopped:
            return "malformed", "a completion of no choice"
        if self._over or (stopped and all(stopped)):
            return None, None
        return loss, detail or self._lost()

    def _left_over(self, stopped: list[bool]) -> list[Anomaly]:
        """Return what is odd about the end of a whole response."""
        tail = self._decoder.tail.strip()
        odd: list[Anomaly] = []
        if not all(stopped):
            odd.append(Anomaly("a choice without a finish reason"))
        if tail and not tail.endswith(_DONE):
            odd.append(Anomaly("the last event broke off", tail))
        return odd

    def _lost(self) -> str | None:
        tail = self._decoder.tail.strip()
        return f"the last event broke off after {len(tail)} bytes" if tail else None


def _choice(members: JsonObject, *, came_whole: bool) -> Choice:
    """Return a choice; a server may bring its whole message where a delta is expected."""
    bringing = "delta" if isinstance(members.get("delta"), dict) else "message"
    message = members.get(bringing)
    if not isinstance(message, dict):
        return Choice({}, members, came_whole)
    others = {name: value for name, value in members.items() if name != bringing}
    return Choice(cast("JsonObject", message), others, came_whole)


def _index(choice: JsonObject, place: int) -> int:
    index = choice.get("index")
    return index if isinstance(index, int) and not isinstance(index, bool) else place
