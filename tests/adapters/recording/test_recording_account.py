"""What an account's model signed goes back under the same key only."""

from pathlib import Path
from typing import Any

import anthropic

from onrecord.adapters.conversation.conversation import Conversation
from onrecord.adapters.demo.services.scenes import Answer
from onrecord.adapters.recording.tenancy import Tenancy
from tests.adapters.recorded_calls import KEY, Calls, Recorded, calling
from tests.factories import TENANT

THOUGHT = Answer(
    content=(
        {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
        {"type": "text", "text": "Hello!"},
    )
)


def asked(calls: Calls, chat: Conversation, key: str) -> Any:
    """Hold the conversation anew, with a client that sends a key; return what it would send."""
    recorded = calls.recorded
    held = Conversation(Tenancy(recorded.store, TENANT, recorded.spool), chat.key)
    with anthropic.Anthropic(api_key=key, base_url=calls.server.url) as client:
        held.record(client)
        return held.request("anthropic-messages")


def kinds(request: Any) -> list[str]:
    content: list[dict[str, Any]] = request["messages"][1]["content"]
    return [block["type"] for block in content]


def test_thinking_goes_back_under_the_key_that_it_was_made_under(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path)
    with calling(recorded, [THOUGHT]) as calls:
        calls.ask()
        recorded.chat.user("And then?")
        assert kinds(asked(calls, recorded.chat, KEY)) == ["thinking", "text"]
        request = asked(calls, recorded.chat, "sk-ant-of-another-account")
        assert kinds(request) == ["text"]
        assert [note.rule for note in request.report] == ["R9"]


def test_nothing_is_left_out_where_several_keys_may_be_used(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path)
    chat = recorded.chat
    with calling(recorded, [THOUGHT]) as calls:
        calls.ask()
        chat.user("And then?")
        for key in ("sk-ant-one", "sk-ant-two"):
            with anthropic.Anthropic(api_key=key, base_url=calls.server.url) as client:
                chat.record(client)
        assert kinds(chat.request("anthropic-messages")) == ["thinking", "text"]


def test_each_api_has_an_account_of_its_own(tmp_path: Path) -> None:
    """A conversation that crosses to another provider goes out under another key there."""
    recorded = Recorded(tmp_path)
    recorded.recorder.expect("anthropic-messages", "sk-ant-one")
    recorded.recorder.expect("openai-chat", "sk-one")
    accounts = {
        api: recorded.recorder.account(api) for api in ("anthropic-messages", "openai-chat")
    }
    assert None not in accounts.values()
    assert len(set(accounts.values())) == len(accounts)
    assert recorded.recorder.account("openai-responses") is None
