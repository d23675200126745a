"""Every store tells the same main branch once a side branch is adopted."""

from pathlib import Path

from onrecord.adapters.conversation.conversation import Conversation, stream_of
from onrecord.adapters.recording.tenancy import Tenancy
from onrecord.adapters.upkeep.verifying import verify_conversation
from onrecord.domain.log import Backend
from tests.adapters.recorded_calls import Recorded
from tests.adapters.recording.own_history import Anthropic, Program


def test_an_edit_that_a_program_goes_on_with_is_history(backend: Backend, tmp_path: Path) -> None:
    program = Program(Recorded(tmp_path, backend), Anthropic())
    history = program.ask(program.user("u1"), "a1", system="Be brief.")
    program.ask([*history, *program.user("u2")], "a2", system="Be loud.")
    edited = program.ask([*history, *program.user("u2b")], "b2", system="Be brief.")
    program.ask([*edited, *program.user("u3")], "a3", system="Be brief.")
    assert program.main() == ["u1", "a1", "u2b", "b2", "u3", "a3"]
    chat = program.recorded.chat
    assert chat.request("anthropic-messages")["system"] == "Be brief."
    head = chat.head()
    (adopted,) = backend.pointed(chat.conversation_id, "adopted", head.version, 1)
    assert head.adopted == adopted.version
    assert not verify_conversation(backend, chat.conversation_id).faults


def test_two_processes_agree_on_what_is_history(backend: Backend, tmp_path: Path) -> None:
    program = Program(Recorded(tmp_path, backend), Anthropic())
    chat = program.recorded.chat
    history = program.ask(program.user("u1"), "a1")
    program.ask([*history, *program.user("u2")], "a2")
    edited = program.ask([*history, *program.user("u2b")], "b2")
    other = Program(Recorded(tmp_path, backend), Anthropic())
    other.ask([*edited, *other.user("u3")], "a3")
    again = Conversation(Tenancy(backend, stream_of(chat).tenant, program.recorded.spool), chat.key)
    assert dict(again.request("anthropic-messages")) == dict(chat.request("anthropic-messages"))
    program.ask([*edited, *program.user("u3"), *program.user("u4")], "a4")
    assert program.main()[:5] == ["u1", "a1", "u2b", "b2", "u3"]
