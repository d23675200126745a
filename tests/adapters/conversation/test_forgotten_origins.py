"""What the replay says where an origin was forgotten, or something is damaged."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest

import onrecord
from onrecord.adapters.conversation.rendering import replays
from onrecord.domain.events import RequestSent
from onrecord.domain.log import RecordedEvent
from onrecord.domain.request_template import LiteralSpan, Recipe, Template
from onrecord.projections.apis.request import Options, recipe_of
from onrecord.projections.matching.template import Outcome
from tests.adapters.recorded_calls import Counting, Recorded
from tests.adapters.recording.own_history import Anthropic, Program

LONG = "what we spoke about " * 40


def forked(folder: Path) -> tuple[Recorded, Recorded]:
    """A conversation, and a fork of it in which two requests repeat what was said before."""
    origin = Recorded(folder)
    history = Program(origin, Anthropic()).ask(Anthropic().user(LONG), LONG)
    fork = Recorded(folder, origin.store)
    fork.chat = origin.chat.fork("fork")
    fork.recorder = fork.new_recorder()
    program = Program(fork, Anthropic())
    history = program.ask([*history, *program.user("And now?")], "Now this.")
    program.ask([*history, *program.user("And then?")], "Then that.")
    return origin, fork


def remarks(outcomes: list[Outcome]) -> list[str | None]:
    return [outcome.remark for outcome in outcomes]


def test_a_forgotten_origin_is_named_as_the_cause(tmp_path: Path) -> None:
    origin, fork = forked(tmp_path)
    assert {outcome.is_whole for outcome in replays(fork.chat)} == {True}
    origin.store.forget(origin.chat.conversation_id)
    outcomes = list(replays(fork.chat))
    assert [outcome.is_whole for outcome in outcomes] == [False, False]
    for remark in remarks(outcomes):
        assert remark is not None
        assert remark.startswith("the conversation that this one was forked from was forgotten")


def test_damage_is_not_put_down_to_a_forgotten_origin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the fork's last request shares with nothing that was forgotten is damage, if it lacks."""
    origin, fork = forked(tmp_path)
    program = Program(fork, Anthropic())
    program.ask(program.user("Something else: " + "x" * 500), "Yes.", after=2)
    origin.store.forget(origin.chat.conversation_id)
    store = fork.store
    assert isinstance(store, Counting)
    read = store.read

    def damaged(*place: object, **part: object) -> list[RecordedEvent]:
        found = list(read(*place, **part))  # type: ignore[arg-type]
        return [
            event._replace(body=event.body.replace(b"xxxx", b"yyyy"))
            if event.body is not None
            else event
            for event in found
        ]

    assert remarks(list(replays(fork.chat)))[-1] is None
    monkeypatch.setattr(store, "read", damaged)
    last_remark = remarks(list(replays(fork.chat)))[-1]
    assert last_remark == "a request's template joins to other bytes than were sent"


def sent(digest: str, recipe: Recipe | None) -> RequestSent:
    template = Template(spans=(LiteralSpan(text="{}"),), sha256=digest, size=2)
    endpoint = "/v1/messages"
    return RequestSent(
        api="anthropic-messages", endpoint=endpoint, template=template, recipe=recipe
    )


def test_a_damaged_request_does_not_end_the_replay_of_the_others() -> None:
    with onrecord.connect("memory://") as store:
        chat = store.conversation("support/4711")
        chat.user("Hello")
        recipe = recipe_of(Options(api="anthropic-messages", model="m"), 2)
        chat.log.append(sent("0" * 64, recipe), sent(sha256(b"{}").hexdigest(), None))
        damaged, whole = replays(chat)
        assert damaged.remark == "a request's template joins to other bytes than were sent"
        assert (damaged.is_whole, damaged.is_rendered, whole.is_whole) == (False, None, True)
