"""The fold of events, one after the other: what is said so far, and what is open.

turns.py tells what is decided here, and what of the events is folded in which order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple
from uuid import UUID

from onrecord.domain import events
from onrecord.domain.content import Role
from onrecord.domain.encoding import SHAPELESS, Erased, Unrecognised, name_of
from onrecord.domain.errors import CorruptRecord
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.log import Told
from onrecord.projections.api import says_it_failed
from onrecord.projections.history.amendments import AMENDS, SUMMARY, without
from onrecord.projections.history.answers import Answers
from onrecord.projections.history.history import Block, History, Missing, Note
from onrecord.projections.history.responses import (
    Item,
    Place,
    event_of,
    plain_of,
    plain_of_event,
)
from onrecord.projections.history.rounds import Rounds, given_up
from onrecord.projections.history.signals import signal_blocks
from onrecord.projections.history.tool_names import given_names

# Members of a body have a fixed order, `line` first (docs/format.md): these bytes tell without
# reading the JSON.
_IN_BLOBS: Final = ord("$")
_ON_A_SIDE_BRANCH: Final = b'{"line":'
_NONE: Final[Mapping[Place, list[JsonObject]]] = {}


class Start(NamedTuple):
    """How many requests, and ends of answers, came before a prompt with which a fold may begin."""

    asked: int
    closed: int


class Fold:
    """What the events said so far; `is_amended` says that one of them tells how others are told.

    That is rare, as is a request that had not seen all that was before it (`saw_less`); then the
    events are to be taken in otherwise: looking for it beforehand would cost all folds.
    """

    def __init__(
        self,
        redactions: set[Place],
        missing: Missing,
        notes: Iterable[Note] = (),
        removed: Mapping[Place, list[JsonObject]] = _NONE,
    ) -> None:
        """Begin with no events; `notes` are on those that are left out beforehand.

        `redactions` are the places that say nothing, `removed` what was taken out of results.
        """
        self.is_amended = False
        # The conversation of the event that is taken in.
        self._at: UUID | None = None
        self._torn: set[Place] = set()
        self._redacted = redactions
        self._taken_out = removed
        # Versions tell no two calls apart: those of a fork begin anew.
        self._calls = 0
        self._rounds = Rounds(missing)
        self._notes = list(notes)
        self._answers = Answers(self._rounds, self._notes)
        # The prompts that nothing before them reaches beyond, by their versions.
        self._starts: dict[int, Start] = {}
        self._instructions: events.InstructionsSet | None = None
        self._tools: events.ToolsDeclared | None = None
        # Calls bear the names that their caller gave, as the tools do.
        self._names: Mapping[str, str] = {}
        self._has_made = False
        self._rules: int | None = None

    @property
    def saw_less(self) -> bool:
        """Whether a request had not seen all that was before it."""
        return self._answers.saw_less

    def take_all(self, items: Iterable[Item]) -> None:
        """Take in events in order; CorruptRecord where one does not have its shape."""
        try:
            for item in items:
                if not isinstance(item, Told):
                    version, event = item
                    self._at = None
                    self._take(item, version, name_of(event), plain_of_event(event), True)
                    continue
                self._at = item.conversation_id
                name, body = item.type, item.body or b""
                if name in _LONG and not body.startswith(_ON_A_SIDE_BRANCH):
                    self._take_long(item, name, body)
                    continue
                plain = plain_of(item)
                if not isinstance(plain, dict):
                    self._unread(item.version, plain)
                elif name not in _FOLDED or self._redacted or "line" in plain:
                    self._take(item, item.version, name, plain, True)
                else:
                    _FOLDED[name](self, item.version, plain, _IN_BLOBS in body)
        except (KeyError, TypeError) as exc:
            raise CorruptRecord(SHAPELESS) from exc

    def begin_at(self, version: int) -> bool:
        """Go on as if the events began with the prompt of a version, behind what set what is in force.

        False where it may not come to the same; then this is as it was.
        """
        start = self._starts.get(version)
        is_altered = self._notes or self._torn or self._has_made or self.is_amended or self.saw_less
        if start is None or is_altered or not self._rounds.begin_at(version):
            return False
        self._answers.begin_at(start.asked, start.closed)
        self._rules = None
        self._starts = {at: start for at, start in self._starts.items() if at >= version}
        return True

    def history(self, items: Sequence[Item], missing: int) -> History:
        """Return all that was taken in; more may be taken in afterwards."""
        last = items[-1] if items else None
        rounds = self._rounds.copy()
        awaited, closed_turns = rounds.awaited(), rounds.turns()
        return History(
            turns=closed_turns,
            responses=self._answers.responses(self._rules),
            instructions=self._instructions,
            tools=self._tools,
            notes=(*self._notes, *rounds.notes),
            has_prefills=rounds.has_prefills,
            left_out=missing,
            as_of=last.recorded_at if isinstance(last, Told) else None,
            torn=frozenset(self._torn | rounds.torn),
            has_made=self._has_made,
            awaited=awaited,
        )

    def _take(
        self,
        item: Item,
        version: int,
        name: str,
        plain: JsonObject,
        spilled: bool,
    ) -> None:
        self.is_amended = self.is_amended or name in AMENDS
        if "line" in plain:
            return
        if name in _LONG:
            self._take_long(item, name, None)
        elif (self._at, version) in self._redacted:
            self._leave_out("redacted", version, "the event was redacted")
        elif fold_event := _FOLDED.get(name):
            fold_event(self, version, plain, spilled)
        elif name == _SUMMARY:
            self._summarise(version, plain, spilled)
        else:
            self._take_whole(version, item)

    def _take_long(self, item: Item, name: str, body: bytes | None) -> None:
        if name == _REQUEST:
            self._answers.ask(item, body)
        else:
            self._answers.complete(item, body, self._at)

    def _take_whole(self, version: int, item: Item) -> None:
        match event_of(item):
            case events.InstructionsSet() as event:
                self._instructions = event
            case events.ToolsDeclared() as event:
                self._tools, self._names = event, given_names(event)
            case events.ResponseInterrupted() as event:
                self._answers.break_off(item, event, self._at)
            case events.ConversationStarted(rules=rules):
                self._rules = rules
            case _:
                return

    def message(self, version: int, plain: JsonObject, spilled: bool) -> None:
        """Take in what somebody said."""
        role: Role = plain["role"]
        rounds, request_count = self._rounds, self._answers.asked
        if role == "assistant":
            response = plain.get("response")
            for content in plain["content"]:
                rounds.speak(Block(version, self._at, content, spilled, response, request_count))
        elif role == "system":
            for content in plain["content"]:
                rounds.note(Block(version, self._at, content, spilled, None, request_count, "note"))
        else:
            self._note_start(version)
            for content in plain["content"]:
                rounds.say(Block(version, self._at, content, spilled, None, request_count))

    def part(self, version: int, plain: JsonObject, spilled: bool) -> None:
        """Take in a part of an answer."""
        request_count = self._answers.asked
        self._rounds.speak(
            Block(version, self._at, plain["content"], spilled, plain["response"], request_count)
        )

    def call(self, version: int, plain: JsonObject, spilled: bool) -> None:
        """Take in a call of one of the caller's tools."""
        call_id: str = plain["call_id"]
        self._calls += 1
        call = Block(
            version,
            self._at,
            plain["content"],
            spilled,
            plain.get("response"),
            self._answers.asked,
            "call" if plain.get("awaited", True) else "unawaited",
            self._calls,
            call_id,
            self._names.get(plain["name"], plain["name"]),
        )
        self._rounds.call(call, call_id)

    def result(self, version: int, plain: JsonObject, spilled: bool) -> None:
        """Take in the result of a call."""
        call_id: str = plain["call_id"]
        request_count = self._answers.asked
        call, mark = self._rounds.call_of(call_id)
        if mark == "late":
            self._starts.clear()  # What is made of it depends on what came before them.
        number, name = (call.call, call.name) if call else (None, None)
        content = plain["content"]
        if gone := self._taken_out.get((self._at, version)):
            content = without(content, gone)
        cancelled: bool = plain.get("cancelled", False)
        if cancelled and _is_blank(content):
            content = given_up(call_id)
        is_error: bool = plain.get("is_error", False)
        if content["kind"] == "native" and not is_error:
            is_error = says_it_failed(content["api"], content["value"])
        self._rounds.answer(
            Block(
                version,
                self._at,
                content,
                spilled,
                None,
                request_count,
                mark,
                number,
                call_id,
                name,
                is_error,
                cancelled=cancelled,
            ),
            call_id,
        )

    def rejected(self, version: int, plain: JsonObject, spilled: bool) -> None:
        """Take in that a result was not taken: it is noted."""
        if plain["reason"] == "cancelled":
            why = "the call had been given up when this result of it came"
            self._notes.append(Note("left out", "cancelled", version, why))
        else:
            why = "the call has its result already"
            self._notes.append(Note("left out", "duplicate", version, why))

    def signal(self, version: int, plain: JsonObject, spilled: bool) -> None:
        """Take in what came from outside."""
        self._note_start(version)
        for block in signal_blocks(version, self._at, plain, spilled, self._answers.asked):
            self._rounds.say(block)

    def promoted(self, version: int, plain: JsonObject, spilled: bool) -> None:
        """Take in that the main branch goes on from elsewhere."""
        self._starts.clear()
        self._rounds.forgo()

    def _note_start(self, version: int) -> None:
        if self._answers.is_settled and self._rounds.is_settled:
            self._starts[version] = Start(self._answers.asked, self._answers.closed)

    def _summarise(self, version: int, plain: JsonObject, spilled: bool) -> None:
        text = {"kind": "text", "text": SUMMARY + plain["summary"]}
        self._rounds.say(Block(version, self._at, text, spilled, None, self._answers.asked))
        why = f"its summary stands for what was said up to version {plain['until']}"
        self._notes.append(Note("left out", "compacted", version, why))

    def document(self, version: int, plain: JsonObject, spilled: bool) -> None:
        """Take in a document that travels on its own."""
        if "path" in plain:
            return  # The result before it holds the document.
        api = plain.get("api")
        self._has_made = self._has_made or api is not None
        self._rounds.find(
            Block(
                version,
                self._at,
                plain["document"],
                spilled,
                asked=self._answers.asked,
                mark="document",
                call_id=plain.get("call_id"),
                name=plain.get("tool_name"),
                made_by=api,
            )
        )

    def _unread(self, version: int, event: Erased | Unrecognised) -> None:
        match event:
            case Erased():
                self._leave_out("erased", version, "the event was erased")
            case Unrecognised():
                self._leave_out("unread", version, f"{event.type} is of a newer Onrecord")

    def _leave_out(self, rule: str, version: int, why: str) -> None:
        self._torn.add((self._at, version))
        self._notes.append(Note("left out", rule, version, why))


def _is_blank(result: JsonObject) -> bool:
    """Whether a result of the caller's own is blank; not one in an API's JSON, nor a document."""
    parts: list[JsonObject] | None = result.get("content")
    if parts is None:
        return False
    return not any(part["kind"] != "text" or part["text"].strip() for part in parts)


_REQUEST: Final = "request.sent"
_SUMMARY: Final = "history.compacted"
_LONG: Final = frozenset({_REQUEST, "response.completed"})
"""Long events that turns can do without: on the main branch they are not read."""

_FOLDED: Final[Mapping[str, Callable[[Fold, int, JsonObject, bool], None]]] = {
    "message.recorded": Fold.message,
    "reasoning.recorded": Fold.part,
    "tool_call.recorded": Fold.call,
    "tool_result.recorded": Fold.result,
    "tool_result.rejected": Fold.rejected,
    "signal.received": Fold.signal,
    "line.adopted": Fold.promoted,
    "server_tool_call.recorded": Fold.part,
    "server_tool_result.recorded": Fold.part,
    "compaction.recorded": Fold.part,
    "opaque.recorded": Fold.part,
    "document.extracted": Fold.document,
}
"""What holds blocks of a turn, or says what is awaited of one."""
