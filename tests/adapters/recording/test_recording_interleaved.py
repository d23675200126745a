"""Two holders of one conversation, in any order: what was sent stays, and no answer is lost."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from onrecord.adapters.conversation.rendering import replays
from onrecord.adapters.recording.state import OpenRequest
from onrecord.adapters.storage.memory.memory import Memory
from onrecord.domain.errors import NothingToSend
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.request import Request
from tests.adapters.recording.tabs import API, Tab, flat, told, words
from tests.projections.happenings import tool_use
from tests.search import examples

places = st.sampled_from([0, 1])
newest = st.integers(0, 2)


class Interleaved(RuleBasedStateMachine):
    """What two holders do to a conversation; each deed is one step."""

    def __init__(self) -> None:
        super().__init__()
        folder = tempfile.TemporaryDirectory()
        self.folder = folder
        store = Memory()
        self.tabs = (Tab(store, Path(folder.name)), Tab(store, Path(folder.name)))
        self.rendered: list[tuple[int, Request]] = []
        self.out: list[tuple[int, OpenRequest]] = []
        self.sent: list[tuple[str, JsonObject]] = []
        self.answers: set[str] = set()
        self.calls = 0
        self.steps = 0
        self.prompts = {"said 0"}
        self.tabs[0].chat.user("said 0")

    def teardown(self) -> None:
        replayed = [(once.is_whole, once.is_rendered) for once in replays(self.tabs[0].chat)]
        assert set(replayed) <= {(True, True)}
        self.folder.cleanup()

    def name(self, what: str) -> str:
        self.steps += 1
        return f"{what} {self.steps}"

    @rule(place=places)
    def user(self, place: int) -> None:
        said = self.name("said")
        self.tabs[place].chat.user(said)
        self.prompts.add(said)

    @rule(place=places)
    def annotate(self, place: int) -> None:
        self.tabs[place].chat.annotate({"a": "remark"})

    @rule(place=places, back=st.integers(0, 3))
    def render(self, place: int, back: int) -> None:
        tab = self.tabs[place]
        try:
            request = tab.render(at=max(1, tab.chat.head().version - back))
        except NothingToSend:
            return
        self.rendered.append((place, request))

    @precondition(lambda self: self.rendered)
    @rule(back=newest)
    def send(self, back: int) -> None:
        place, request = self.rendered[-1 - min(back, len(self.rendered) - 1)]
        begun = self.tabs[place].send(request)
        self.out.append((place, begun))
        if begun.line is None:
            assert flat(request)[: len(self.sent)] == self.sent
            self.sent = flat(request)

    @precondition(lambda self: self.out)
    @rule(back=newest, calls=st.booleans())
    def answer(self, back: int, calls: bool) -> None:
        place, begun = self.take(back)
        said = self.name("answer")
        self.calls += calls
        blocks = [tool_use(f"toolu_{self.calls}")] if calls else []
        self.tabs[place].answer(begun, said, *blocks)
        self.answers.add(said)

    @precondition(lambda self: self.out)
    @rule(back=newest)
    def abandon(self, back: int) -> None:
        place, begun = self.take(back)
        said = self.name("partial answer")
        self.tabs[place].abandon(begun, said)
        self.answers.add(said)

    @precondition(lambda self: self.out)
    @rule(back=newest)
    def fail(self, back: int) -> None:
        place, begun = self.take(back)
        self.tabs[place].fail(begun)

    @precondition(lambda self: self.calls)
    @rule(place=places, number=st.integers(1, 3))
    def tool_result(self, place: int, number: int) -> None:
        call = f"toolu_{min(number, self.calls)}"
        self.tabs[place].chat.tool_result(call, f"found {call}")

    def take(self, back: int) -> tuple[int, OpenRequest]:
        return self.out.pop(-1 - min(back, len(self.out) - 1))

    @invariant()
    def the_next_request_begins_with_what_was_sent(self) -> None:
        now = flat(self.tabs[0].chat.request(API))
        assert now[: len(self.sent)] == self.sent

    @invariant()
    def no_answer_is_lost(self) -> None:
        assert told(self.tabs[1]).keys() == self.answers

    @invariant()
    def all_prompts_and_whole_answers_of_the_main_line_are_in_the_next_request(self) -> None:
        now = words(self.tabs[1].chat.request(API))
        whole = {
            text
            for text, is_history in told(self.tabs[0]).items()
            if is_history and text.startswith("answer")
        }
        assert {said for said in now if said.startswith("said")} == self.prompts
        assert {said for said in now if said.startswith("answer")} == whole


TestInterleaved = Interleaved.TestCase
TestInterleaved.settings = examples(80, steps=30)
