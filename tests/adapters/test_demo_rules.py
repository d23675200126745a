"""What the demo server refuses: each rule by the smallest history that breaks it."""

from pydantic import JsonValue

from onrecord.adapters.demo.services.anthropic_rules import complaint
from onrecord.adapters.demo.services.scenes import JsonObject
from onrecord.adapters.demo.services.signatures import Signer

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


def call(name: str = "toolu_1") -> JsonObject:
    return {"type": "tool_use", "id": name, "name": "look", "input": {}}


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


def complaint_about(*messages: JsonObject) -> str | None:
    return complaint(request(*messages), SIGNER)


class TestAccepted:
    def test_a_plain_conversation(self) -> None:
        assert complaint_about(user("Hi"), assistant("Hello"), user("Bye")) is None

    def test_a_string_as_content(self) -> None:
        assert complaint_about({"role": "user", "content": "Hi"}) is None

    def test_parallel_calls_with_their_results_first(self) -> None:
        answers = user(result("toolu_2"), result("toolu_1"), "And?")
        assert complaint_about(user("Hi"), assistant(call(), call("toolu_2")), answers) is None

    def test_results_in_neighbouring_user_messages(self) -> None:
        calls = assistant(call(), call("toolu_2"))
        assert complaint_about(user("Hi"), calls, user(result()), user(result("toolu_2"))) is None

    def test_a_paused_turn_at_the_end(self) -> None:
        assert complaint_about(user("Hi"), assistant("Wait.", search())) is None

    def test_a_server_call_in_flight_while_only_results_follow(self) -> None:
        assert complaint_about(user("Hi"), assistant(search(), call()), user(result())) is None

    def test_code_in_flight_while_it_goes_on_calling_tools(self) -> None:
        by: JsonObject = {"type": "code_execution_20250825", "tool_id": "srvtoolu_1"}
        first = assistant(search(), {**call(), "caller": by})
        second = assistant({**call("toolu_2"), "caller": by})
        history = [user("Hi"), first, user(result()), second, user(result("toolu_2"))]
        assert complaint_about(*history) is None

    def test_a_server_result_in_a_later_assistant_message(self) -> None:
        history = [user("Hi"), assistant(search(), call()), user(result()), assistant(found())]
        assert complaint_about(*history, user("Thanks")) is None

    def test_blank_text_beside_other_text(self) -> None:
        assert complaint_about(user(" ", "Hi")) is None

    def test_four_cache_marks(self) -> None:
        assert complaint_about(user(*map(marked, "abcd"))) is None


class TestRefused:
    def test_a_missing_field(self) -> None:
        assert complaint({"model": "m", "messages": [user("Hi")]}, SIGNER) == (
            "max_tokens: Field required"
        )

    def test_no_message(self) -> None:
        assert complaint_about() == "messages: at least one message is required"

    def test_an_empty_message(self) -> None:
        assert complaint_about(user("Hi"), assistant(), user("Bye")) == (
            "messages.1: all messages must have non-empty content "
            "except for the optional final assistant message"
        )

    def test_a_call_without_result(self) -> None:
        expected = (
            "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: "
            "toolu_2. Each `tool_use` block must have a corresponding `tool_result` block in the "
            "next message."
        )
        calls = assistant(call(), call("toolu_2"))
        assert complaint_about(user("Hi"), calls, user(result())) == expected
        assert complaint_about(user("Hi"), calls, user(result(), "And?", result("toolu_2"))) == (
            expected
        )

    def test_a_result_without_call(self) -> None:
        assert complaint_about(user(result())) == (
            "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1. "
            "Each `tool_result` block must have a corresponding `tool_use` block in the previous "
            "message."
        )

    def test_a_server_result_without_call(self) -> None:
        assert complaint_about(user("Hi"), assistant(found(), "Well."), user("Bye")) == (
            "messages.1.content.0: unexpected `tool_use_id` found in `web_search_tool_result` "
            "blocks: srvtoolu_1. Each `web_search_tool_result` block must have a corresponding "
            "`server_tool_use` block before it."
        )

    def test_a_server_call_without_result_once_anything_else_follows(self) -> None:
        expected = (
            "messages.1.content.0: `web_search` tool use with id `srvtoolu_1` was found without a "
            "corresponding `web_search_tool_result` block"
        )
        assert complaint_about(user("Hi"), assistant(search()), user("Go on")) == expected
        in_flight = assistant(search(), call())
        assert complaint_about(user("Hi"), in_flight, user(result(), "And?")) == expected
        spoken_again = [in_flight, user(result()), assistant(call("toolu_2"))]
        assert complaint_about(user("Hi"), *spoken_again, user(result("toolu_2"))) == expected

    def test_a_prefilled_answer(self) -> None:
        assert complaint_about(user("Hi"), assistant("Sure, ")) == (
            "This model does not support assistant message prefill. "
            "The conversation must end with a user message."
        )

    def test_empty_text(self) -> None:
        assert complaint_about(user("Hi"), assistant("", "Hello"), user("Bye")) == (
            "messages: text content blocks must be non-empty"
        )

    def test_blank_text_alone(self) -> None:
        assert complaint_about(user("Hi"), assistant("\n\n"), user("Bye")) == (
            "messages: text content blocks must contain non-whitespace text"
        )

    def test_an_id_that_no_tool_call_may_have(self) -> None:
        assert complaint_about(user("Hi"), assistant(call("a:b")), user(result("a:b"))) == (
            "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
        )
        assert complaint_about(user("Hi"), assistant(search("call_1"), found("call_1"))) == (
            "messages.1.content.0.server_tool_use.id: "
            "String should match pattern '^srvtoolu_[a-zA-Z0-9_]+$'"
        )

    def test_a_call_id_twice(self) -> None:
        history = [user("Hi"), assistant(call()), user(result()), assistant(call()), user(result())]
        assert complaint_about(*history) == "messages.3.content.0: `tool_use` ids must be unique"

    def test_a_fifth_cache_mark(self) -> None:
        told = request(user(*map(marked, "abcd")), system=[marked("Be kind.")])
        assert complaint(told, SIGNER) == (
            "A maximum of 4 blocks with cache_control may be provided. Found 5."
        )

    def test_keys_that_are_not_the_service_s(self) -> None:
        assert complaint_about({**user("Hi"), "id": "1"}) == (
            "messages.0.id: Extra inputs are not permitted"
        )
        assert complaint_about(user({"type": "text", "text": "Hi", "note": "mine"})) == (
            "messages.0.content.0.text.note: Extra inputs are not permitted"
        )

    def test_a_tool_loop_that_lost_its_thinking(self) -> None:
        told = request(user("Hi"), assistant(call()), user(result()), thinking={"type": "enabled"})
        assert str(complaint(told, SIGNER)).startswith(
            "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, "
            "but found `tool_use`."
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
        assert complaint(self.next_request(*self.blocks), SIGNER) is None

    def test_cache_marks_do_not_break_it(self) -> None:
        marked_prompt = user(marked("Hi"))
        told = request(
            marked_prompt, assistant(*self.blocks), user("Bye"), system=[marked("Be kind.")]
        )
        assert complaint(told, SIGNER) is None

    def test_all_of_it_may_be_left_out(self) -> None:
        assert complaint(self.next_request(self.blocks[2]), SIGNER) is None

    def test_changed_words_are_refused(self) -> None:
        changed: JsonObject = {**self.blocks[0], "thinking": "Something else."}
        assert str(complaint(self.next_request(changed, *self.blocks[1:]), SIGNER)).startswith(
            "messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant "
            "message cannot be modified."
        )

    def test_another_prefix_is_refused(self) -> None:
        expected = (
            "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a "
            "different conversation. Remove the block, or set "
            '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
        )
        assert complaint(self.next_request(*self.blocks, prompt="Hey"), SIGNER) == expected
        assert complaint(self.next_request(*self.blocks, system="Be brief."), SIGNER) == expected
        with_tools: JsonObject = {**self.next_request(*self.blocks), "tools": [{"name": "look"}]}
        assert complaint(with_tools, SIGNER) == expected

    def test_leaving_out_an_earlier_one_is_refused(self) -> None:
        assert str(complaint(self.next_request(*self.blocks[1:]), SIGNER)).startswith(
            "messages.1.content.0: Invalid `data` in `redacted_thinking` block. "
            "The block is bound to a different conversation."
        )

    def test_another_account_s_signature_is_refused(self) -> None:
        assert complaint(self.next_request(*self.blocks), Signer(b"another")) is not None

    def test_what_is_no_signature_at_all_is_refused(self) -> None:
        foreign: JsonObject = {**thought(), "signature": "gAAAA"}
        assert complaint(self.next_request(foreign, "Hello"), SIGNER) == (
            "messages.1.content.0: Invalid `signature` in `thinking` block"
        )

    def test_thinking_after_a_pause_is_bound_to_the_paused_blocks_too(self) -> None:
        paused = assistant(search())
        resumed = SIGNER.signed([found(), thought(), as_block("Done")], request(user("Hi"), paused))
        merged = assistant(search(), *resumed)
        assert complaint_about(user("Hi"), merged, user("Bye")) is None
        assert complaint_about(user("Hi"), paused, assistant(*resumed), user("Bye")) is None
