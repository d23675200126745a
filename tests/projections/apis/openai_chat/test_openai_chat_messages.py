"""What is said in a Chat Completions request: messages, their members, roles and content."""

from __future__ import annotations

import pytest

from onrecord.domain.content import Native, Text
from onrecord.domain.errors import NothingToSend
from onrecord.domain.events import InstructionsSet, MessageRecorded, ToolsDeclared
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.tools import ToolDefinition
from onrecord.projections.apis.openai_chat.read import NAME
from onrecord.projections.apis.request import Options
from tests.projections.apis.openai_chat import chat_happenings as chat
from tests.projections.apis.openai_chat.chat_happenings import DEEPSEEK, GPT
from tests.projections.happenings import Story, rules
from tests.projections.refused import refused

SCHEMA: JsonObject = {"type": "object", "properties": {"q": {"type": "string"}}}
HELLO: JsonObject = {"role": "assistant", "content": "hello"}
THOUGHT = "first, the user wants"


def answered(message: JsonObject, model: str | None = GPT) -> Story:
    story = Story()
    story.user("hi")
    chat.asks(story, model or GPT)
    chat.answers(story, message, model=model)
    story.user("thanks")
    return story


def test_what_was_said_goes_as_it_was_said() -> None:
    """A string stays a string, a list a list, and a message with more members whole."""
    story = Story()
    story.user("hi")
    story.user(chat.native({"type": "text", "text": "look"}))
    story.user(chat.native({"role": "user", "content": "I am Ann", "name": "ann"}))
    chat.speaks(story, {"role": "assistant", "content": "hello", "name": "bob"})
    request = chat.chat(story)
    assert request["messages"] == [
        {"role": "user", "content": "hi"},
        {"role": "user", "content": [{"type": "text", "text": "look"}]},
        {"role": "user", "content": "I am Ann", "name": "ann"},
        {"role": "assistant", "content": "hello", "name": "bob"},
    ]
    assert len(request.report) == 0


def test_texts_of_one_message_go_as_paragraphs() -> None:
    """A string is what every server takes; lists some refuse."""
    story = Story()
    story.user("hi", "", "there")
    request = chat.chat(story)
    assert request["messages"] == [{"role": "user", "content": "hi\n\nthere"}]
    assert rules(request) == {"C4"}


def test_nothing_to_say_is_an_error() -> None:
    story = Story()
    story.instruct("Be brief.")
    story.user(" ")
    with pytest.raises(NothingToSend):
        chat.chat(story)


@pytest.mark.parametrize("content", [None, []])
def test_a_message_that_says_nothing_is_left_out(content: object) -> None:
    """Invalid value for 'content': expected a string, got null."""
    request = chat.chat(answered(chat.says(content, reasoning_content=THOUGHT)))
    assert [message["role"] for message in request["messages"]] == ["user", "user"]
    assert [note.rule for note in request.report] == ["C4", "C4"]
    assert refused(NAME, request) == ()


def test_an_empty_text_goes_to_openai_and_to_no_other() -> None:
    """OpenAI's service took it in recorded requests; Mistral wants content or calls."""
    story = answered(chat.says(""))
    assert chat.messages(story)[1] == chat.says("")
    elsewhere = chat.chat(story, chat.asked_of("mistral-small"))
    assert [message["role"] for message in elsewhere["messages"]] == ["user", "user"]
    assert rules(elsewhere) == {"C4"}


def test_a_refusal_goes_back_as_a_refusal() -> None:
    refusal = chat.says(None, refusal="I cannot help with that.")
    assert chat.messages(answered(refusal))[1] == refusal


def test_members_that_say_nothing_are_left_out_in_one_note() -> None:
    """`annotations` stand in nearly every answer of OpenAI's, and in no request's type."""
    story = answered(chat.says("hello", annotations=[]))
    chat.answers(story, chat.says("welcome", annotations=[], audio={"id": "", "data": ""}))
    request = chat.chat(story)
    assert request["messages"][1] == chat.says("hello")
    assert request["messages"][3] == chat.says("welcome")
    assert [str(note) for note in request.report] == [
        "left out, empty members of answers, such as annotations: no request has them [C7]"
    ]


def test_members_of_answers_only_are_left_out_by_name() -> None:
    cited = [{"type": "url_citation", "url_citation": {"url": "https://example.com"}}]
    parsed = chat.function("call_1")
    parsed["function"]["parsed_arguments"] = {"q": 1}
    request = chat.chat(answered(chat.says("so", parsed, annotations=cited, parsed={"a": 1})))
    assert request["messages"][1] == chat.says("so", chat.function("call_1"))
    assert sorted(note.why.partition(":")[0] for note in request.report.of("C7")) == [
        *("annotations", "parsed", "parsed_arguments"),
    ]


@pytest.mark.parametrize(
    "thought",
    [
        {"reasoning_content": THOUGHT},
        {"reasoning": THOUGHT, "reasoning_details": [{"type": "reasoning.text", "data": "x"}]},
        {"reasoning_content": ""},
    ],
)
def test_reasoning_goes_back_to_the_family_that_made_it(thought: JsonObject) -> None:
    """The `reasoning_content` in the thinking mode must be passed back to the API."""
    message = {**chat.says("hello", chat.function("call_1")), **thought}
    story = answered(message, DEEPSEEK)
    assert chat.messages(story)[1] == message
    assert chat.messages(story, chat.asked_of("deepseek/deepseek-chat"))[1] == message
    for other in (GPT, "glm-4.6"):
        request = chat.chat(story, chat.asked_of(other))
        told = request["messages"][1]
        assert told.keys() - {"refusal"} == {"role", "content", "tool_calls"}
        said = any(thought.values())
        assert rules(request) == {"C1", "C8" if said else "C7"}


def test_reasoning_goes_back_to_the_router_that_told_it() -> None:
    """Asked for one name, it answers in the name of another."""
    story = Story()
    story.user("hi")
    chat.asks(story, "openrouter/auto")
    message = chat.says("hello", reasoning_details=[{"type": "reasoning.encrypted", "data": "x"}])
    chat.answers(story, message, model="anthropic/claude-opus-5")
    for model in ("openrouter/auto", "anthropic/claude-sonnet-5"):
        assert chat.messages(story, chat.asked_of(model))[1] == message
    assert chat.messages(story, chat.asked_of("x-ai/grok-5"))[1] == HELLO
    assert chat.messages(story)[1] == message


@pytest.mark.parametrize("answered_by", ["openai/gpt-5", "openai/gpt-5-2025-08-07", "gpt-5"])
def test_reasoning_of_a_model_of_openai_goes_back_to_the_router_that_told_it(
    answered_by: str,
) -> None:
    """OpenRouter wants its `reasoning_details` back; OpenAI's own service takes none."""
    story = Story()
    story.user("hi")
    chat.asks(story, "openai/gpt-5")
    detail = {"type": "reasoning.encrypted", "data": "x", "format": "openai-responses-v1"}
    message = chat.says("hello", reasoning_details=[detail])
    chat.answers(story, message, model=answered_by)
    for model in ("openai/gpt-5", "openai/gpt-5-mini"):
        request = chat.chat(story, chat.asked_of(model))
        assert request["messages"][1] == message
        assert refused(NAME, request) == ()
    for model in ("gpt-5", "openai/o3", "x-ai/grok-5"):
        request = chat.chat(story, chat.asked_of(model))
        assert "reasoning_details" not in request["messages"][1]
        assert "C8" in rules(request)


def test_reasoning_is_dropped_where_that_is_asked() -> None:
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": THOUGHT}]}]
    said: list[JsonObject] = [{"type": "text", "text": "hello"}]
    story = answered(chat.says([*parts, *said], reasoning_content=THOUGHT), DEEPSEEK)
    request = chat.chat(story, Options(api=NAME, thinking="drop"))
    assert request["messages"][1] == chat.says(said)
    assert rules(request) == {"thinking"}


def test_thoughts_among_the_parts_of_an_answer_go_to_their_maker_only() -> None:
    """Mistral tells them so."""
    thought: JsonObject = {"type": "thinking", "thinking": [{"type": "text", "text": THOUGHT}]}
    said: JsonObject = {"type": "text", "text": "hello"}
    story = answered(chat.says([thought, said]), "magistral-medium")
    assert chat.messages(story)[1] == chat.says([thought, said])
    request = chat.chat(story, chat.asked_of(GPT))
    assert request["messages"][1] == chat.says([said])
    assert rules(request) == {"C8"}


def test_what_a_server_put_into_a_call_goes_back_to_it() -> None:
    """Gemini's signature; DeepSeek's count; Snowflake's empty decoy is for nobody."""
    signed: JsonObject = {"extra_content": {"google": {"thought_signature": "c2ln"}}}
    call = {**chat.function("call_1"), **signed, "index": 0}
    story = answered(chat.says(None, {**call, "custom": {}}), "gemini-3-pro")
    assert chat.messages(story)[1]["tool_calls"] == [call]
    request = chat.chat(story, chat.asked_of(GPT))
    assert request["messages"][1]["tool_calls"] == [chat.function("call_1")]
    assert rules(request) == {"C1", "C7", "C8"}


def test_a_call_without_type_and_a_message_without_role_get_one() -> None:
    call = {"id": "call_1", "function": {"name": "f", "arguments": "{}"}}
    story = answered({"content": "so", "tool_calls": [call]}, "mistral-small")
    message = chat.messages(story, chat.asked_of(GPT))[1]
    assert message["role"] == "assistant"
    assert message["tool_calls"] == [{**call, "type": "function"}]
    assert "C11" in rules(chat.chat(story))


def test_a_sound_goes_by_its_id_until_it_expires() -> None:
    sound = {"id": "audio_1", "data": "UklG", "expires_at": 10, "transcript": "hello"}
    story = answered(chat.says(None, audio=sound), "gpt-4o-audio-preview")
    request = chat.chat(story)
    assert request["messages"][1] == chat.says(None, audio={"id": "audio_1"})
    assert refused(NAME, request) == ()
    assert chat.messages(story, chat.asked_of("gpt-5"))[1] == chat.says("hello")
    elsewhere = chat.chat(story, chat.asked_of(DEEPSEEK))
    assert elsewhere["messages"][1] == HELLO
    assert rules(request) == rules(elsewhere) == {"C9"}
    assert [note.deed for note in elsewhere.report] == ["translated"]
    spoken_first = {"audio": sound, "role": "assistant", "content": None}
    said = chat.messages(answered(spoken_first), chat.asked_of(DEEPSEEK))[1]
    assert said == {"role": "assistant", "content": "hello"}
    silent = chat.says("hello", audio=None, function_call=None)
    assert chat.messages(answered(silent))[1] == silent


def test_instructions_go_first_as_they_were_set() -> None:
    """One system message of text is neutral; all else is kept as it came."""
    story = Story()
    story.instruct("Be brief.")
    story.user("hi")
    assert chat.messages(story)[0] == {"role": "system", "content": "Be brief."}
    given: list[JsonObject] = [
        {"role": "developer", "content": [{"type": "text", "text": "Be brief."}]},
        {"role": "system", "content": "And kind.", "name": "boss"},
    ]
    story.happen(InstructionsSet(content=chat.native({"messages": given})))
    assert chat.messages(story)[:2] == given
    story.happen(InstructionsSet(content=Text(text="Be long.")))
    assert chat.messages(story)[0] == {"role": "system", "content": "Be long."}
    story.happen(InstructionsSet(content=" "))
    assert [message["role"] for message in chat.messages(story)] == ["user"]


@pytest.mark.parametrize(
    ("model", "given", "wanted"),
    [
        ("o1-mini-2024-09-12", "system", "user"),
        ("openai/o1-preview", "developer", "user"),
        ("o3-mini", "system", "system"),
        ("gpt-5", "developer", "developer"),
        ("deepseek-chat", "developer", "system"),
        ("mistral-small", "developer", "system"),
    ],
)
def test_instructions_go_in_a_role_that_the_model_takes(
    model: str, given: str, wanted: str
) -> None:
    """Unsupported value: 'messages[0].role' does not support 'system' with this model."""
    story = Story()
    message = {"role": given, "content": [{"type": "text", "text": "Be brief."}]}
    story.happen(InstructionsSet(content=chat.native({"messages": [message]})))
    story.user("hi")
    story.happen(MessageRecorded(role="system", content=(chat.native(message),)))
    request = chat.chat(story, chat.asked_of(model))
    assert request["messages"][0] == request["messages"][2] == {**message, "role": wanted}
    assert rules(request) == (set() if given == wanted else {"C6"})
    assert refused(NAME, {"model": model, **request}) == ()


def test_an_operators_note_goes_where_it_was_made() -> None:
    story = Story()
    story.user("hi")
    chat.asks(story)
    chat.answers(story, chat.says("hello"))
    story.note("be kind")
    story.user("and now?")
    assert chat.messages(story)[2] == {"role": "system", "content": "be kind"}
    assert chat.messages(story, chat.asked_of("o1-mini"))[2]["role"] == "user"


def test_a_message_goes_to_openai_without_members_that_it_does_not_know() -> None:
    """Some servers have callers send empty lists along."""
    story = Story()
    story.user(chat.native({"role": "user", "content": "hi", "tool_calls": [], "name": "ann"}))
    assert "tool_calls" in chat.messages(story)[0]
    request = chat.chat(story, chat.asked_of(GPT))
    assert request["messages"] == [{"role": "user", "content": "hi", "name": "ann"}]
    assert rules(request) == {"C7"}


def test_tools_go_as_they_were_defined() -> None:
    story = Story()
    own = {"type": "function", "function": {"name": "f", "strict": True, "parameters": SCHEMA}}
    look_up = ToolDefinition(name="look_up", description="Finds.", input_schema=SCHEMA)
    quiet = ToolDefinition(name="quiet", input_schema=SCHEMA)
    story.happen(ToolsDeclared(tools=(look_up, chat.native(own), quiet)))
    story.user("hi")
    assert chat.chat(story)["tools"] == [
        {
            "type": "function",
            "function": {"name": "look_up", "description": "Finds.", "parameters": SCHEMA},
        },
        own,
        {"type": "function", "function": {"name": "quiet", "parameters": SCHEMA}},
    ]


def test_what_came_of_a_message_that_broke_off_stays() -> None:
    """Its text, if it is not blank; of calls and reasoning nothing."""
    story = Story()
    story.user("hi")
    chat.asks(story)
    begun = chat.says("I will", refusal=None)
    chat.breaks_off(story, {}, begun, {"id": "call_1", "function": {"name": "f"}})
    story.user("go on")
    request = chat.chat(story)
    assert request["messages"][1] == begun
    assert [note.rule for note in request.report] == ["unfinished"]


@pytest.mark.parametrize("begun", [chat.says(" "), {"reasoning_content": THOUGHT}, chat.says(None)])
def test_of_a_message_that_broke_off_before_it_said_anything_nothing_stays(
    begun: JsonObject,
) -> None:
    story = Story()
    story.user("hi")
    chat.asks(story)
    chat.breaks_off(story, {}, begun)
    story.user("go on")
    request = chat.chat(story)
    assert [message["role"] for message in request["messages"]] == ["user", "user"]
    assert rules(request) == {"unfinished"}


def test_a_part_that_an_assistant_is_told_to_have_said_is_a_message() -> None:
    story = Story()
    story.user("hi")
    part: JsonObject = {"type": "text", "text": "hello"}
    story.happen(MessageRecorded(role="assistant", content=(Native(api=NAME, value=part),)))
    assert chat.messages(story)[1] == {"role": "assistant", "content": [part]}


def test_dropped_thinking_is_dropped_from_an_answer_that_broke_off() -> None:
    story = Story()
    story.user("hi")
    chat.asks(story, DEEPSEEK)
    chat.breaks_off(story, {}, chat.says("I w", reasoning_content=THOUGHT))
    story.user("go on")
    request = chat.chat(story, Options(api=NAME, thinking="drop", model=DEEPSEEK))
    assert THOUGHT not in str(dict(request))
    assert "thinking" in rules(request)
    assert THOUGHT in str(chat.messages(story, chat.asked_of(DEEPSEEK)))
