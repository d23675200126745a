"""Every store tells the same history once it was regenerated, edited, summed up and redacted."""

from pathlib import Path

from onrecord.adapters.upkeep.verifying import verify_conversation
from onrecord.domain.events import ContentRedacted
from onrecord.domain.log import Backend
from onrecord.projections.history.windows import Window
from tests.adapters.recording.retold import Retold


def test_the_head_points_at_what_amends(backend: Backend, tmp_path: Path) -> None:
    told = Retold(tmp_path, backend=backend)
    told.exchange("u1", "a1")
    assert told.chat.head().amended == 0
    compacted = told.chat.compact("In short.").last
    assert told.chat.head().amended == compacted
    redacted = told.chat.redact(compacted).last
    assert told.chat.head().amended == redacted
    (found,) = backend.pointed(told.chat.conversation_id, "amended", redacted - 1, 1)
    assert found.version == compacted


def test_the_history_is_what_surgery_left_of_it(backend: Backend, tmp_path: Path) -> None:
    told = Retold(tmp_path, backend=backend)
    told.chat.instruct("Be brief.")
    told.exchange("u1", "a1")
    told.chat.redact(told.exchange("u2", "a2"))
    told.chat.compact("In short.", until=6)
    told.exchange("u3", "a3")
    told.chat.retract_answer()
    told.answered("a3b")
    edited = told.exchange("u4", "a4")
    told.chat.edit_message(edited, "u4b")
    assert told.said() == ["In short.", "a2", "u3", "a3b", "u4b"]
    assert "Be brief." in told.words(window=Window(exchanges=1, step=1))
    fork = told.chat.fork("support/4711/fork")
    fork.user("u5")
    fork.compact("In other words.", until=2)
    assert [str(m["content"][0]["text"])[-15:] for m in fork.request(told.api)["messages"]] == [
        "In other words."
    ]
    assert not verify_conversation(backend, told.chat.conversation_id).faults
    assert not verify_conversation(backend, fork.conversation_id).faults


def test_all_of_many_redactions_hold(backend: Backend, tmp_path: Path) -> None:
    told = Retold(tmp_path, backend=backend)
    secrets = [told.chat.user("secret").last for _ in range(3)]
    told.chat.user("kept")
    for version in secrets:
        told.chat.log.append(*[ContentRedacted(version=version)] * 200)
    for window in (None, Window(exchanges=1, step=1)):
        assert "secret" not in told.words(window=window)
    assert told.said() == ["kept"]
