"""What a framework stored and a recorded client said in one conversation stands in its history once."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import onrecord
from onrecord.adapters.conversation import item_turns
from onrecord.adapters.frameworks.session import NewItem
from onrecord.adapters.frameworks.sessions import Sessions
from onrecord.adapters.store import Store
from onrecord.domain.events import Event
from onrecord.projections.matching.recorded_links import RecordedBranch
from tests.adapters.frameworks.recorded_runs import FIRST, FOUND, RUNS, SAID, SECOND, AgentsRun, Run
from tests.adapters.frameworks.written_sessions import APIS, complaints, texts
from tests.adapters.openai_server import OpenAIServer, Says


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with onrecord.connect(f"sqlite:///{tmp_path / 'log.db'}", actor="eve") as store:
        yield store


@pytest.fixture(params=RUNS)
def run(request: pytest.FixtureRequest, store: Store) -> Iterator[Run]:
    with RUNS[request.param](store) as opened:
        yield opened


def whole_run(run: Run, *, at_the_end: bool = False) -> None:
    """Ask twice, with a call of a tool amid, and store each step as it comes, or each run at its end."""
    for said, answers in ((FIRST, 2), (SECOND, 1)):
        kept: list[NewItem] = []

        def store_items(items: list[NewItem], kept: list[NewItem] = kept) -> None:
            kept += items
            if not at_the_end or run.framework in ("pydantic-ai", "langgraph"):
                run.session.record(kept)
                kept.clear()

        store_items(run.prompt(said))
        for number in range(answers):
            store_items(run.ask())
            if number + 1 < answers:
                store_items(run.result(FOUND))
        if kept:
            run.session.record(kept)


def linked(conversation: onrecord.Conversation) -> set[int | None]:
    notes = conversation.request("openai-chat").report
    return {note.version for note in notes if (note.deed, note.rule) == ("noted", "linked")}


@pytest.mark.parametrize("at_the_end", [False, True])
def test_each_answer_call_result_and_prompt_stands_once(run: Run, at_the_end: bool) -> None:
    whole_run(run, at_the_end=at_the_end)
    assert texts(run.conversation) == SAID
    for api in APIS:
        request = run.conversation.request(api)
        assert complaints(api, request) == ()
        spelled = str(request.body)
        for said in (*(said for _, said in SAID if said), FOUND):
            assert spelled.count(said) == 1, (api, said)
    assert linked(run.conversation) == {item.version for item in run.session.load().items}


def test_what_was_stored_before_the_client_was_recorded_stands_once(run: Run) -> None:
    run.session.record(run.prompt(FIRST))
    run.session.record(run.ask(recorded=False))
    run.session.record(run.result(FOUND))
    run.session.record(run.ask(recorded=False))
    run.session.record(run.prompt(SECOND))
    assert texts(run.conversation) == SAID[:-1]
    answer = run.ask()
    assert texts(run.conversation) == SAID
    run.session.record(answer)
    assert texts(run.conversation) == SAID
    assert linked(run.conversation) == {item.version for item in run.session.load().items}


def test_amid_a_run_the_prompt_stands_once(run: Run) -> None:
    run.session.record(run.prompt(FIRST))
    assert texts(run.conversation) == SAID[:1]
    answer = run.ask()
    assert texts(run.conversation) == SAID[:2]
    run.session.record(answer)
    result = run.result(FOUND)
    run.session.record(result)
    assert texts(run.conversation) == SAID[:3]
    (asked, called, gave) = run.conversation.request("anthropic-messages").body["messages"]
    assert (asked["role"], called["role"]) == ("user", "assistant")
    assert [block["type"] for block in gave["content"]] == ["tool_result"]
    assert FOUND in str(gave)


def test_an_earlier_version_is_told_as_it_stood_then(run: Run) -> None:
    run.session.record(run.prompt(FIRST))
    before = run.conversation.head().version
    run.session.record(run.ask())
    assert [turn.text for turn in run.conversation.history(at=before)] == [FIRST]
    assert texts(run.conversation) == SAID[:2]


def test_the_same_words_under_another_id_are_another_answer(run: Run) -> None:
    run.session.record(run.prompt(FIRST))
    run.session.record(run.ask())
    run.session.record(run.result(FOUND))
    (answer,) = run.ask()
    spelled = re.sub(r'"(msg|chatcmpl)[-_a-z]*\d+"', '"another"', json.dumps(answer.item))
    run.session.record([NewItem(json.loads(spelled), answer.item_id)])
    assert texts(run.conversation) == [
        *SAID[:3],
        ("assistant", "In depot North.\nIn depot North."),
    ]
    *others, _ = (item.version for item in run.session.load().items)
    assert linked(run.conversation) == set(others)


def test_a_client_that_is_recorded_elsewhere_changes_nothing(run: Run, store: Store) -> None:
    with type(run)(store, store.conversation("elsewhere")) as other:
        whole_run(other)
    assert texts(run.conversation) == texts(store.conversation("elsewhere")) == SAID
    assert linked(run.conversation) == set()


def test_what_is_on_a_side_branch_stands_as_the_framework_stored_it(run: Run) -> None:
    run.conversation.user("A prompt of our own.")
    run.conversation.assistant("An answer of our own.")
    run.session.record(run.prompt(FIRST))
    run.session.record(run.ask())
    assert texts(run.conversation)[2:] == SAID[:2]
    assert linked(run.conversation) == set()


def test_what_the_framework_took_away_stands_as_it_was_recorded(run: Run) -> None:
    whole_run(run)
    run.session.clear()
    assert texts(run.conversation) == SAID
    assert linked(run.conversation) == set()


class EchoingRun(AgentsRun):
    def server(self) -> OpenAIServer:
        return OpenAIServer(lambda body: Says(f"To {body['input'][-1]['content']}"))


def test_a_session_that_went_another_way_is_told_as_its_requests_went(store: Store) -> None:
    with EchoingRun(store) as run:
        for said in ("one", "left", "two", "three"):
            run.session.record(run.prompt(said))
            run.session.record(run.ask())
            if said == "left":
                run.session.pop()
                run.session.pop()
                assert texts(run.conversation)[-1] == ("assistant", "To left")
                run.sent = run.sent[:2]
        exchanges = (
            (("user", each), ("assistant", f"To {each}")) for each in ("one", "two", "three")
        )
        assert texts(run.conversation) == [turn for exchange in exchanges for turn in exchange]


def test_what_is_said_beside_a_recorded_run_stays(run: Run) -> None:
    whole_run(run)
    run.conversation.user(SECOND)
    assert texts(run.conversation) == [*SAID, ("user", SECOND)]
    run.session.record(run.prompt(SECOND))
    assert texts(run.conversation) == [*SAID, ("user", f"{SECOND}\n{SECOND}")]


def test_a_fork_and_a_window_have_each_answer_once(run: Run) -> None:
    whole_run(run)
    fork = run.conversation.fork("elsewhere")
    fork.user("And NW-3?")
    assert texts(fork) == [*SAID, ("user", "And NW-3?")]
    request = fork.request("openai-chat", window=onrecord.Window(exchanges=1, step=1))
    contents = [message["content"] for message in request.body["messages"]]
    assert contents == [SECOND, "In depot South.", "And NW-3?"]


def test_what_was_recorded_is_read_once_for_a_session_and_its_forks(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []

    def branch(events: Sequence[tuple[int, Event]]) -> RecordedBranch:
        read.append(len(events))
        return RecordedBranch(events)

    with AgentsRun(store) as run:
        whole_run(run)
        sessions = Sessions(store, run.framework)
        fork = run.conversation.fork(sessions.key("two"))
        sessions.session("two").record(run.prompt("And NW-3?"))
        monkeypatch.setattr(item_turns, "RecordedBranch", branch)
        assert texts(fork) == [*SAID, ("user", "And NW-3?")]
    assert len(read) == 1
    assert read[0] > len(SAID)


def test_an_answer_goes_back_to_its_api_as_it_came_off_the_wire(run: Run) -> None:
    whole_run(run)
    (sent,) = [each.body for each in run.conversation.log.read() if each.type == "request.sent"][
        -1:
    ]
    api = json.loads(sent or b"{}")["api"]
    body = run.conversation.request(api).body
    messages = body["input"] if api == "openai-responses" else body["messages"]
    assert {**messages[-1], "refusal": None} == {**run.sent[-1], "refusal": None}


def test_a_recorded_answer_that_is_redacted_is_not_told_by_its_item(run: Run) -> None:
    whole_run(run)
    version = next(
        each.version for each in run.conversation.log.read() if SAID[-1][1] in str(each.body)
    )
    run.conversation.redact(version)
    assert texts(run.conversation) == SAID[:-1]
    assert SAID[-1][1] not in str(run.conversation.request("gemini").body)


def test_a_summary_stands_for_items_too_that_were_stored_behind_its_end(run: Run) -> None:
    whole_run(run)
    ends = [e.version for e in run.conversation.log.read() if e.type == "response.completed"]
    run.conversation.compact("They asked for both.", until=ends[-1])
    run.conversation.user("And NW-3?")
    summary, prompt = run.conversation.request("openai-chat").body["messages"]
    assert summary["content"].endswith("They asked for both.")
    assert prompt["content"] == "And NW-3?"


def test_only_what_is_new_is_told_once(run: Run) -> None:
    run.session.record(run.prompt(FIRST))
    run.session.record(run.ask())
    run.session.record(run.result(FOUND))
    run.session.record(run.ask())
    since = run.conversation.head().version
    run.session.record(run.prompt(SECOND))
    run.session.record(run.ask())
    new = run.conversation.history(since=since)
    assert [(turn.role, turn.text) for turn in new] == SAID[-2:]
