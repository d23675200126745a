"""`onrecord documents`: what is listed, and that saving writes over nothing and outside of nothing."""

from __future__ import annotations

from collections.abc import Iterator
from errno import ENOSPC
from pathlib import Path

import pytest

import onrecord
from onrecord.adapters.conversation import history_queries
from onrecord.adapters.conversation.conversation import stream_of
from onrecord.domain.content import Document
from onrecord.domain.events import MessageRecorded
from tests.adapters.cli.command import Command, in_process, on_a_terminal, url_of
from tests.adapters.found_results import call

KEY = "support/4711"
PDF = b"%PDF-1.7 the report"
PNG = b"\x89PNG\r\n\x1a\n a picture"
URL = Document(media_type="image/png", name="map.png", url="https://example.com/map.png")


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return in_process(monkeypatch, capsys)


@pytest.fixture(autouse=True)
def chat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> onrecord.Conversation:
    monkeypatch.setenv("ONRECORD_URL", url_of(tmp_path))
    (tmp_path / "report.pdf").write_bytes(PDF)
    chat = onrecord.connect().conversation(KEY)
    call(chat)
    chat.tool_result("call_1", {"hits": [tmp_path / "report.pdf"], "map": URL})
    chat.user("And this?", documents=[PNG])
    return chat


def named(chat: onrecord.Conversation, name: str, data: bytes = PDF) -> None:
    """A document of any name, as another writer of the log may have recorded it."""
    blob = stream_of(chat).put((data,))
    held = Document(media_type="application/pdf", name=name, blob=blob)
    chat.log.append(MessageRecorded(role="user", content=(held,)))


def test_each_document_is_a_line(command: Command) -> None:
    assert command("documents", KEY).columns == [
        [
            *("5", "tool", "look", "call_1", "/hits/0", "report.pdf", "application/pdf"),
            *("19", "eb32a192", ""),
        ],
        [
            *("6", "tool", "look", "call_1", "/map", "map.png", "image/png", ""),
            *("https://example.com/map.png", ""),
        ],
        ["7", "user", "", "", "", "", "image/png", "18", "e90cd45d", ""],
    ]


def test_they_are_told_as_they_stood_at_a_version(command: Command) -> None:
    assert len(command("documents", KEY, "--at", "6").columns) == 2
    assert command("documents", KEY, "--at", "3").columns == []
    done = command("documents", KEY, "--at", "99")
    assert (done.code, "no version 99" in done.err) == (1, True)


def test_json_has_the_whole_digest(command: Command) -> None:
    first, link, _ = command("documents", KEY, "--json").documents
    assert first["sha256"].startswith(first["short_id"])
    assert (first["size"], first["file"]) == (19, None)
    assert (link["url"], link["sha256"]) == ("https://example.com/map.png", None)


def test_a_terminal_shows_a_table(tmp_path: Path) -> None:
    drawn = on_a_terminal("documents", KEY, columns=160, ONRECORD_URL=url_of(tmp_path))
    assert "tool look call_1 /hits/0" in drawn
    assert "19 bytes" in drawn


def test_saving_writes_each_into_a_file_of_its_name(command: Command, tmp_path: Path) -> None:
    folder = tmp_path / "papers" / "new"
    done = command("documents", KEY, "--save", str(folder))
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {
        "report.pdf": PDF,
        "e90cd45d.png": PNG,
    }
    assert done.err == f"onrecord: 2 files written to {folder}; 1 at an address, not fetched\n"
    assert done.columns[0][-1] == str(folder / "report.pdf")


def test_saving_writes_over_nothing(command: Command, tmp_path: Path) -> None:
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "report.pdf").write_text("mine")
    outside = tmp_path / "outside"
    (folder / "report (2).pdf").symlink_to(outside)
    command("documents", KEY, "--save", str(folder))
    assert (folder / "report.pdf").read_text() == "mine"
    assert (folder / "report (3).pdf").read_bytes() == PDF
    assert not outside.exists()


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("../../evil.pdf", "evil.pdf"),
        ("/etc/passwd", "passwd"),
        ("..\\..\\evil.pdf", "evil.pdf"),
        ("..", "eb32a192.pdf"),
        (".bashrc", "bashrc"),
        ("a\x00b\nc.pdf", "abc.pdf"),
        ("C:evil.pdf", "C_evil.pdf"),
        ("x" * 300 + ".pdf", "x" * 251 + ".pdf"),
        ("\u202efdp.exe", "fdp.exe"),
        ("", "eb32a192.pdf"),
    ],
)
def test_no_name_leads_out_of_the_folder(
    command: Command, chat: onrecord.Conversation, tmp_path: Path, name: str, file: str
) -> None:
    named(chat, name)
    folder = tmp_path / "a" / "b" / "papers"
    before = {path for path in tmp_path.rglob("*") if folder not in path.parents}
    done = command("documents", KEY, "--save", str(folder))
    assert done.code == 0
    assert (folder / file).read_bytes() == PDF
    after = {path for path in tmp_path.rglob("*") if folder not in path.parents}
    assert after - before <= {folder, folder.parent, folder.parent.parent} | {
        path for path in after if path.name.startswith("talks.db")
    }


def test_two_documents_of_one_name_are_two_files_and_the_same_one_twice_is_one(
    command: Command, chat: onrecord.Conversation, tmp_path: Path
) -> None:
    named(chat, "report.pdf", b"%PDF another")
    named(chat, "report.pdf", b"%PDF another")
    command("documents", KEY, "--save", str(tmp_path / "papers"))
    assert {path.name for path in (tmp_path / "papers").iterdir()} == {
        *("report.pdf", "report (2).pdf", "e90cd45d.png")
    }


def test_a_name_that_is_as_long_as_may_be_gets_a_number_too(
    command: Command, chat: onrecord.Conversation, tmp_path: Path
) -> None:
    for data in (b"%PDF one", b"%PDF two"):
        named(chat, "ä" * 150 + ".pdf", data)
    folder = tmp_path / "papers"
    assert command("documents", KEY, "--save", str(folder)).code == 0
    assert {path.name for path in folder.iterdir()} > {
        "ä" * 125 + ".pdf",
        "ä" * 123 + " (2).pdf",
    }


def test_half_of_a_document_is_no_file(
    command: Command, chat: onrecord.Conversation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def half(*_: object) -> Iterator[bytes]:
        yield PDF[:5]
        raise OSError(ENOSPC, "No space left on device")

    monkeypatch.setattr(history_queries, "pieces_of", half)
    done = command("documents", KEY, "--save", str(tmp_path / "papers"))
    assert (done.code, "No space left" in done.err) == (1, True)
    assert list((tmp_path / "papers").iterdir()) == []


def test_a_folder_that_is_a_file_is_said_so(command: Command, tmp_path: Path) -> None:
    done = command("documents", KEY, "--save", str(tmp_path / "report.pdf"))
    assert done.code == 1
    assert "cannot be written to" in done.err
