"""A conversation goes on at another server that speaks Chat Completions: it takes less."""

from __future__ import annotations

from uuid import UUID

import pytest

from onrecord.adapters.check.check import check_request
from onrecord.domain.events import ResponseInterrupted, Unfinished
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.openai_chat.read import NAME
from onrecord.projections.apis.request import Options
from tests.projections.apis.openai_chat import chat_happenings as chat
from tests.projections.apis.openai_chat.chat_happenings import DEEPSEEK, GPT, asked_of
from tests.projections.happenings import Story, rules, tool_use
from tests.projections.refused import refused

MISTRAL = "mistral-large-latest"
PICTURE: JsonObject = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
SOUND: JsonObject = {"type": "input_audio", "input_audio": {"data": "aGk=", "format": "wav"}}
PDF: JsonObject = {
    "type": "file",
    "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,aGk="},
}


def answered(message: JsonObject, model: str = GPT) -> Story:
    story = Story()
    story.user("hi")
    chat.asks(story, model)
    chat.answers(story, message, model=model)
    for call in message.get("tool_calls", ()):
        chat.gives(story, call["id"])
    story.user("thanks")
    return story


@pytest.mark.parametrize("model", [DEEPSEEK, MISTRAL, "glm-4.6"])
def test_members_that_only_openai_has_and_that_say_nothing_go_nowhere_else(model: str) -> None:
    """ "Extra inputs are not permitted", says Mistral of members that it does not know."""
    story = answered(chat.says("hello", audio=None, function_call=None, annotations=[]))
    request = chat.chat(story, asked_of(model))
    assert request["messages"][1] == {"role": "assistant", "content": "hello"}
    at_home = chat.messages(story, asked_of("gpt-5"))[1]
    assert at_home == chat.says("hello", audio=None, function_call=None)


@pytest.mark.parametrize("content", [None, [{"type": "refusal", "refusal": "I will not."}]])
def test_a_refusal_goes_elsewhere_as_text(content: object) -> None:
    refusal = "I will not." if content is None else None
    story = answered(chat.says(content, refusal=refusal))
    (_, told, _) = chat.messages(story, asked_of(MISTRAL))
    text: JsonObject = {"type": "text", "text": "I will not."}
    assert told == {"role": "assistant", "content": "I will not." if content is None else [text]}
    assert rules(chat.chat(story, asked_of(MISTRAL))) == {"C7"}
    assert chat.messages(story)[1] == chat.says(content, refusal=refusal)


def test_what_a_server_said_itself_goes_back_to_it_with_all_its_members() -> None:
    message = chat.says("hello", function_call=None)
    assert chat.messages(answered(message, "glm-4.6"))[1] == message


@pytest.mark.parametrize(
    ("model", "unread"),
    [
        (DEEPSEEK, [PICTURE, SOUND, PDF]),
        (GPT, [SOUND]),
        (MISTRAL, [SOUND]),
        ("gpt-4o-audio-preview", [PDF]),
        (None, []),
    ],
)
@pytest.mark.parametrize("is_named", [True, False])
def test_parts_that_a_model_does_not_read_go_as_words(
    model: str | None, unread: list[JsonObject], is_named: bool
) -> None:
    """DeepSeek: "unknown variant `image_url`, expected `text`", and so for ever."""
    said: JsonObject = {"type": "text", "text": "look"}
    parts = [said, PICTURE, SOUND, PDF]
    story = Story()
    if is_named:
        story.user(chat.native({"role": "user", "name": "ann", "content": parts}))
    else:
        story.user(*map(chat.native, parts))
    story.assistant("I did.")
    request = chat.chat(story, Options(api=NAME, model=model))
    content = request["messages"][0]["content"]
    assert [part for part in parts if part not in content] == unread
    assert len(content) == len(parts)
    assert rules(request) == ({"document"} if unread else set[str]()) | (
        {"C7"} if is_named and model == MISTRAL else set[str]()
    )
    assert refused(NAME, {**request, "model": model or ""}) == ()


def test_pictures_and_pages_of_others_go_to_deepseek_as_words() -> None:
    story = Story()
    source = {"type": "base64", "media_type": "image/png", "data": "aGk="}
    story.user("look", {"type": "image", "source": source})
    story.answer(tool_use("toolu_1"), stop="tool_use")
    picture = {"type": "image", "source": source}
    story.native_result({"type": "tool_result", "tool_use_id": "toolu_1", "content": [picture]})
    request = chat.chat(story, asked_of(DEEPSEEK))
    assert "image_url" not in str(dict(request))
    assert str(dict(request)).count("(image/png) cannot be shown here") == 2
    assert "document" in rules(request)


@pytest.mark.parametrize("model", [DEEPSEEK, "deepseek-chat", "kimi-k2-thinking"])
def test_calls_of_others_go_with_empty_reasoning_to_models_that_want_some(model: str) -> None:
    """ "Missing `reasoning_content` field in the assistant message at message index 2"."""
    story = answered(chat.says(None, chat.function("call_1")))
    story.answer("I look.", tool_use("toolu_1"), stop="tool_use")
    story.result("toolu_1")
    chat.answers(story, chat.says("done"), model=GPT)
    request = chat.chat(story, asked_of(model))
    told = [each for each in request["messages"] if each["role"] == "assistant"]
    assert [each.get("reasoning_content") for each in told] == ["", "", None]
    assert "C8" in rules(request)
    for other in (None, GPT, MISTRAL):
        assert "reasoning_content" not in str(chat.messages(story, Options(api=NAME, model=other)))


def test_reasoning_that_is_dropped_leaves_an_empty_one_with_calls() -> None:
    story = answered(chat.says(None, chat.function("call_1"), reasoning_content="hm"), DEEPSEEK)
    dropped = Options(api=NAME, thinking="drop", model=DEEPSEEK)
    assert chat.messages(story, dropped)[1]["reasoning_content"] == ""
    assert chat.messages(story)[1]["reasoning_content"] == "hm"


def test_what_a_model_said_without_reasoning_goes_back_to_it_as_it_was() -> None:
    message = chat.says(None, chat.function("call_1"))
    assert chat.messages(answered(message, "deepseek-chat"))[1] == message


@pytest.mark.parametrize("model", [GPT, DEEPSEEK, "qwen3"])
@pytest.mark.parametrize("none", [{"arguments": None}, {}], ids=["null", "absent"])
def test_arguments_that_a_server_did_not_give_are_an_empty_object(
    model: str, none: JsonObject
) -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "f", **none}}
    request = chat.chat(answered(chat.says(None, call), model), asked_of(model))
    assert request["messages"][1]["tool_calls"][0]["function"]["arguments"] == "{}"
    assert "C10" in rules(request)
    assert check_request(NAME, {"model": model, **request.body}).violations == ()


def test_arguments_that_a_server_gave_as_an_object_are_a_text_at_openai() -> None:
    call = chat.function("call_1")
    call["function"]["arguments"] = {"q": 1}
    story = answered(chat.says(None, call), "glm-4.6")
    assert chat.messages(story)[1]["tool_calls"] == [call]
    request = chat.chat(story, asked_of(GPT))
    assert request["messages"][1]["tool_calls"][0]["function"]["arguments"] == '{"q":1}'
    assert rules(request) == {"C10"}


def test_a_part_of_an_unknown_type_goes_as_words_where_only_text_is_read() -> None:
    story = Story()
    story.user(chat.native({"type": "video_url", "video_url": {"url": "https://x"}}))
    request = chat.chat(story, asked_of(DEEPSEEK))
    words = {"type": "text", "text": "[A part of type video_url cannot be shown here.]"}
    assert request["messages"] == [{"role": "user", "content": [words]}]
    assert rules(request) == {"document"}
    assert "video_url" in str(dict(chat.chat(story)))


def test_a_word_stands_between_results_and_the_user_at_mistral() -> None:
    """ "Unexpected role 'user' after role 'tool'"."""
    story = answered(chat.says(None, chat.function("abcdefghi")), MISTRAL)
    told = chat.messages(story)
    assert [each["role"] for each in told] == ["user", "assistant", "tool", "assistant", "user"]
    assert told[3] == {"role": "assistant", "content": "I have the results."}
    assert rules(chat.chat(story)) == {"C14"}
    assert [each["role"] for each in chat.messages(story, asked_of(GPT))][3:] == ["user"]
    chat.answers(story, chat.says("done"), model=MISTRAL)
    assert chat.messages(story)[: len(told)] == told


def test_documents_of_results_go_to_mistral_behind_a_word() -> None:
    story = Story()
    story.user("look")
    story.answer(tool_use("toolu_1"), stop="tool_use")
    picture = {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}
    story.native_result({"type": "tool_result", "tool_use_id": "toolu_1", "content": [picture]})
    told = chat.messages(story, asked_of(MISTRAL))
    assert [each["role"] for each in told][2:] == ["tool", "assistant", "user"]


def test_an_empty_decoy_in_a_call_goes_to_no_other_server() -> None:
    """Snowflake puts an empty `custom` into each call of a function."""
    call = chat.function("call_1", custom={"name": "", "input": ""})
    story = answered(chat.says(None, call), "claude-sonnet")
    assert chat.messages(story)[1]["tool_calls"] == [call]
    assert chat.messages(story, asked_of(GPT))[1]["tool_calls"] == [chat.function("call_1")]


def test_elsewhere_the_name_of_who_speaks_stands_before_what_is_said() -> None:
    story = Story()
    story.user(chat.native({"role": "user", "name": "Ann", "content": "mine is blue"}))
    parts = [PICTURE, {"type": "text", "text": "mine is red"}]
    story.user(chat.native({"role": "user", "name": "Bob", "content": parts}))
    for api in ("anthropic-messages", "openai-responses"):
        request = story.request(Options(api=api))
        said = str(dict(request))
        assert "Ann: mine is blue" in said
        assert said.index("Bob:") < said.index("aGk=") < said.index("mine is red")
        assert rules(request) == {"foreign"}


DISTILLED = "deepseek-r1-distill-llama-70b"


@pytest.mark.parametrize("model", [DISTILLED, "openai/gpt-oss-120b"])
def test_what_groq_adds_to_its_answers_does_not_go_back_to_it(model: str) -> None:
    """ "property 'reasoning' is unsupported, did you mean 'role'?" (gptel#774)."""
    story = Story()
    story.user("hi")
    chat.asks(story, model)
    said = chat.says("I look.", chat.function("call_1"), reasoning="hm", executed_tools=[{"i": 0}])
    chat.answers(story, said, model=model, x_groq={"id": "req_1"})
    chat.gives(story, "call_1")
    request = chat.chat(story)
    assert {"reasoning", "executed_tools"}.isdisjoint(request["messages"][1])
    assert "reasoning_content" not in request["messages"][1]
    assert rules(request) == {"C15"}
    assert refused(NAME, request) == ()


def test_what_groq_adds_does_not_go_back_where_its_first_answer_broke_off() -> None:
    model = "openai/gpt-oss-120b"
    story = Story()
    story.user("hi")
    chat.asks(story, model)
    begun = {"role": "assistant", "content": "I look", "channel": "final"}
    story.happen(
        ResponseInterrupted(
            response=UUID(int=7),
            api=NAME,
            model=model,
            reason="cut",
            envelope={"x_groq": {"id": "req_1"}},
            unfinished=(Unfinished(index=0, value=begun, partial=""),),
        )
    )
    story.user("go on")
    request = chat.chat(story)
    assert request["messages"][1] == {"role": "assistant", "content": "I look"}
    assert "C15" in rules(request)


def test_another_server_that_answered_the_same_model_gets_its_reasoning_back() -> None:
    story = answered(chat.says("Hello.", reasoning="hm"), DISTILLED)
    assert chat.messages(story)[1]["reasoning"] == "hm"
    assert "reasoning" not in chat.messages(story, asked_of("llama-3.3-70b"))[1]
