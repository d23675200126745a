"""What docs/conversations.md shows is run, in its order, as one program."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

import onrecord
from onrecord.adapters.demo.services.scenes import PlainAnswer
from onrecord.adapters.demo.services.server import DemoServer
from tests.shown_program import run_program
from tests.test_docs import ROOT

PAGE = ROOT / "docs" / "conversations.md"


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A model that numbers its answers."""
    numbers = count(1)
    with DemoServer(
        (), openai=lambda _api, _body: PlainAnswer(f"Answer {next(numbers)}.")
    ) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.openai_url)
        monkeypatch.setenv("OPENAI_API_KEY", "not a key")
        yield


@pytest.mark.usefixtures("model")
def test_the_page_does_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    program = run_program(PAGE)
    program["client"].close()
    program["store"].close()


def test_every_verb_of_a_conversation_stands_on_a_page() -> None:
    """But for those that only its own parts use."""
    within = {"append", "append_drafted", "backend", "blob", "conversation_id", "draft", "lineage"}
    within |= {"lineages", "read_through", "render"}
    verbs = {name for name in dir(onrecord.Conversation) if not name.startswith("_")} - within
    pages = "".join(page.read_text() for page in (ROOT / "docs").glob("*.md"))
    assert {verb for verb in verbs if f"chat.{verb}" not in pages} == set()
