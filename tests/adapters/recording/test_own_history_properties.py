"""Any program that keeps its own list: what it says is recorded once, and what it goes on with is history."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onrecord.adapters.conversation.rendering import replays
from tests.adapters.every_spelling import EVERY
from tests.adapters.recorded_calls import Recorded
from tests.adapters.recording.own_history import List, Program, Spelling
from tests.search import examples

Step = tuple[str, int]
numbers = st.integers(0, 5)
growing = st.tuples(st.sampled_from(["append", "call", "fail", "side", "restart"]), numbers)
branching = st.tuples(st.sampled_from(["edit", "regenerate", "sample"]), numbers)
cutting = st.tuples(st.sampled_from(["window", "summarise"]), numbers)


class Random:
    """A program that does what it is told, with words of its own each time.

    `turns` are the exchanges of its list: what it sent, what came of it, and what both say.
    """

    def __init__(self, spelling: Spelling, folder: Path) -> None:
        self.program = Program(Recorded(folder), spelling)
        self.turns: list[tuple[List, List, list[str]]] = []
        self.said: list[str] = []
        self.steps = 0
        self.append()

    def name(self, what: str) -> str:
        self.steps += 1
        return f"{what} {self.steps}"

    def prompt(self, what: str = "said") -> tuple[List, str]:
        text = self.name(what)
        self.said.append(text)
        return self.program.user(text), text

    def prompts(self) -> list[int]:
        """The places of exchanges that a prompt begins: a result does not go without its call."""
        return [place for place, (*_, words) in enumerate(self.turns) if " gave " not in words[0]]

    def before(self, count: int) -> List:
        return [message for sent, came, _ in self.turns[:count] for message in (*sent, *came)]

    def ask(self, prompt: List, words: list[str], calls: Sequence[str] = ()) -> None:
        """Send all that stands before and a prompt; keep what comes."""
        answer = self.name("answer")
        before = [*self.before(len(self.turns)), *prompt]
        came = self.program.ask(before, answer, calls, system="Be brief.")[len(before) :]
        self.turns.append((prompt, came, [*words, answer, *(f"call {call}" for call in calls)]))

    def append(self) -> None:
        prompt, text = self.prompt()
        self.ask(prompt, [text])

    def call(self) -> None:
        prompt, text = self.prompt()
        call = self.name("c").replace(" ", "_")
        self.ask(prompt, [text], [call])
        gave = self.name("gave")
        self.said.append(f"{call} gave {gave}")
        self.ask(self.program.results(**{call: gave}), [f"{call} gave {gave}"])

    def fail(self) -> None:
        prompt, text = self.prompt()
        self.program.fail(
            self.program.send([*self.before(len(self.turns)), *prompt], system="Be brief.")
        )
        self.ask(prompt, [text])

    def side(self) -> None:
        prompt, _ = self.prompt("aside")
        self.program.ask(prompt, self.name("beside"), system="You give titles.")

    def restart(self) -> None:
        self.program.recorded.recorder = self.program.recorded.new_recorder()

    def edit(self, number: int) -> None:
        """Say something else in the place of a prompt, and forget all that followed."""
        places = self.prompts()[1:]
        if places:
            del self.turns[places[number % len(places)] :]
            self.append()

    def regenerate(self) -> None:
        """Have the last answer made again, and keep that one."""
        prompt, _, words = self.turns.pop()
        self.ask(prompt, words[: len(words) - 1 - sum(w.startswith("call") for w in words)])

    def sample(self) -> None:
        """Have the last answer made again, and keep the first one."""
        kept = self.turns[-1]
        self.regenerate()
        self.turns[-1] = kept

    def window(self, number: int) -> None:
        """Leave out the first exchanges, but for the last one."""
        places = self.prompts()
        del self.turns[: places[number % len(places)]]
        self.append()

    def summarise(self) -> None:
        """Put a summary in the place of all but the last exchange."""
        summary = self.program.user(self.name("summary"))
        self.turns = [(summary, [], [""]), *self.turns[self.prompts()[-1] :]]
        self.append()

    def do(self, deed: Step) -> None:
        match deed:
            case ("edit", number):
                self.edit(number)
            case ("window", number):
                self.window(number)
            case (name, _):
                getattr(self, name)()


def played(spelling: Spelling, deeds: list[Step], folder: str) -> Random:
    """What is left when a program has done all that, and then went on twice."""
    random = Random(spelling, Path(folder))
    for deed in deeds:
        random.do(deed)
    random.append()
    random.append()
    return random


def are_whole(program: Program) -> bool:
    return all(outcome.is_whole for outcome in replays(program.recorded.chat))


each_spelling = pytest.mark.parametrize("spelling", EVERY, ids=[s.api for s in EVERY])


@each_spelling
@examples(60)
@given(deeds=st.lists(growing | branching, max_size=8))
def test_the_main_line_is_the_list_that_the_program_goes_on_with(
    spelling: Spelling, deeds: list[Step]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        random = played(spelling, deeds, folder)
        assert random.program.main() == [word for *_, words in random.turns for word in words]
        assert sorted(random.program.said()) == sorted(random.said)
        assert are_whole(random.program)


@each_spelling
@examples(60)
@given(deeds=st.lists(growing | branching | cutting, max_size=8))
def test_every_input_stands_once_whatever_is_cut(spelling: Spelling, deeds: list[Step]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        random = played(spelling, deeds, folder)
        said = [text for text in random.program.said() if not text.startswith("summary")]
        assert sorted(said) == sorted(random.said)
        last = [word for *_, words in random.turns[-2:] for word in words if word]
        assert random.program.main()[-len(last) :] == last
        assert are_whole(random.program)
