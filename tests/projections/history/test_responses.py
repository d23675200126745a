"""What is known of responses: each is read once, however often it is asked for."""

from __future__ import annotations

from collections import Counter
from uuid import UUID

from onrecord.domain.encoding import Erased, Unrecognised
from onrecord.domain.events import Event
from onrecord.domain.log import Told
from onrecord.projections.history.history import History
from onrecord.projections.history.turns import history
from tests.projections.happenings import Story, thinking
from tests.projections.recorded import recorded

READ: Counter[int] = Counter()


class Noted(Told):
    """A recorded event that notes when it is read."""

    def event(self) -> Event | Unrecognised | Erased:
        READ[self.version] += 1
        return Told.event(self)


def of_answers(story: Story) -> History:
    READ.clear()
    return history(map(Noted._make, recorded(story)))


def asked_and_answered(story: Story) -> UUID:
    story.user("hi")
    story.ask()
    return story.answer(thinking(), "so")


def test_an_end_of_a_response_is_read_twice_at_most() -> None:
    story = Story()
    responses = [asked_and_answered(story) for _ in range(4)]
    known = of_answers(story).responses

    asked = [known.of(str(response), 0).closing for _ in range(5) for response in responses]

    assert [closing.response for closing in asked if closing] == responses * 5
    assert max(READ.values()) <= 2


def test_of_the_last_response_alone_no_other_is_read() -> None:
    story = Story()
    *_, last = [asked_and_answered(story) for _ in range(4)]
    known = of_answers(story).responses

    assert known.of(str(last), 0).closing is not None
    assert list(READ) == [len(story.events)]
