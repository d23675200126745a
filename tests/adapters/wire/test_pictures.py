"""Pictures that providers' tools made: recorded beside their blocks, told to other APIs."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from uuid import UUID

import pytest
from uuid_utils.compat import uuid7

import onrecord
from onrecord.adapters.conversation.conversation import stream_of
from onrecord.adapters.wire.answer import Answer
from onrecord.adapters.wire.blocks import AnswerBlock
from onrecord.domain import jsontext
from onrecord.domain.blobs import LIMIT, blob_of, restore
from onrecord.domain.content import Native
from onrecord.domain.events import (
    DocumentExtracted,
    Event,
    MessageRecorded,
    RequestSent,
    ServerToolCallRecorded,
)
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.request_template import EncodedSpan, LiteralSpan, Template
from onrecord.projections.apis.request import APIS
from onrecord.projections.matching.sources import sources_in
from onrecord.projections.matching.template import split
from onrecord.projections.matching.units import piece_of, unit_of, unit_of_piece
from tests.sent import events_of

RESPONSES = "openai-responses"
NO_TEMPLATE = Template(spans=(), sha256="", size=0)
SMALL = b"\x89PNG\r\n\x1a\n" + bytes(range(200))
LARGE = SMALL + bytes(i % 251 for i in range(LIMIT))


def drawn(data: bytes | str, **members: str) -> JsonObject:
    result = data if isinstance(data, str) else base64.b64encode(data).decode()
    item = {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": result}
    return {**item, **members}


def plotted(data: bytes) -> JsonObject:
    url = f"data:image/png;base64,{base64.b64encode(data).decode()}"
    outputs = [{"type": "logs", "logs": "done"}, {"type": "image", "url": url}]
    return {"type": "code_interpreter_call", "id": "ci_1", "code": "plot()", "outputs": outputs}


def recorded(
    *blocks: JsonObject, api: str = RESPONSES
) -> tuple[tuple[Event, ...], dict[str, bytes]]:
    told = Answer(
        api=api,
        envelope={},
        blocks=tuple(AnswerBlock(index, value) for index, value in enumerate(blocks)),
    )
    events, spilled = events_of(told, response=uuid7())
    return events[:-1], spilled


def pictures(events: tuple[Event, ...]) -> list[DocumentExtracted]:
    return [event for event in events if isinstance(event, DocumentExtracted)]


@pytest.fixture
def chat() -> Iterator[onrecord.Conversation]:
    yield onrecord.connect("memory://").conversation("talk")


def answer(chat: onrecord.Conversation, *blocks: JsonObject, api: str = RESPONSES) -> UUID:
    response = uuid7()
    told = Answer(
        api=api,
        envelope={},
        blocks=tuple(AnswerBlock(index, value) for index, value in enumerate(blocks)),
    )
    events, spilled = events_of(told, response=response)
    for data in spilled.values():
        stream_of(chat).backend.put_blob(stream_of(chat).tenant, chat.conversation_id, (data,))
    chat.log.append(*events)
    return response


def test_a_picture_stands_right_after_the_block_that_holds_it() -> None:
    said: JsonObject = {"type": "message", "id": "msg_1", "role": "assistant", "content": []}
    (call, picture, _), spilled = recorded(drawn(SMALL), said)
    assert isinstance(call, ServerToolCallRecorded)
    assert isinstance(picture, DocumentExtracted)
    document = picture.document
    assert (document.media_type, document.name) == ("image/png", "image_0.png")
    assert document.blob == blob_of(SMALL)
    assert spilled == {blob_of(SMALL).sha256: SMALL}
    assert (picture.call_id, picture.tool_name, picture.api) == (
        "ig_1",
        "image_generation",
        RESPONSES,
    )


def test_pictures_of_an_answer_are_numbered() -> None:
    second = {**drawn(b"GIF89a", output_format="gif"), "id": "ig_2"}
    events, _ = recorded(drawn(SMALL), plotted(SMALL + b"1"), second)
    named = [(it.document.name, it.call_id, it.tool_name) for it in pictures(events)]
    assert named == [
        ("image_0.png", "ig_1", "image_generation"),
        ("image_1.png", "ci_1", "code_execution"),
        ("image_2.gif", "ig_2", "image_generation"),
    ]


def test_a_large_picture_is_stored_once_and_comes_back_as_it_was() -> None:
    item = drawn(LARGE)
    (call, picture), spilled = recorded(item)
    assert isinstance(call, ServerToolCallRecorded)
    blob = blob_of(LARGE)
    assert spilled == {blob.sha256: LARGE}
    assert call.content.value["result"] == {
        "$onrecord.blob": blob.sha256,
        "size": blob.size,
        "as": "base64",
    }
    assert restore(call.content.value, spilled) == item
    assert isinstance(picture, DocumentExtracted)
    assert picture.document.blob == blob


def test_base64_that_is_not_the_standard_one_comes_back_as_it_was() -> None:
    data = LARGE + bytes((1 - len(LARGE)) % 3)
    standard = base64.b64encode(data).decode().rstrip("=")
    assert len(data) % 3 == 1
    item = drawn(f"{standard[:-1]}{chr(ord(standard[-1]) + 1)}==")
    (call, picture), spilled = recorded(item)
    assert isinstance(call, ServerToolCallRecorded)
    assert "as" not in call.content.value["result"]
    assert restore(call.content.value, spilled) == item
    assert isinstance(picture, DocumentExtracted)
    assert picture.document.blob == blob_of(data)


@pytest.mark.parametrize("result", ["not base64!", "", None])
def test_what_is_no_picture_is_none(result: str | None) -> None:
    events, _ = recorded({**drawn(SMALL), "result": result})
    assert pictures(events) == []


def test_pictures_of_code_are_stored_in_both_spellings() -> None:
    item = plotted(LARGE)
    (call, picture), spilled = recorded(item)
    assert isinstance(call, ServerToolCallRecorded)
    assert restore(call.content.value, spilled) == item
    assert isinstance(picture, DocumentExtracted)
    assert picture.document.blob is not None
    assert spilled[picture.document.blob.sha256] == LARGE


def test_a_picture_beside_code_of_geminis_is_of_the_code() -> None:
    code = {"executableCode": {"id": "c", "code": "plot()", "language": "PYTHON"}}
    shown = {"inlineData": {"mimeType": "image/png", "data": base64.b64encode(LARGE).decode()}}
    events, spilled = recorded(code, shown, api="gemini")
    (picture,) = pictures(events)
    assert (picture.call_id, picture.tool_name) == ("c", "code_execution")
    message = events[1]
    assert isinstance(message, MessageRecorded)
    (native,) = message.content
    assert isinstance(native, Native)
    assert restore(native.value, spilled) == shown
    assert spilled == {blob_of(LARGE).sha256: LARGE}


def test_a_picture_that_a_program_sends_back_is_known_again() -> None:
    shown = {"inlineData": {"mimeType": "image/png", "data": base64.b64encode(LARGE).decode()}}
    (message, _), _ = recorded(shown, api="gemini")
    assert isinstance(message, MessageRecorded)
    (native,) = message.content
    assert isinstance(native, Native)
    assert native.value["inlineData"]["data"]["as"] == "base64"
    sent = unit_of_piece("gemini", piece_of(0, "assistant", shown))
    held = unit_of("assistant", native)
    assert sent.says == held.says


def test_a_request_refers_to_the_picture_by_its_bytes(chat: onrecord.Conversation) -> None:
    chat.user("Draw.")
    answer(chat, drawn(LARGE))
    request = chat.request(RESPONSES)
    body = jsontext.write(dict(request))
    known = sources_in(event.told() for event in chat.log.read())
    template, spilled = split(body, known=known)
    assert EncodedSpan(blob=blob_of(LARGE)) in template.spans
    assert spilled == {}
    assert len(body) - sum(len(s.text) for s in template.spans if isinstance(s, LiteralSpan)) > (
        len(LARGE)
    )


def test_its_own_api_is_not_sent_the_picture_again(chat: onrecord.Conversation) -> None:
    chat.user("Draw.")
    answer(chat, drawn(LARGE))
    chat.user("Thanks.")
    told = chat.request(RESPONSES)["input"]
    assert told == [
        {"role": "user", "content": "Draw."},
        drawn(LARGE),
        {"role": "user", "content": "Thanks."},
    ]


def test_another_api_sees_the_picture_in_the_users_turn(chat: onrecord.Conversation) -> None:
    chat.user("Draw.")
    answer(chat, drawn(LARGE))
    chat.user("Thanks.")
    *_, (role, content) = [
        (message["role"], message["content"])
        for message in chat.request("anthropic-messages")["messages"]
    ]
    assert role == "user"
    tag = next(part["text"] for part in content if "tool-name" in part.get("text", ""))
    assert 'tool-name="image_generation" tool-call-id="ig_1"' in tag
    assert 'filename="image_0.png"' in tag
    (image,) = [part for part in content if part["type"] == "image"]
    assert base64.b64decode(image["source"]["data"]) == LARGE
    assert content[-1] == {"type": "text", "text": "Thanks."}


def test_an_api_without_pictures_is_told_of_it(chat: onrecord.Conversation) -> None:
    chat.user("Draw.")
    answer(chat, drawn(SMALL))
    chat.user("Thanks.")
    request = chat.request("openai-chat", model="deepseek-chat")
    assert "document" in {note.rule for note in request.report}
    assert "image_0.png" in str(request["messages"])


def test_later_requests_begin_with_the_earlier_ones(chat: onrecord.Conversation) -> None:
    chat.user("Draw.")
    answer(chat, drawn(LARGE))
    chat.user("Thanks.")
    for api, member in (("anthropic-messages", "messages"), (RESPONSES, "input")):
        before = chat.request(api, at=chat.head().version)[member]
        version = chat.head().version
        answer(chat, {"type": "message", "role": "assistant", "content": "Welcome."})
        chat.user("Bye.")
        assert chat.request(api)[member][: len(before)] == before
        assert chat.request(api, at=version)[member] == before


def test_a_picture_at_the_end_is_no_turn_for_its_own_api(chat: onrecord.Conversation) -> None:
    chat.user("Draw.")
    answer(chat, drawn(SMALL))
    answer(chat, {"type": "message", "role": "assistant", "content": "There."})
    told = chat.request(RESPONSES)["input"]
    assert [item.get("type", item.get("role")) for item in told] == [
        "user",
        "image_generation_call",
        "message",
    ]


def test_a_picture_of_an_answer_that_came_again_is_told_once(chat: onrecord.Conversation) -> None:
    chat.user("Draw.")
    cut = Answer(
        api=RESPONSES, envelope={}, blocks=(AnswerBlock(0, drawn(SMALL)),), interruption="cut"
    )
    whole = Answer(api=RESPONSES, envelope={}, blocks=(AnswerBlock(0, drawn(LARGE)),))
    request = uuid7()
    chat.log.append(RequestSent(api=RESPONSES, endpoint="/v1/responses", template=NO_TEMPLATE))
    for told in (cut, whole):
        events, spilled = events_of(told, response=uuid7(), request=request)
        for data in spilled.values():
            stream_of(chat).backend.put_blob(stream_of(chat).tenant, chat.conversation_id, (data,))
        chat.log.append(*events)
    chat.user("Thanks.")
    shown = json.dumps(chat.request("anthropic-messages")["messages"])
    assert shown.count('"image"') == 1
    assert base64.b64encode(LARGE).decode() in shown


def test_a_picture_amid_an_answer_comes_after_all_of_it(chat: onrecord.Conversation) -> None:
    chat.user("Draw.")
    events, _ = recorded(drawn(SMALL), {"type": "message", "role": "assistant", "content": "So."})
    stream_of(chat).backend.put_blob(stream_of(chat).tenant, chat.conversation_id, (SMALL,))
    chat.log.append(*events)
    chat.user("Thanks.")
    told = [message["role"] for message in chat.request("anthropic-messages")["messages"]]
    assert told == ["user", "assistant", "user"]


@pytest.mark.parametrize("api", APIS)
def test_what_is_redacted_takes_its_pictures_along(chat: onrecord.Conversation, api: str) -> None:
    chat.user("Draw.")
    answer(chat, drawn(SMALL))
    answer(chat, plotted(SMALL[:-1]))
    chat.user("Thanks.")
    before = chat.head().version
    shown = chat.request(api).body
    chat.redact(3)
    hidden = jsontext.write(chat.request(api).body).decode()
    told = [base64.b64encode(data).decode() in hidden for data in (SMALL, SMALL[:-1])]
    assert told == [False, base64.b64encode(SMALL[:-1]).decode() in jsontext.write(shown).decode()]
    assert chat.request(api, at=before).body == shown


def test_a_picture_goes_where_what_made_it_goes_as_words(chat: onrecord.Conversation) -> None:
    chat.user("Draw.")
    said: JsonObject = {"type": "message", "id": "msg_1", "role": "assistant", "content": []}
    answer(chat, said, drawn(SMALL), plotted(LARGE))
    chat.user("Thanks.")
    chat.redact(3)
    told = chat.request(RESPONSES)["input"]
    roles = [item.get("role", item.get("type")) for item in told]
    assert roles == ["user", "assistant", "user", "assistant", "user", "user"]
    for message, data, call in ((told[2], SMALL, "ig_1"), (told[4], LARGE, "ci_1")):
        _, tag, image = message["content"]
        assert f'tool-call-id="{call}"' in tag["text"]
        assert image["image_url"].endswith(base64.b64encode(data).decode())
