"""Documents in a Chat Completions request: what goes as what, and where those of results go."""

from __future__ import annotations

from base64 import b64encode

import pytest

from onrecord.domain.content import Blob, Document, Text, ToolResult
from onrecord.domain.errors import CorruptRecord, UnsupportedDocument
from onrecord.domain.events import DocumentExtracted, MessageRecorded, ToolResultRecorded
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.capabilities import CapabilityOverride
from onrecord.projections.apis.documents import PREAMBLE, words_for
from onrecord.projections.apis.openai_chat.read import NAME
from onrecord.projections.apis.request import Options
from tests.projections.apis.openai_chat import chat_happenings as chat
from tests.projections.happenings import Story, document, rules
from tests.projections.refused import refused

PNG = b"\x89PNG\r\n\x1a\n"
PDF = b"%PDF-1.7"
BLOBS = {"a" * 64: PNG, "b" * 64: PDF, "c" * 64: b"x,y\n1,2", "d" * 64: b"RIFF", "e" * 64: b""}
PIXEL = document("a.png", "image/png", "a" * 64)
REPORT = document("report.pdf", "application/pdf", "b" * 64)
TABLE = document("t.csv", "text/csv", "c" * 64)
SOUND = document("s.wav", "audio/wav", "d" * 64)
EMPTY = document("e.pdf", "application/pdf", "e" * 64)
IMAGE: JsonObject = {
    "type": "image_url",
    "image_url": {"url": f"data:image/png;base64,{b64encode(PNG).decode()}"},
}
FILE: JsonObject = {
    "type": "file",
    "file": {
        "filename": "report.pdf",
        "file_data": f"data:application/pdf;base64,{b64encode(PDF).decode()}",
    },
}


def text(said: str) -> JsonObject:
    return {"type": "text", "text": said}


def shown(held: Document, model: str = "gpt-4.1") -> tuple[list[JsonObject] | str, set[str]]:
    """What stands for a document beside a text, and the rules that were followed."""
    story = Story()
    story.user("look:", held)
    story.assistant("I did.")
    story.user("And?")
    request = chat.chat(story, chat.asked_of(model), blobs=BLOBS)
    assert refused(NAME, {"model": model, **request}) == ()
    return request["messages"][0]["content"], rules(request)


def test_images_go_as_such_and_pdfs_as_files() -> None:
    assert shown(PIXEL) == ([text("look:"), IMAGE], set())
    assert shown(REPORT) == ([text("look:"), FILE], set())


def test_a_text_goes_as_text_under_its_name() -> None:
    assert shown(TABLE) == ("look:\n\nt.csv\nx,y\n1,2", set())
    nameless = Document(media_type="text/plain", blob=TABLE.blob)
    assert shown(nameless) == ("look:\n\nx,y\n1,2", set())


def test_a_sound_goes_to_a_model_that_hears() -> None:
    """Content blocks are expected to be either text or image_url type."""
    sound = {"data": b64encode(b"RIFF").decode(), "format": "wav"}
    heard = [text("look:"), {"type": "input_audio", "input_audio": sound}]
    for model in ("gpt-4o-audio-preview", "qwen-omni-turbo"):
        assert shown(SOUND, model) == (heard, set())
    words = "look:\n\n[The document s.wav (audio/wav) cannot be shown here.]"
    assert shown(SOUND) == (words, {"document"})


@pytest.mark.parametrize(
    "held",
    [
        document("m.mp4", "video/mp4", "d" * 64),
        EMPTY,
        Document(media_type="application/pdf", name="far.pdf", url="https://example.com/far.pdf"),
        Document(media_type="text/plain", name="no.txt", url="data:text/plain;base64,%%"),
        Document(media_type="text/plain", name="no.txt", url="data:text/plain,plain"),
    ],
)
def test_what_no_part_can_hold_goes_as_words(held: Document) -> None:
    assert shown(held) == (f"look:\n\n{words_for(held)}", {"document"})


@pytest.mark.parametrize(
    ("held", "model", "modality"),
    [
        (SOUND, "gpt-4.1", "audio"),
        (PIXEL, "deepseek-chat", "image"),
        (document("m.mp4", "video/mp4", "d" * 64), "gpt-4o-audio-preview", "video"),
        (EMPTY, "gpt-4.1", "document"),
    ],
)
def test_a_prompt_that_the_model_cannot_read_is_an_error(
    held: Document, model: str, modality: str
) -> None:
    story = Story()
    story.user("look:", held)
    with pytest.raises(UnsupportedDocument, match=rf"openai-chat \({model}\).*{modality}") as told:
        chat.chat(story, chat.asked_of(model), blobs=BLOBS)
    assert (told.value.modality, told.value.version) == (modality, 1)


@pytest.mark.parametrize("media_type", ["image/png", "image/*"])
def test_an_image_may_stand_at_an_address(media_type: str) -> None:
    far = Document(media_type=media_type, url="https://example.com/a")
    image = {"type": "image_url", "image_url": {"url": "https://example.com/a"}}
    assert shown(far) == ([text("look:"), image], set())


def test_a_document_whose_bytes_are_missing_is_an_error() -> None:
    story = Story()
    story.user(Document(media_type="image/png", blob=Blob(sha256="f" * 64, size=1)))
    with pytest.raises(CorruptRecord):
        chat.chat(story)


def test_documents_of_results_follow_the_whole_round_behind_their_tags() -> None:
    """A tool's message holds text only, and nothing may stand between those of a round."""
    story = Story()
    story.user("hi")
    chat.asks(story)
    chat.answers(story, chat.says(None, chat.function("call_1"), chat.function("call_2")))
    content = (Text(text="here"), PIXEL, TABLE)
    for call_id in ("call_1", "call_2"):
        result = ToolResult(call_id=call_id, content=content)
        story.happen(ToolResultRecorded(call_id=call_id, content=result))
    request = chat.chat(story, blobs=BLOBS)
    tags = [
        f'<document tool-name="look_up" tool-call-id="{call_id}" '
        'document-short-id="aaaaaaaa" filename="a.png" />'
        for call_id in ("call_1", "call_2")
    ]
    assert request["messages"][2:] == [
        {
            "role": "tool",
            "tool_call_id": "call_1",
            "content": f"here\n{tags[0]}\nt.csv\nx,y\n1,2",
        },
        {
            "role": "tool",
            "tool_call_id": "call_2",
            "content": f"here\n{tags[1]}\nt.csv\nx,y\n1,2",
        },
        {
            "role": "user",
            "content": [text(PREAMBLE), text(tags[0]), IMAGE, text(tags[1]), IMAGE],
        },
    ]
    assert rules(request) == {"C3"}
    assert refused(NAME, request) == ()
    story.user("thanks")
    assert chat.messages(story, blobs=BLOBS)[: len(request["messages"])] == request["messages"]


@pytest.mark.parametrize("is_error", [False, True])
def test_a_result_holds_parts_where_the_caller_says_that_it_may(is_error: bool) -> None:
    """Some servers take pictures there; the parts then tell of a failure by a text before them."""
    story = Story()
    story.user("hi")
    chat.answers(story, chat.says(None, chat.function("call_1")))
    result = ToolResult(call_id="call_1", content=(TABLE, PIXEL), is_error=is_error)
    story.happen(ToolResultRecorded(call_id="call_1", content=result, is_error=is_error))
    taken = CapabilityOverride(tool_result=("text", "image"))
    request = chat.chat(story, Options(api=NAME, capabilities=taken), blobs=BLOBS)
    failure = [text("The tool failed:")] if is_error else []
    assert request["messages"][2:] == [
        {
            "role": "tool",
            "tool_call_id": "call_1",
            "content": [*failure, text("t.csv\nx,y\n1,2"), IMAGE],
        }
    ]


def test_a_text_follows_a_result_that_may_hold_nothing() -> None:
    story = Story()
    story.user("hi")
    chat.answers(story, chat.says(None, chat.function("call_1")))
    result = ToolResult(call_id="call_1", content=(TABLE,))
    story.happen(ToolResultRecorded(call_id="call_1", content=result))
    nothing = CapabilityOverride(tool_result=())
    request = chat.chat(story, Options(api=NAME, capabilities=nothing), blobs=BLOBS)
    given, after = request["messages"][2:]
    assert given["content"].startswith("<document ")
    assert after["content"] == [text(PREAMBLE), text(given["content"]), text("t.csv\nx,y\n1,2")]


def test_the_documents_of_a_round_stand_behind_a_word_where_mistral_wants_one() -> None:
    story = Story()
    story.user("hi")
    chat.answers(story, chat.says(None, chat.function("call00001")), model="mistral-large-latest")
    result = ToolResult(call_id="call00001", content=(PIXEL,))
    story.happen(ToolResultRecorded(call_id="call00001", content=result))
    messages = chat.messages(story, chat.asked_of("mistral-large-latest"), blobs=BLOBS)
    assert [message["role"] for message in messages[2:]] == ["tool", "assistant", "user"]
    assert messages[-1]["content"][0] == text(PREAMBLE)


def test_a_text_part_goes_as_it_came_to_a_model_that_reads_texts_only() -> None:
    part = {**text("look:"), "cache_control": {"type": "ephemeral"}}
    story = Story()
    story.user(chat.native(part))
    request = chat.chat(story, chat.asked_of("deepseek-chat"))
    assert request["messages"] == [{"role": "user", "content": [part]}]
    assert rules(request) == set()


def test_a_note_of_the_operators_holds_no_document() -> None:
    story = Story()
    story.user("hi")
    note = MessageRecorded(role="system", content=(PIXEL,))
    story.happen(note)
    request = chat.chat(story, blobs=BLOBS)
    [_, told] = request["messages"]
    assert rules(request) == {"document"}
    words = "[The document a.png (image/png) cannot be shown here.]"
    assert told == {"role": "system", "content": words}


def test_what_a_program_put_into_a_tools_message_stays_text_only() -> None:
    story = Story()
    story.user("hi")
    chat.asks(story)
    chat.answers(story, chat.says(None, chat.function("call_1"), chat.function("call_2")))
    sound = {"type": "input_audio", "input_audio": {"data": "UklG", "format": "wav"}}
    chat.gives(story, "call_1", [text("a"), IMAGE, sound, {"type": "hologram"}])
    chat.gives(story, "call_2", None)
    request = chat.chat(story)
    tag = '<document tool-name="look_up" tool-call-id="call_1" />'
    assert [message["content"] for message in request["messages"][2:]] == [
        [text("a"), text(tag), text("[The document (audio/wav) cannot be shown here.]")],
        "Tool execution succeeded, but returned no result.",
        [text(PREAMBLE), text(tag), IMAGE],
    ]
    assert rules(request) == {"C3", "document"}
    assert refused(NAME, request) == ()


def test_a_document_that_was_found_is_a_message_behind_its_tag() -> None:
    story = Story()
    story.user("hi")
    story.happen(DocumentExtracted(document=PIXEL, call_id="call_1", tool_name="look_up"))
    story.happen(DocumentExtracted(document=TABLE))
    found = chat.messages(story, blobs=BLOBS)[1:]
    assert found[0]["content"][0] == text(PREAMBLE)
    assert found[0]["content"][1]["text"].startswith('<document tool-name="look_up"')
    assert found[0]["content"][2] == IMAGE
    assert found[1]["content"].endswith('filename="t.csv" />\n\nt.csv\nx,y\n1,2')


def test_an_assistants_document_goes_as_words() -> None:
    story = Story()
    story.user("draw")
    story.assistant("here")
    story.happen(story.events[-1][1].model_copy(update={"content": (PIXEL,)}))
    request = chat.chat(story, blobs=BLOBS)
    words = "[The document a.png (image/png) cannot be shown here.]"
    assert request["messages"][2] == {"role": "assistant", "content": words}
    assert rules(request) == {"document"}
