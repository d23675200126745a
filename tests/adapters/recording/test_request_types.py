"""What is not of its type in requests for Gemini, Bedrock and Ollama, in each one's words."""

from __future__ import annotations

import pytest

import onrecord
from onrecord.domain.jsontext import JsonObject

GEMINI, BEDROCK, OLLAMA = "gemini", "bedrock-converse", "ollama"
HELLO: JsonObject = {"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]}
SAID: JsonObject = {"role": "user", "content": "Hello"}


def broken(api: str, request: JsonObject) -> list[tuple[str, str]]:
    """Where types are broken, and the provider's words."""
    verdict = onrecord.check_request(api, request)
    assert verdict.types is not None
    return [(each.where, each.said) for each in verdict.violations if each.rule == "types"]


@pytest.mark.parametrize(
    ("request_of", "where", "said"),
    [
        (
            {"contents": [{"parts": [{"text": "Hello", "colour": "blue"}]}]},
            "/contents/0/parts/0/colour",
            (
                'Invalid JSON payload received. Unknown name "colour" at '
                "'contents[0].parts[0]': Cannot find field."
            ),
        ),
        (
            {**HELLO, "colour": "blue"},
            "/colour",
            'Invalid JSON payload received. Unknown name "colour": Cannot find field.',
        ),
        (
            {"contents": [{"parts": [{"functionCall": {"name": 5}}]}]},
            "/contents/0/parts/0/functionCall/name",
            "Invalid value at 'contents[0].parts[0].function_call.name' (TYPE_STRING), 5",
        ),
        (
            {"contents": [{"parts": [{"function_call": {"name": "a", "args": "{}"}}]}]},
            "/contents/0/parts/0/function_call/args",
            (
                "Invalid value at 'contents[0].parts[0].function_call.args' "
                "(type.googleapis.com/google.protobuf.Struct), '{}'"
            ),
        ),
        (
            {"contents": [{"parts": [{"text": "a", "thought_signature": "b!"}]}]},
            "/contents/0/parts/0/thought_signature",
            "Invalid value at 'contents[0].parts[0].thought_signature' (TYPE_BYTES), 'b!'",
        ),
        (
            {"contents": [], "generationConfig": {"maxOutputTokens": "many"}},
            "/generationConfig/maxOutputTokens",
            "Invalid value at 'generation_config.max_output_tokens' (TYPE_INT32), 'many'",
        ),
    ],
)
def test_what_google_does_not_know_is_told_in_its_words(
    request_of: JsonObject, where: str, said: str
) -> None:
    assert broken(GEMINI, request_of) == [(where, said)]


def test_both_alphabets_of_base64_and_words_of_newer_models_go_to_google() -> None:
    pictures = [
        {"inlineData": {"mimeType": "image/png", "data": data}} for data in ("+/+/", "-_-_")
    ]
    code = {"executableCode": {"language": "COBOL", "code": "x"}}
    assert broken(GEMINI, {"contents": [{"parts": [*pictures, code]}]}) == []


def test_a_config_of_googles_sdk_is_checked_as_the_body_that_it_becomes() -> None:
    config: JsonObject = {
        "system_instruction": {"parts": [{"text": "Be kind.", "colour": "blue"}]},
        "tools": [{"google_search": {}}],
        "max_output_tokens": 9,
        "temperature": 0.5,
        "http_options": {"timeout": 5},
        "colour": "blue",
    }
    told = broken(GEMINI, {"model": "gemini-2.5-pro", **HELLO, "config": config})
    assert [where for where, _ in told] == [
        "/systemInstruction/parts/0/colour",
        "/generationConfig/colour",
    ]


@pytest.mark.parametrize(
    ("block", "where", "said"),
    [
        (
            {"toolUse": {"toolUseId": "a", "name": "b"}},
            "/toolUse/input",
            'Missing required parameter in messages[0].content[0].toolUse: "input"',
        ),
        (
            {"image": {"format": "png", "source": {"url": "a"}}},
            "/image/source/url",
            (
                'Unknown parameter in messages[0].content[0].image.source: "url", must be one '
                "of: bytes, s3Location"
            ),
        ),
        (
            {"text": 5},
            "/text",
            (
                "Invalid type for parameter messages[0].content[0].text, value: 5, "
                "type: <class 'int'>, valid types: <class 'str'>"
            ),
        ),
        (
            {"image": {"format": "bmp", "source": {"bytes": "YQ=="}}},
            "/image/format",
            (
                "1 validation error detected: Value 'bmp' at 'messages.1.member.content.1."
                "member.image.format' failed to satisfy constraint: Member must satisfy enum "
                "value set: [png, jpeg, gif, webp]"
            ),
        ),
        (
            {"document": {"name": "", "source": {"text": "a"}}},
            "/document/name",
            (
                "Invalid length for parameter messages[0].content[0].document.name, value: 0, "
                "valid min length: 1"
            ),
        ),
    ],
)
def test_what_is_not_in_bedrocks_model_is_told_in_botocores_words(
    block: JsonObject, where: str, said: str
) -> None:
    message = {"role": "user", "content": [block]}
    assert broken(BEDROCK, {"messages": [message]}) == [("/messages/0/content/0" + where, said)]


def test_a_block_of_bedrocks_is_of_one_kind() -> None:
    message: JsonObject = {"role": "user", "content": [{"text": "a", "image": {}}, {}]}
    told = broken(BEDROCK, {"messages": [message]})
    assert [where for where, _ in told] == ["/messages/0/content/0", "/messages/0/content/1"]
    assert "Can only set one of the following keys: text, image" in told[0][1]
    assert told[1][1].startswith("Must set one of the following keys for tagged union structure")


def test_documents_and_further_fields_of_models_are_not_looked_into() -> None:
    fields = {"thinking": {"type": "enabled", "budget_tokens": 1024}, "x": [None, 1.5]}
    call = {"toolUse": {"toolUseId": "a", "name": "b", "input": {"c": None}}}
    messages = [{"role": "assistant", "content": [call]}]
    request = {"messages": messages, "additionalModelRequestFields": fields}
    assert broken(BEDROCK, request) == []


def test_bytes_are_checked_as_the_base64_that_they_become() -> None:
    picture = {"image": {"format": "png", "source": {"bytes": b"png"}}}
    message = {"role": "user", "content": [picture]}
    assert onrecord.check_request(BEDROCK, {"messages": [message]}).violations == ()
    shown = {**SAID, "images": [b"png"]}
    assert onrecord.check_request(OLLAMA, {"messages": [shown]}).violations == ()


def test_what_ollama_cannot_read_is_told_in_its_words() -> None:
    parts = {"role": "user", "content": [{"type": "text", "text": "Hello"}]}
    assert broken(OLLAMA, {"messages": [parts], "colour": "blue", "stream": "yes"}) == [
        (
            "/messages/0/content",
            (
                "json: cannot unmarshal array into Go struct field ChatRequest.messages.content "
                "of type string"
            ),
        ),
        (
            "/stream",
            ("json: cannot unmarshal string into Go struct field ChatRequest.stream of type bool"),
        ),
    ]


def test_a_call_of_bedrock_goes_back_with_the_type_that_the_service_gave() -> None:
    """The service sends `tool_use`, which its own model of a request does not list."""
    call: JsonObject = {"toolUseId": "a", "name": "f", "input": {}, "type": "tool_use"}
    result = {"toolUseId": "a", "content": [{"text": "found"}]}
    request: JsonObject = {
        "messages": [
            {"role": "user", "content": [{"text": "hi"}]},
            {"role": "assistant", "content": [{"toolUse": call}]},
            {"role": "user", "content": [{"toolResult": result}]},
        ],
        "toolConfig": {"tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": {}}}}]},
    }
    assert onrecord.check_request("bedrock-converse", request).violations == ()
