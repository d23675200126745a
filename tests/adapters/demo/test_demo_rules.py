"""What the demo server refuses: by our rules, and thinking that was changed."""

import httpx
from pydantic import JsonValue

from onrecord.adapters.demo.services.anthropic import Signer
from onrecord.adapters.demo.services.scenes import JsonObject
from onrecord.adapters.demo.services.server import DemoServer

SIGNER = Signer(b"account")
MARK: JsonObject = {"type": "ephemeral"}


def request(*messages: JsonObject, **more: JsonValue) -> JsonObject:
    return {"model": "claude-sonnet-5", "max_tokens": 64, "messages": [*messages], **more}


def user(*blocks: JsonObject | str) -> JsonObject:
    return {"role": "user", "content": [as_block(block) for block in blocks]}


def assistant(*blocks: JsonObject | str) -> JsonObject:
    return {"role": "assistant", "content": [as_block(block) for block in blocks]}


def as_block(block: JsonObject | str) -> JsonObject:
    return {"type": "text", "text": block} if isinstance(block, str) else block


def result(name: str = "toolu_1") -> JsonObject:
    return {"type": "tool_result", "tool_use_id": name, "content": "seen"}


def search(name: str = "srvtoolu_1") -> JsonObject:
    return {"type": "server_tool_use", "id": name, "name": "web_search", "input": {"query": "q"}}


def found(name: str = "srvtoolu_1") -> JsonObject:
    return {"type": "web_search_tool_result", "tool_use_id": name, "content": []}


def thought(text: str = "Let me think.") -> JsonObject:
    return {"type": "thinking", "thinking": text}


def marked(text: str) -> JsonObject:
    return {"type": "text", "text": text, "cache_control": MARK}


def refusal(body: JsonObject) -> str:
    """What the service answers to a request that it does not take."""
    allowed = {"x-api-key": "any", "anthropic-version": "2023-06-01"}
    with DemoServer([]) as server:
        answer = httpx.post(f"{server.url}/v1/messages", json=body, headers=allowed)
    assert answer.status_code == 400
    message: str = answer.json()["error"]["message"]
    return message


def complaint(body: JsonObject, signer: Signer = SIGNER) -> str | None:
    return next(signer.problems(body), None)


class TestRefused:
    """That the service goes by our rules; tests/projections/apis/anthropic/test_referee_anthropic*.py hold these."""

    def test_a_missing_field(self) -> None:
        assert refusal({"model": "m", "messages": [user("Hi")]}) == "max_tokens: Field required"

    def test_what_a_rule_forbids(self) -> None:
        assert refusal(request(user(result()))) == (
            "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1. "
            "Each `tool_result` block must have a corresponding `tool_use` block in the previous "
            "message."
        )

    def test_thinking_that_it_did_not_sign(self) -> None:
        foreign: JsonObject = {**thought(), "signature": "gAAAA"}
        assert refusal(request(user("Hi"), assistant(foreign, "Hello"), user("Bye"))) == (
            "messages.1.content.0: Invalid `signature` in `thinking` block"
        )


class TestThinking:
    """A signed answer to a first prompt, and what may be done to the history around it."""

    first = request(user("Hi"), system="Be kind.")
    blocks = SIGNER.signed([thought(), {"type": "redacted_thinking"}, as_block("Hello")], first)

    def next_request(
        self, *blocks: JsonObject | str, prompt: str = "Hi", system: str = "Be kind."
    ) -> JsonObject:
        return request(user(prompt), assistant(*blocks), user("Bye"), system=system)

    def test_it_may_come_back_as_it_was(self) -> None:
        assert complaint(self.next_request(*self.blocks)) is None

    def test_cache_marks_do_not_break_it(self) -> None:
        marked_prompt = user(marked("Hi"))
        told = request(
            marked_prompt, assistant(*self.blocks), user("Bye"), system=[marked("Be kind.")]
        )
        assert complaint(told) is None

    def test_all_of_it_may_be_left_out(self) -> None:
        assert complaint(self.next_request(self.blocks[2])) is None

    def test_changed_words_are_refused(self) -> None:
        changed: JsonObject = {**self.blocks[0], "thinking": "Something else."}
        assert str(complaint(self.next_request(changed, *self.blocks[1:]))).startswith(
            "messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant "
            "message cannot be modified."
        )

    def test_another_prefix_is_refused(self) -> None:
        expected = (
            "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a "
            "different conversation. Remove the block, or set "
            '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
        )
        assert complaint(self.next_request(*self.blocks, prompt="Hey")) == expected
        assert complaint(self.next_request(*self.blocks, system="Be brief.")) == expected
        with_tools: JsonObject = {**self.next_request(*self.blocks), "tools": [{"name": "look"}]}
        assert complaint(with_tools) == expected

    def test_leaving_out_an_earlier_one_is_refused(self) -> None:
        assert str(complaint(self.next_request(*self.blocks[1:]))).startswith(
            "messages.1.content.0: Invalid `data` in `redacted_thinking` block. "
            "The block is bound to a different conversation."
        )

    def test_another_account_s_signature_is_refused(self) -> None:
        assert complaint(self.next_request(*self.blocks), Signer(b"another")) is not None

    def test_what_is_no_signature_at_all_is_refused(self) -> None:
        foreign: JsonObject = {**thought(), "signature": "gAAAA"}
        assert complaint(self.next_request(foreign, "Hello")) == (
            "messages.1.content.0: Invalid `signature` in `thinking` block"
        )

    def test_thinking_after_a_pause_is_bound_to_the_paused_blocks_too(self) -> None:
        paused = assistant(search())
        resumed = SIGNER.signed([found(), thought(), as_block("Done")], request(user("Hi"), paused))
        merged = assistant(search(), *resumed)
        assert complaint(request(user("Hi"), merged, user("Bye"))) is None
        assert complaint(request(user("Hi"), paused, assistant(*resumed), user("Bye"))) is None
