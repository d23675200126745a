"""Every store tells the same history once it was regenerated, edited, summed up and redacted."""

from pathlib import Path

from onrecord.adapters.upkeep.verifying import verify_conversation
from onrecord.domain.events import ContentRedacted
from onrecord.domain.log import Backend
from onrecord.projections.history.window import Window
from tests.adapters.recording.retold import Retold


def test_the_head_points_at_what_amends(backend: Backend, tmp_path: Path) -> None:
    told = Retold(tmp_path, backend=backend)
    told.exchange("u1", "a1")
    assert told.talk.head().amended == 0
    compacted = told.talk.compact("In short.").last
    assert told.talk.head().amended == compacted
    redacted = told.talk.redact(compacted).last
    assert told.talk.head().amended == redacted
    found = backend.latest(told.talk.conversation_id, "amended", redacted - 1)
    assert found is not None
    assert found.version == compacted


def test_the_history_is_what_surgery_left_of_it(backend: Backend, tmp_path: Path) -> None:
    told = Retold(tmp_path, backend=backend)
    told.talk.instruct("Be brief.")
    told.exchange("u1", "a1")
    told.talk.redact(told.exchange("u2", "a2"))
    told.talk.compact("In short.", until=6)
    told.exchange("u3", "a3")
    told.talk.retract_answer()
    told.answered("a3b")
    edited = told.exchange("u4", "a4")
    told.talk.edit_message(edited, "u4b")
    assert told.said() == ["In short.", "a2", "u3", "a3b", "u4b"]
    assert "Be brief." in told.words(window=Window(exchanges=1, step=1))
    fork = told.talk.fork("support/4711/fork")
    fork.user("u5")
    fork.compact("In other words.", until=2)
    assert [str(m["content"][0]["text"])[-15:] for m in fork.request(told.api)["messages"]] == [
        "In other words."
    ]
    assert not verify_conversation(backend, told.talk.conversation_id).faults
    assert not verify_conversation(backend, fork.conversation_id).faults


def test_all_of_many_redactions_hold(backend: Backend, tmp_path: Path) -> None:
    told = Retold(tmp_path, backend=backend)
    secrets = [told.talk.user("secret").last for _ in range(3)]
    told.talk.user("kept")
    for version in secrets:
        told.talk.log.append(*[ContentRedacted(version=version)] * 200)
    for window in (None, Window(exchanges=1, step=1)):
        assert "secret" not in told.words(window=window)
    assert told.said() == ["kept"]
