"""`onrecord request` says of each document where it goes, and which entry decided."""

from pathlib import Path

import pytest

import onrecord
from onrecord.domain.content import Text
from onrecord.domain.events import MessageRecorded
from tests.adapters.cli.command import Command, in_process, on_a_terminal, url_of

KEY = "support/4711"
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return in_process(monkeypatch, capsys)


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A store with a picture that was looked at."""
    picture = tmp_path / "a.png"
    picture.write_bytes(PNG)
    with onrecord.connect(url_of(tmp_path)) as store:
        chat = store.conversation(KEY)
        chat.user("What is this?", documents=[picture])
        chat.log.append(MessageRecorded(role="assistant", content=(Text(text="A cat."),)))
    monkeypatch.setenv("ONRECORD_URL", url_of(tmp_path))
    return url_of(tmp_path)


def test_where_a_document_goes_is_told_beside_the_request(url: str, command: Command) -> None:
    done = command("request", KEY, "--api", "openai-chat", "--model", "gpt-4.1")
    assert "image_url" in done.out
    assert done.err.splitlines()[-1] == (
        "onrecord: version 2: image/png of a message goes where it stands: it is taken "
        "[openai-chat gpt-4.1*]"
    )


def test_as_json_it_is_a_list_of_routes(url: str, command: Command) -> None:
    model = ("--model", "deepseek-chat")
    [route] = command("request", KEY, "--api", "openai-chat", *model, "--json").document["routes"]
    assert route == {
        "version": 2,
        "media_type": "image/png",
        "modality": "image",
        "holder": "message",
        "where": "words",
        "why": "is not taken",
        "row": "openai-chat deepseek*",
    }


def test_on_a_terminal_it_stands_below_the_report(url: str) -> None:
    drawn = on_a_terminal("request", KEY, "--api", "gemini", columns=100)
    assert "image/png of a message is taken" in drawn.splitlines()[-1]
    assert "inline" in drawn.splitlines()[-1]


def test_a_prompt_that_the_model_cannot_read_ends_the_command(
    url: str, command: Command, tmp_path: Path
) -> None:
    sound = tmp_path / "a.wav"
    sound.write_bytes(b"RIFF")
    with onrecord.connect(url) as store:
        store.conversation("new").user("Listen.", documents=[sound])
    done = command("request", "new", "--api", "anthropic-messages")
    assert done.code != 0
    assert "cannot take the audio 'a.wav' (audio/" in done.err
