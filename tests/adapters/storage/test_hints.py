"""The pace of hints: the first at once, the rest together, the last one always."""

import threading
from queue import Empty, SimpleQueue

import pytest

from onrecord.adapters.storage.subscription import HintSender, NoHints
from tests.patience import PATIENCE


class Line:
    """Sends hints where a test lets it."""

    def __init__(self, *, heard: bool = True) -> None:
        self.began: SimpleQueue[int] = SimpleQueue()
        self.goes_on = threading.Semaphore(0)
        self.heard = heard
        self.sent = 0

    def send(self) -> bool:
        self.sent += 1
        self.began.put(self.sent)
        assert self.goes_on.acquire(timeout=PATIENCE)
        return self.heard

    def is_quiet(self) -> bool:
        try:
            self.began.get(timeout=0.2)
        except Empty:
            return True
        return False


def test_what_is_told_while_a_hint_is_under_way_goes_together_in_one_more() -> None:
    line = Line()
    telling = HintSender(line.send)
    telling.tell()
    line.began.get(timeout=PATIENCE)
    for _ in range(100):
        telling.tell()
    line.goes_on.release(100)
    assert line.began.get(timeout=PATIENCE) == 2
    assert line.is_quiet()
    telling.close()


def test_the_last_hint_is_sent_before_it_closes_though_nobody_listened() -> None:
    line = Line(heard=False)
    line.goes_on.release(100)
    telling = HintSender(line.send)
    telling.tell()
    line.began.get(timeout=PATIENCE)
    telling.tell()
    telling.close()
    assert line.sent == 2


def test_telling_does_nothing_once_it_is_closed() -> None:
    line = Line()
    telling = HintSender(line.send)
    telling.close()
    telling.tell()
    assert line.is_quiet()


def test_a_thread_that_could_not_begin_costs_one_hint_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    line = Line()
    line.goes_on.release(100)
    telling = HintSender(line.send)
    with monkeypatch.context() as crowded:
        crowded.setattr(threading.Thread, "start", refuse)
        telling.tell()
    telling.tell()
    assert line.began.get(timeout=PATIENCE) == 1
    telling.close()


def test_a_process_that_appends_nothing_has_no_thread_for_hints() -> None:
    before = threading.active_count()
    HintSender(Line().send).close()
    assert threading.active_count() == before


def test_without_hints_nothing_is_told_and_nothing_heard() -> None:
    heard: list[None] = []
    hints = NoHints()
    with hints.listen(lambda: heard.append(None)):
        hints.tell()
    hints.close()
    assert heard == []
