"""`onrecord.check_request` and `onrecord check-request`: a request before it is sent."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest

import onrecord
from onrecord.adapters.check.check import DEVIATIONS
from onrecord.adapters.check.sdk_types import parameter_types
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.api import known_rules
from tests.adapters.cli.command import Command, in_process, on_a_terminal

ANTHROPIC, CHAT, RESPONSES, GEMINI, OLLAMA, BEDROCK = known_rules()
HELLO: JsonObject = {"role": "user", "content": "Hello"}
GOOD: dict[str, JsonObject] = {
    ANTHROPIC: {"messages": [HELLO]},
    CHAT: {"messages": [HELLO]},
    RESPONSES: {"input": [HELLO]},
    GEMINI: {"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]},
    OLLAMA: {"messages": [HELLO]},
    BEDROCK: {"messages": [{"role": "user", "content": [{"text": "Hello"}]}]},
}
TYPES_OF = {
    ANTHROPIC: "anthropic",
    CHAT: "openai",
    RESPONSES: "openai",
    GEMINI: "google-genai",
    OLLAMA: "ollama",
    BEDROCK: "botocore",
}
# What each call may have beside the messages.
MORE: dict[str, JsonObject] = {
    ANTHROPIC: {"model": "a-model", "stream": True, "max_tokens": 9},
    CHAT: {"model": "a-model", "stream": True, "max_tokens": 9},
    RESPONSES: {"model": "a-model", "stream": True, "max_output_tokens": 9},
    GEMINI: {
        "model": "a-model",
        "cachedContent": "cachedContents/1",
        "generationConfig": {"maxOutputTokens": 9, "thinkingConfig": {"thinkingBudget": 5}},
    },
    OLLAMA: {"model": "a-model", "stream": True, "options": {"num_ctx": 9}, "think": "high"},
    BEDROCK: {"modelId": "a.model", "inferenceConfig": {"maxTokens": 9, "temperature": 1}},
}


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return in_process(monkeypatch, capsys)


@pytest.fixture
def no_sdk(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As if no SDK were installed."""
    for module in (
        "anthropic.types.beta.message_create_params",
        "openai.types.chat.completion_create_params",
        "openai.types.responses.response_create_params",
        "google.genai",
        "botocore.session",
    ):
        monkeypatch.setitem(sys.modules, module, None)
    parameter_types.cache_clear()
    yield
    parameter_types.cache_clear()


def broken(api: str, request: JsonObject) -> list[tuple[str, str]]:
    """Where types are broken, and the provider's words."""
    verdict = onrecord.check_request(api, request)
    return [(each.where, each.said) for each in verdict.violations if each.rule == "types"]


class TestTypes:
    @pytest.mark.parametrize("api", GOOD)
    def test_a_prompt_is_accepted(self, api: str) -> None:
        verdict = onrecord.check_request(api, GOOD[api])
        assert verdict.is_accepted
        assert verdict.types
        assert verdict.types.split()[0] == TYPES_OF[api]

    @pytest.mark.parametrize("api", GOOD)
    def test_what_the_messages_do_not_need_may_be_there_or_not(self, api: str) -> None:
        assert onrecord.check_request(api, {**GOOD[api], **MORE[api]}).violations == ()
        stream = {"stream": False} if "stream" in MORE[api] else {}
        assert onrecord.check_request(api, {**GOOD[api], **MORE[api], **stream}).is_accepted

    def test_a_key_that_anthropic_does_not_know_is_refused_in_its_words(self) -> None:
        thought: JsonObject = {
            "type": "thinking",
            "thinking": "hm",
            "signature": "c2ln",
            "cache_control": {},
        }
        answer: JsonObject = {
            "role": "assistant",
            "content": [thought, {"type": "text", "text": "Yes."}],
        }
        assert broken(ANTHROPIC, {"messages": [HELLO, answer, HELLO]}) == [
            (
                "/messages/1/content/0/cache_control",
                "messages.1.content.0.thinking.cache_control: Extra inputs are not permitted",
            )
        ]

    def test_a_key_that_openai_does_not_know_is_refused_in_its_words(self) -> None:
        answer: JsonObject = {"role": "assistant", "content": "Yes.", "annotations": []}
        assert broken(CHAT, {"messages": [HELLO, answer]}) == [
            ("/messages/1/annotations", "Unknown parameter: 'messages[1].annotations'.")
        ]

    def test_a_whole_body_for_anthropic_says_how_much_may_be_answered(self) -> None:
        assert broken(ANTHROPIC, {"model": "claude-sonnet-5", "messages": [HELLO]}) == [
            ("/max_tokens", "max_tokens: Field required")
        ]

    def test_a_missing_key_is_refused(self) -> None:
        call = {"type": "function_call", "call_id": "a", "arguments": "{}"}
        output = {"type": "function_call_output", "call_id": "a", "output": "found"}
        assert broken(RESPONSES, {"input": [HELLO, call, output]}) == [
            ("/input/1/name", "Missing required parameter: 'input[1].name'.")
        ]

    def test_a_kind_that_no_type_is_for_is_named_beside_those_there_are(self) -> None:
        [(where, said)] = broken(RESPONSES, {"input": [HELLO, {"type": "telepathy"}]})
        assert where == "/input/1/type"
        assert said.startswith("Invalid value: 'telepathy'. Supported values are: 'message', ")
        [(where, said)] = broken(
            ANTHROPIC, {"messages": [{"role": "user", "content": [{"type": "telepathy"}]}]}
        )
        assert where == "/messages/0/content/0/type"
        assert "Input tag 'telepathy' does not match any of the expected tags" in said

    def test_a_value_is_told_against_the_type_that_it_comes_closest_to(self) -> None:
        answer: JsonObject = {"role": "assistant", "content": [{"type": "text", "text": 5}]}
        [(where, _)] = broken(CHAT, {"messages": [HELLO, answer]})
        assert where == "/messages/1/content/0/text"

    @pytest.mark.parametrize("value", ["5", True, [5]])
    def test_nothing_is_taken_for_something_else(self, value: Any) -> None:
        assert broken(CHAT, {**GOOD[CHAT], "max_tokens": value})

    def test_what_the_service_itself_sent_may_go_back(self) -> None:
        call = {"type": "function_call", "call_id": "a", "name": "b", "arguments": "{}"}
        output = {"type": "function_call_output", "call_id": "a", "output": "found"}
        request = {"input": [HELLO, {**call, "status": None}, output]}
        assert broken(RESPONSES, request) == []
        request = {"input": [HELLO, {**call, "status": "lost"}, output]}
        assert [where for where, _ in broken(RESPONSES, request)] == ["/input/1/status"]

    def test_what_groq_takes_may_be_sent(self) -> None:
        more: JsonObject = {"search_settings": {"include_domains": ["python.org"]}}
        request = {**GOOD[CHAT], **more, "reasoning_effort": "default", "include_reasoning": True}
        assert broken(CHAT, request) == []
        assert broken(CHAT, {**GOOD[CHAT], "reasoning_effort": "defualt"})

    def test_what_mistral_takes_may_be_sent(self) -> None:
        thought: JsonObject = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}
        function = {"name": "look_up", "arguments": "{}"}
        called: JsonObject = {
            "id": "abcdefghi",
            "type": "function",
            "index": 0,
            "function": function,
        }
        answer: JsonObject = {
            "role": "assistant",
            "content": [thought, {"type": "text", "text": "Yes."}],
            "prefix": False,
            "tool_calls": [called],
        }
        tool: JsonObject = {"function": {"name": "look_up", "description": "", "parameters": {}}}
        given = {"role": "tool", "tool_call_id": "abcdefghi", "content": "found"}
        request: JsonObject = {"messages": [HELLO, answer, given], "tools": [tool]}
        assert broken(CHAT, request) == []
        assert broken(CHAT, {**request, "tools": [{**tool, "type": "functoin"}]})

    @pytest.mark.parametrize("api", sorted({each.api for each in DEVIATIONS}))
    def test_every_deviation_says_where_it_is_known_from(self, api: str) -> None:
        places = [each.place for each in DEVIATIONS if each.api == api and each.source]
        assert len(set(places)) == len(places) > 0

    def test_without_the_sdk_the_rules_are_checked_and_the_types_are_not(
        self, no_sdk: None
    ) -> None:
        verdict = onrecord.check_request(CHAT, {"messages": [{"role": "tool", "colour": "blue"}]})
        assert verdict.types is None
        assert [each.rule for each in verdict.violations] == ["C2", "C5", "C4"]
        assert onrecord.check_request(GEMINI, GOOD[GEMINI]).types is None
        assert onrecord.check_request(BEDROCK, GOOD[BEDROCK]).types is None


class TestFunction:
    @pytest.mark.parametrize("api", GOOD)
    def test_what_a_conversation_renders_is_accepted(self, api: str) -> None:
        chat = onrecord.connect("memory://").conversation("support/4711")
        chat.instruct("Be kind.")
        chat.user("Hello")
        request = chat.request(api)
        assert onrecord.check_request(api, request).violations == ()
        assert onrecord.check_request(api, {**request, **MORE[api]}).violations == ()

    def test_a_request_is_read_as_it_would_be_sent(self) -> None:
        assert onrecord.check_request(CHAT, {"messages": (HELLO,)}).is_accepted

    def test_a_breach_says_where_and_what_to_do(self) -> None:
        verdict = onrecord.check_request(CHAT, {"messages": [HELLO, {"role": "tool"}]})
        assert not verdict.is_accepted
        [breach] = [each for each in verdict.violations if each.rule == "C2"]
        assert isinstance(breach, onrecord.Violation)
        assert breach.where == "/messages/1"
        assert breach.advice.startswith("leave the result out")

    def test_an_api_without_rules_is_an_error_that_names_those_there_are(self) -> None:
        with pytest.raises(onrecord.UnknownApi, match="anthropic-messages, openai-chat"):
            onrecord.check_request("telegraph", GOOD[CHAT])

    def test_what_is_no_json_is_an_error(self) -> None:
        with pytest.raises(onrecord.MalformedJson):
            onrecord.check_request(CHAT, {"messages": [object()]})


class TestCommand:
    def given(self, tmp_path: Path, request: object) -> str:
        file = tmp_path / "request.json"
        file.write_text(json.dumps(request))
        return str(file)

    def test_nothing_wrong_is_exit_code_0(self, command: Command, tmp_path: Path) -> None:
        done = command("check-request", self.given(tmp_path, GOOD[CHAT]), "--api", CHAT)
        assert (done.code, done.out, done.err) == (0, "No rule is known that it breaks.\n", "")

    def test_something_wrong_is_exit_code_1_and_a_line_each(
        self, command: Command, tmp_path: Path
    ) -> None:
        silent: JsonObject = {"role": "user", "content": []}
        file = self.given(tmp_path, {"messages": [HELLO, silent]})
        done = command("check-request", file, "--api", ANTHROPIC)
        assert (done.code, done.err) == (1, "onrecord: 1 violation\n")
        assert done.columns == [
            [
                "/messages/1/content",
                "R5",
                (
                    "messages.1: all messages must have non-empty content except for the optional "
                    "final assistant message"
                ),
                "leave the empty message out",
            ]
        ]

    def test_a_terminal_shows_each_below_the_other_in_the_order_of_the_request(
        self, tmp_path: Path
    ) -> None:
        silent: JsonObject = {"role": "user", "content": []}
        odd: JsonObject = {"role": "user", "content": "Hello", "colour": "blue"}
        messages = [HELLO, silent, *[HELLO] * 8, odd, silent]
        file = self.given(tmp_path, {"messages": messages})
        shown = on_a_terminal("check-request", file, "--api", ANTHROPIC, code=1)
        plain = re.sub(r"\x1b\[[0-9;]*m", "", shown)
        assert max(map(len, plain.splitlines())) <= 80
        assert re.findall(r"^/\S+", plain, re.MULTILINE) == [
            "/messages/1/content",
            "/messages/10/colour",
            "/messages/11/content",
        ]
        words = " ".join(plain.split())
        assert "messages must have non-empty content except for the optional final" in words
        assert "→ leave the empty message out" in words

    def test_lines_and_json_are_in_the_order_of_the_request_too(
        self, command: Command, tmp_path: Path
    ) -> None:
        silent: JsonObject = {"role": "user", "content": []}
        odd: JsonObject = {"role": "user", "content": "Hello", "colour": "blue"}
        file = self.given(tmp_path, {"messages": [silent, odd]})
        places = ["/messages/0/content", "/messages/1/colour"]
        done = command("check-request", file, "--api", ANTHROPIC)
        assert [line[0] for line in done.columns] == places
        listed = command("check-request", file, "--api", ANTHROPIC, "--json").document
        assert [it["where"] for it in listed["violations"]] == places

    @pytest.mark.parametrize("text", ["{", "[]", '{"a": 1, "a": 2}'])
    def test_what_cannot_be_read_is_exit_code_2(
        self, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
    ) -> None:
        # A long path is wrapped in what a terminal shows.
        monkeypatch.chdir(tmp_path)
        (tmp_path / "request.json").write_text(text)
        done = command("check-request", "request.json", "--api", CHAT)
        assert (done.code, done.out) == (2, "")
        assert "request.json" in done.err

    def test_a_file_that_is_not_there_is_exit_code_2(self, command: Command) -> None:
        assert command("check-request", "nowhere.json", "--api", CHAT).code == 2

    def test_what_is_no_regular_file_is_refused_with_the_way_out(self, command: Command) -> None:
        done = command("check-request", "/dev/null", "--api", CHAT)
        assert (done.code, done.out) == (2, "")
        assert "/dev/null is not a regular file; `-` reads" in done.err

    def test_json_has_all_of_it(self, command: Command, tmp_path: Path) -> None:
        file = self.given(tmp_path, {"messages": []})
        done = command("check-request", file, "--api", CHAT, "--json")
        assert done.code == 1
        assert done.document["api"] == CHAT
        assert done.document["accepted"] is False
        assert done.document["types"].startswith("openai ")
        [breach] = done.document["violations"]
        assert breach.keys() == {"where", "rule", "said", "advice"}

    def test_a_request_comes_by_standard_input(
        self, command: Command, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        given = TextIOWrapper(BytesIO(json.dumps(GOOD[RESPONSES]).encode()))
        monkeypatch.setattr(sys, "stdin", given)
        assert command("check-request", "-", "--api", RESPONSES).code == 0

    def test_that_types_were_not_checked_is_said(
        self, command: Command, tmp_path: Path, no_sdk: None
    ) -> None:
        done = command("check-request", self.given(tmp_path, GOOD[CHAT]), "--api", CHAT)
        assert done.code == 0
        assert "types were not checked" in done.err


def test_what_is_no_request_is_refused() -> None:
    api: Any = [CHAT]
    with pytest.raises(onrecord.InvalidContent, match=r"an API's name is a text .* not list"):
        onrecord.check_request(api, {})
    nothing: Any = None
    with pytest.raises(onrecord.InvalidContent, match="a request is a mapping, not NoneType"):
        onrecord.check_request(CHAT, nothing)


@pytest.mark.parametrize("levels", [300, 3000])
def test_a_request_nested_too_deeply_is_refused(levels: int) -> None:
    deep: JsonObject = {}
    for _ in range(levels):
        deep = {"a": deep}
    with pytest.raises(onrecord.MalformedJson, match="flatten it"):
        onrecord.check_request(CHAT, deep)
