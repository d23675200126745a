"""Any surgery on any conversation: the log stays, what was sent stays, what is rendered is valid."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onrecord.adapters.check.check import check_request
from onrecord.adapters.conversation.conversation import Conversation, stream_of
from onrecord.adapters.streams.event_reading import read_through
from onrecord.adapters.streams.lineage import amendments
from onrecord.adapters.upkeep.verifying import verify_conversation
from onrecord.domain import jsontext
from onrecord.domain.errors import InvalidContent, NothingToSend
from onrecord.domain.log import RecordedEvent
from onrecord.projections.api import FOLDERS, known_api, known_rules
from onrecord.projections.apis.request import Options, render
from tests.adapters.every_spelling import EVERY
from tests.adapters.recording.own_history import Spelling
from tests.adapters.recording.retold import Retold
from tests.search import examples

Step = tuple[str, int]
numbers = st.integers(0, 40)
growing = st.tuples(st.sampled_from(["say", "answer", "call", "instruct", "break"]), numbers)
cutting = st.tuples(
    st.sampled_from(["regenerate", "edit", "compact", "sum", "redact", "fork"]), numbers
)


class Surgeon:
    """A program that does what it is told, and remembers what each version was."""

    def __init__(self, spelling: Spelling, folder: Path) -> None:
        self.retold = Retold(folder, spelling)
        self.steps = 0
        self.is_cut = False
        self.sent: list[list[object]] = []
        self.seen: dict[tuple[str, int, str], bytes] = {}
        self.logs: dict[str, list[RecordedEvent]] = {}
        self.chats: list[Conversation] = [self.chat]
        self.say(0)

    @property
    def chat(self) -> Conversation:
        return self.retold.chat

    def word(self, what: str) -> str:
        self.steps += 1
        return f"{what} {self.steps}"

    def do(self, deed: Step) -> None:
        name, number = deed
        try:
            getattr(self, name.replace("break", "break_off").replace("sum", "sum_up"))(number)
        except (InvalidContent, NothingToSend):
            return
        self.is_cut |= name not in ("say", "answer", "call", "break")
        self.look()

    def look(self) -> None:
        """Remember what is rendered now, and what the log holds."""
        for chat in self.chats:
            version = chat.head().version
            self.logs.setdefault(chat.key, []).extend(
                chat.events(after=len(self.logs.get(chat.key, [])))
            )
            for api in FOLDERS:
                self.seen.setdefault((chat.key, version, api), rendered(chat, api))

    # -- what programs do ----------------------------------------------------------------------

    def say(self, _: int) -> None:
        self.chat.user(self.word("said"))

    def instruct(self, _: int) -> None:
        self.chat.instruct(self.word("instructed"))

    def answer(self, _: int) -> None:
        self.send()
        self.retold.answered(self.word("answer"))

    def call(self, number: int) -> None:
        self.send()
        calls = [self.word("call").replace(" ", "_") for _ in range(1 + number % 2)]
        self.retold.answered(self.word("looking"), *calls)
        for call in calls[: 1 + number % 3]:
            self.chat.tool_result(call, self.word("found"))

    def break_off(self, _: int) -> None:
        self.send()
        self.retold.program.cut(self.retold.send(), self.word("half"))

    def send(self) -> None:
        """Hold what is about to be sent against what was sent before: it begins with that."""
        body = self.chat.request(self.retold.api).body
        messages = list(body[known_api(self.retold.api).messages])
        if self.sent and not self.is_cut:
            before = self.sent[-1]
            assert jsontext.write(messages[: len(before) - 1]) == jsontext.write(before[:-1])
        self.sent.append(messages)
        self.is_cut = False

    # -- surgery -------------------------------------------------------------------------------

    def regenerate(self, _: int) -> None:
        self.chat.retract_answer()

    def edit(self, number: int) -> None:
        said = [
            event.version for event in self.chat.events(after=1) if event.type == "message.recorded"
        ]
        self.chat.edit_message(said[number % len(said)], self.word("edited"))

    def compact(self, number: int) -> None:
        self.chat.compact(self.word("in short"), until=number % (self.chat.head().version + 1))

    def sum_up(self, _: int) -> None:
        self.chat.compact(self.word("in short"))

    def redact(self, number: int) -> None:
        self.chat.redact(number % (self.chat.head().version + 1))

    def fork(self, number: int) -> None:
        """Keep a fork of a version beside; it says something, and is edited, of its own."""
        version = number % (self.chat.head().version + 1)
        fork = self.chat.fork(self.word("fork"), at=version)
        fork.user(self.word("said"))
        fork.edit_message(fork.head().version, self.word("edited"))
        self.chats.append(fork)


def rendered(chat: Conversation, api: str, at: int | None = None) -> bytes:
    """What a request is at a version; what cannot be sent is nothing."""
    try:
        return jsontext.write(chat.request(api, at=at).body)
    except NothingToSend:
        return b""


def rendered_whole(chat: Conversation, api: str) -> bytes:
    """What a request is if all of the main branch is read, what a summary stands for too."""
    segments = stream_of(chat).lineage(chat.head().version)
    told = [recorded.told() for recorded in read_through(stream_of(chat).backend, segments)]
    given_ids = {event.event_id for event in told}
    amended = [
        event
        for event in amendments(stream_of(chat).backend, segments).told()
        if event.event_id not in given_ids
    ]
    try:
        return jsontext.write(render([*amended, *told], Options(api=api)).body)
    except NothingToSend:
        return b""


@pytest.mark.parametrize("spelling", EVERY, ids=lambda spelling: spelling.api)
@examples(30)
@given(deeds=st.lists(growing | growing | cutting, max_size=16))
def test_surgery_changes_what_comes_after_it_and_nothing_else(
    spelling: Spelling, deeds: list[Step]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        surgeon = Surgeon(spelling, Path(folder))
        for deed in deeds:
            surgeon.do(deed)
        for chat in surgeon.chats:
            recorded = chat.events(after=0)
            assert recorded[: len(surgeon.logs.get(chat.key, []))] == surgeon.logs.get(chat.key, [])
            assert not verify_conversation(stream_of(chat).backend, chat.conversation_id).faults
            assert rendered_whole(chat, spelling.api) == rendered(chat, spelling.api)
        by_key = {chat.key: chat for chat in surgeon.chats}
        for (key, version, api), body in surgeon.seen.items():
            assert rendered(by_key[key], api, version) == body
            if body and api in known_rules():
                assert check_request(api, jsontext.read_object(body)).violations == ()
