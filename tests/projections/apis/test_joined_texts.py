"""How texts of one message are joined where an API holds one text only."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import onrecord
from onrecord.domain.content import Native, Text, ToolResult
from onrecord.domain.events import MessageRecorded, ToolResultRecorded
from onrecord.projections.apis.answers import joined, joint
from onrecord.projections.apis.request import Options
from tests.projections.apis.bedrock import bedrock_happenings as bedrock
from tests.projections.apis.gemini import gemini_happenings as gemini
from tests.projections.happenings import Story, text

JOINS = ("openai-chat", "ollama")
PICTURE = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (("Hello", " ", "world"), "Hello world"),
        (("Hello", "world"), "Hello\n\nworld"),
        (("Hello ", "world"), "Hello world"),
        (("Hello", "\nworld"), "Hello\nworld"),
        (("Hello\n", "world"), "Hello\n\nworld"),
        (("Hello\n\n", "world"), "Hello\n\nworld"),
        (("Hello", "", "world"), "Hello\n\nworld"),
        (("\n", "Hello", " "), "Hello"),
    ],
)
@pytest.mark.parametrize("api", JOINS)
def test_texts_are_joined_as_they_are_where_white_space_parts_them_else_by_an_empty_line(
    tmp_path: Path, api: str, texts: tuple[str, ...], expected: str
) -> None:
    with onrecord.connect(f"sqlite:///{tmp_path / 'chat.db'}") as store:
        chat = store.conversation("joined")
        chat.user(*texts)
        assert chat.request(api)["messages"][0]["content"] == expected


def test_white_space_at_a_joint_is_looked_for_on_both_sides() -> None:
    assert joint("", "a") == joint("a ", "b") == joint("a", "\tb") == ""
    assert joint("a", "b") == "\n\n"
    assert joined(["a", "b", " c"]) == "a\n\nb c"


def test_blank_text_beside_a_picture_is_left_out_with_a_note(tmp_path: Path) -> None:
    with onrecord.connect(f"sqlite:///{tmp_path / 'chat.db'}") as store:
        chat = store.conversation("joined")
        chat.user("Look:", PICTURE, " ", "And?")
        request = chat.request("openai-chat", model="gpt-5")
    kinds = [(part["type"], part.get("text")) for part in request["messages"][0]["content"]]
    assert kinds == [("text", "Look:"), ("image_url", None), ("text", "And?")]
    assert [note.rule for note in request.report] == ["C4"]


@pytest.mark.parametrize("api", [*JOINS, "openai-responses", "gemini", "bedrock-converse"])
def test_a_blank_text_of_another_api_is_left_out_with_a_note(api: str) -> None:
    with onrecord.connect("memory://") as store:
        chat = store.conversation("blank")
        said = [Native(api="anthropic-messages", value=text(words)) for words in ("hi", "\n")]
        chat.log.append(MessageRecorded(role="user", content=tuple(said)))
        report = chat.request(api).report
    assert [note.why for note in report if note.deed == "left out"] == ["blank text"]


@pytest.mark.parametrize("api", [*JOINS, "gemini", "bedrock-converse"])
def test_a_blank_result_that_goes_as_text_is_left_out_with_a_note(api: str) -> None:
    story = Story()
    story.user("hi")
    story.happen(
        ToolResultRecorded(call_id="x", content=ToolResult(call_id="x", content=(Text(text=" "),)))
    )
    report = story.request(Options(api=api)).report
    assert [note.why for note in report if note.deed == "left out"] == ["blank text"]


def answered(api: str, *texts: str) -> Story:
    """Return a story with an answer of an API's, which says texts in a part each."""
    story = Story()
    story.user("hi")
    match api:
        case "gemini":
            gemini.answers(story, *({"text": said} for said in texts))
        case "bedrock-converse":
            bedrock.answers(story, *({"text": said} for said in texts))
        case _:
            story.ask()
            story.answer(*map(text, texts))
    story.user("go on")
    return story


MAKERS = ("anthropic-messages", "bedrock-converse", "gemini")
JOINERS = ("openai-chat", "openai-responses", "ollama", "gemini")


@pytest.mark.parametrize(
    "pieces", [("Hello", " ", "wor", "ld"), ("", "Hel", "", "lo world")], ids=["blank", "empty"]
)
@pytest.mark.parametrize(
    ("maker", "target"),
    [(maker, target) for maker in MAKERS for target in JOINERS if maker != target],
)
def test_pieces_of_one_answer_are_joined_with_nothing_between(
    maker: str, target: str, pieces: tuple[str, ...]
) -> None:
    request = answered(maker, *pieces).request(Options(api=target))
    assert '"Hello world"' in json.dumps(dict(request.body))


def test_parts_of_gemini_go_back_to_it_as_they_came() -> None:
    request = answered("gemini", "Hello", " ", "wor", "ld").request(Options(api="gemini"))
    parts = request["contents"][1]["parts"]
    assert parts == [{"text": "Hello"}, {"text": " "}, {"text": "wor"}, {"text": "ld"}]


@pytest.mark.parametrize("api", JOINS)
def test_the_text_of_a_file_is_a_paragraph_of_its_own(tmp_path: Path, api: str) -> None:
    (tmp_path / "notes.txt").write_text("first\nlast\n")
    with onrecord.connect(f"sqlite:///{tmp_path / 'chat.db'}") as store:
        chat = store.conversation("joined")
        chat.user("Read:", tmp_path / "notes.txt", "Be brief.")
        content = chat.request(api)["messages"][0]["content"]
    assert content == "Read:\n\nnotes.txt\nfirst\nlast\n\nBe brief."
