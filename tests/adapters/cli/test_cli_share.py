"""`onrecord share`: one file to hand on; what is hidden is not in its bytes, and the command says how much."""

from __future__ import annotations

import base64
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from uuid import UUID, uuid4

import pytest

import onrecord
from onrecord import AssistantCall
from onrecord.adapters.encryption.key_file import new_key_file
from onrecord.adapters.page.share import copying
from onrecord.adapters.service.events import EventDocument
from onrecord.adapters.store import backend_of
from onrecord.adapters.terminal import output
from onrecord.adapters.upkeep.keys import issue_key
from onrecord.domain.content import Reasoning
from onrecord.domain.events import ReasoningRecorded
from tests.adapters.cli.command import Command, in_process, url_of
from tests.adapters.page.test_conversation_page import PNG
from tests.adapters.page.test_share import spellings
from tests.adapters.service.served import served
from tests.factories import TENANT

KEY = "desk/lopez"
CODE = 'Zx"9&<ü>'
"""A word that each way of escaping spells otherwise."""

EXTRA = (
    *("aiohttp", "httptools", "jinja2", "markdown_it", "markupsafe", "nh3", "starlette"),
    *("prometheus_client", "urllib3", "uvicorn", "uvloop"),
)
"""The packages of the extra `serve`."""

NEEDS = (
    "import sys; from onrecord.adapters.cli import main; names = sys.argv.pop(1).split(',');"
    " sys.modules.update(dict.fromkeys(names)); main()"
)
"""Runs a command where some packages cannot be imported."""


@pytest.fixture
def command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Command:
    monkeypatch.setenv("ONRECORD_URL", url_of(tmp_path))
    said(tmp_path)
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path / "out")
    return in_process(monkeypatch, capsys)


def said(folder: Path) -> None:
    """Record a conversation in which there is something of each kind to hide."""
    picture = folder / "badge-photo.png"
    picture.write_bytes(PNG)
    with onrecord.connect(url_of(folder)) as store:
        chat = store.conversation(KEY, actor="Ana Lopez")
        chat.user(f"The code is {CODE}.", documents=[picture])
        thought = Reasoning(text="I ponder quietly.")
        chat.log.append(ReasoningRecorded(response=uuid4(), index=0, content=thought))
        chat.assistant("I look.", calls=[AssistantCall("look", {"code": CODE}, id="c1")])
        chat.tool_result("c1", f"Found it for ANA\u00a0LOPEZ: shelf-thirteen, {json.dumps(CODE)}")
        chat.user("regretted-prompt")
        chat.redact(chat.head().version, "wrong customer")


def files() -> list[str]:
    return sorted(path.name for path in Path.cwd().iterdir())


def test_a_word_that_is_hidden_is_in_the_file_in_no_spelling(command: Command) -> None:
    assert command("share", KEY, "--into", "whole.html").code == 0
    whole = Path("whole.html").read_text()
    assert len({each for each in spellings(CODE) if each in whole.casefold()}) > 1
    Path("names.txt").write_bytes(f"\ufeffLOPEZ\r\n\n{CODE}\r\n".encode())
    done = command("share", KEY, "--into", "hidden.html", "--word", "shelf", "--words", "names.txt")
    assert (done.code, done.err) == (0, "")
    text = Path("hidden.html").read_text().casefold()
    for piece in ("shelf", "lopez", CODE):
        assert not {each for each in spellings(piece) if each in text}, piece
        assert piece.casefold() not in unescape(unescape(text)), piece
    assert "thirteen" in text
    assert "data:image" not in text


@pytest.mark.parametrize(
    ("kind", "pieces"),
    [
        ("reasoning", ["ponder quietly"]),
        ("results", ["shelf-thirteen"]),
        ("documents", ["badge-photo", base64.b64encode(PNG).decode()]),
        ("people", ["Ana Lopez", "ANA\u00a0LOPEZ"]),
    ],
)
def test_what_is_hidden_is_not_in_the_file(command: Command, kind: str, pieces: list[str]) -> None:
    command("share", KEY, "--into", "whole.html")
    done = command("share", KEY, "--into", "hidden.html", "--hide", kind, "--json")
    whole, text = (Path(name).read_text() for name in ("whole.html", "hidden.html"))
    assert [(each in whole, each in text) for each in pieces] == [(True, False)] * len(pieces)
    assert done.document["hidden"][kind] > 0
    assert "regretted-prompt" not in whole


def test_it_says_what_is_hidden_and_at_how_many_places_each_word_stood(command: Command) -> None:
    asked = ("share", KEY, "--hide", "reasoning", "--word", "regreted", "--word", "LOPEZ")
    done = command(*asked, "--into", "a.html")
    assert done.code == 0
    first, *lines = done.out.splitlines()
    assert first.startswith(f"9 events of {KEY}, from version 1 to 9, in a.html, ")
    assert "- reasoning, hidden by whoever made this file: 1" in lines
    assert "- redacted in the record: 1" in lines
    assert lines[-2:] == ["Word 1 of the list: 0 places", "Word 2 of the list: 6 places"]
    assert "regreted" not in done.out
    shown = Path("a.html").read_text()
    assert "Word 2 of the list: <b>6 places</b>" in shown
    document = command(*asked, "--into", "b.html", "--json").document
    assert f"{sum(document['hidden'].values())} pieces of it are not in this file:" in lines[0]
    assert document["places"] == [0, 6]
    assert document["bytes"] == Path("b.html").stat().st_size


def test_a_file_that_ends_early_says_so(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copying, "_MOST_EVENTS", 2)
    done = command("share", KEY, "--into", "a.html", "--from", "2", "--to", "5", "--json")
    assert [done.document[name] for name in ("events", "first", "last", "until")] == [2, 2, 3, 5]
    assert done.err == "It ends early, 2 events before version 5: the conversation is long.\n"
    assert "It ends early, 2 events before version 5" in Path("a.html").read_text()


@pytest.mark.parametrize("form", ["markdown", "json"])
def test_a_copy_is_the_pages_and_leaves_out_what_was_redacted(command: Command, form: str) -> None:
    done = command("share", KEY, "--into", "copy", "--as", form, "--json")
    assert (done.document["hidden"], done.document["places"]) == (None, None)
    text = Path("copy").read_text()
    assert "shelf-thirteen" in text
    assert "regretted-prompt" not in text
    assert "redacted in the record" in text
    piped = command("share", KEY, "--into", "-", "--as", form)
    assert (piped.out, piped.err) == (text, "")


def test_it_shows_how_far_it_is(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = list[tuple[int, int]]()

    @contextmanager
    def progress_of(_: str) -> Generator[Callable[[int, int], None]]:
        yield lambda done, total: steps.append((done, total))

    monkeypatch.setattr(output, "progress_of", progress_of)
    command("share", KEY, "--into", "a.html", "--from", "2", "--word", "shelf")
    assert steps[0] == (0, 8)
    assert steps == sorted(set(steps))
    assert {total for _, total in steps} == {8}


def test_a_file_on_standard_output_has_its_remarks_beside_it(command: Command) -> None:
    done = command("share", KEY, "--into", "-", "--word", "shelf")
    assert done.out.startswith("<!doctype html>")
    assert "Word 1 of the list: 1 place\n" in done.err
    assert files() == []


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--word", " "), "a word to hide is empty"),
        (("--words", "empty.txt"), "empty.txt names no word to hide"),
        (("--words", "none.txt"), "there is no file none.txt"),
        (("--as", "markdown", "--word", "x"), "a copy hides no more than was redacted"),
        (("--as", "json", "--hide", "people"), "a copy hides no more than was redacted"),
        (("--hide", "everything"), "everything"),
        (("--from", "0"), "--from"),
    ],
)
def test_a_file_is_made_only_where_it_is_clear_what_is_hidden(
    command: Command, options: tuple[str, ...], why: str
) -> None:
    """An empty variable of a script names no word: a file without anything hidden must not come of it."""
    Path("empty.txt").write_text("\n \n")
    done = command("share", KEY, "--into", "a.html", *options)
    assert (done.code, done.out) == (2, "")
    assert why in done.err
    assert files() == ["empty.txt"]


def test_words_come_from_standard_input_too(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"shelf\n")))
    assert command("share", KEY, "--into", "a.html", "--words", "-").code == 0
    assert "shelf" not in Path("a.html").read_text()
    Path("latin.txt").write_bytes("Zoë".encode("latin-1"))
    done = command("share", KEY, "--into", "b.html", "--words", "latin.txt")
    assert (done.code, done.err) == (1, "onrecord: latin.txt is no text in UTF-8\n")


def test_a_conversation_or_a_stretch_that_is_not_there_makes_no_file(command: Command) -> None:
    for arguments, why in (
        (("desk/lopes",), "did you mean 'desk/lopez'?"),
        ((KEY, "--from", "99"), "there is no event from version 99: the conversation is at 9"),
        ((KEY, "--from", "5", "--to", "3"), "there is no event from version 5 to 3"),
        ((KEY, *(each for n in range(101) for each in ("--word", f"w{n}"))), "at most 100"),
    ):
        done = command("share", *arguments, "--into", "a.html")
        assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
        assert why in done.err
    assert files() == []


def test_what_was_erased_is_in_no_file(command: Command, tmp_path: Path) -> None:
    with onrecord.connect(url_of(tmp_path)) as store:
        store.conversation("gone", actor="eve").user("secret")
        gone: UUID = store.get("gone").conversation_id
        store.forget("gone", reason="asked for", actor="ada")
    done = command("share", str(gone), "--into", "gone.html")
    assert done.code == 0
    assert "- erased from the record: 2" in done.out
    assert "secret" not in Path("gone.html").read_text()


def test_a_file_that_is_there_stays_without_force(command: Command, tmp_path: Path) -> None:
    Path("a.html").write_text("mine")
    done = command("share", KEY, "--into", "a.html")
    assert (done.code, Path("a.html").read_text()) == (1, "mine")
    assert "a.html is there already: choose another, or say --force" in done.err
    assert command("share", KEY, "--into", "a.html", "--force").code == 0
    assert Path("a.html").read_text().startswith("<!doctype html>")
    Path("a.html").chmod(0o644)
    assert command("share", KEY, "--into", "a.html", "--force").code == 0
    assert Path("a.html").stat().st_mode & 0o777 == 0o600, "only its owner can read it"
    own = command("share", KEY, "--into", str(tmp_path / "talks.db"), "--force")
    assert (own.code, "is a file of the store itself" in own.err) == (1, True)


@pytest.mark.parametrize("before", [None, "mine"])
def test_ctrl_c_leaves_no_half_of_a_file(
    command: Command, monkeypatch: pytest.MonkeyPatch, before: str | None
) -> None:
    def interrupted(_: int) -> None:
        raise KeyboardInterrupt

    if before is not None:
        Path("a.html").write_text(before)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", interrupted)
        done = command("share", KEY, "--into", "a.html", "--force")
    assert (done.code, done.out) == (130, "")
    assert files() == ([] if before is None else ["a.html"])
    assert before is None or Path("a.html").read_text() == before


def test_what_is_missing_for_a_file_is_named_with_its_extra(
    command: Command, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", NEEDS, "jinja2", "share", KEY, "--into", "a.html"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "onrecord: onrecord share needs jinja2: pip install 'onrecord[serve]'\n"
    assert files() == []


@pytest.mark.parametrize("form", ["markdown", "json"])
def test_a_copy_needs_no_extra(command: Command, form: str) -> None:
    share = ("share", KEY, "--into", "-", "--as", form)
    done = subprocess.run(
        [sys.executable, "-c", NEEDS, ",".join(EXTRA), *share],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == command(*share).out


def test_a_copy_as_json_has_the_lines_of_show_and_the_keys_of_the_service(command: Command) -> None:
    copied = command("share", KEY, "--into", "-", "--as", "json")
    shown = command("show", KEY, "--json")
    assert len(copied.documents) == len(shown.documents)
    assert {*shown.documents[0]} == {*EventDocument.model_fields}
    hidden = [each for each in copied.documents if "hidden" in each]
    assert {*hidden[0]} - {*shown.documents[0]} == {"hidden"}
    for line, event, expected in zip(
        copied.out.splitlines(), copied.documents, shown.out.splitlines(), strict=True
    ):
        assert "hidden" in event or line == expected


def test_a_tenant_shares_its_own_conversations_alone(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with onrecord.connect(url_of(tmp_path)) as store:
        key = issue_key(backend_of(store), store.tenant, "reader", actor="ana", role="read").token
        other = issue_key(backend_of(store), TENANT, "other", actor="ana", role="read").token
    with monkeypatch.context() as patch:
        patch.setenv("ONRECORD_TENANT", str(TENANT))
        assert command("share", KEY, "--into", "a.html").code == 1
    with served(url_of(tmp_path)) as page:
        monkeypatch.setenv("ONRECORD_URL", page.url)
        monkeypatch.setenv("ONRECORD_KEY", other)
        refused = command("share", KEY, "--into", "a.html")
        assert (refused.code, files()) == (1, [])
        monkeypatch.setenv("ONRECORD_KEY", key)
        assert command("share", KEY, "--into", "a.html", "--hide", "people").code == 0
    text = Path("a.html").read_text()
    assert "shelf-thirteen" in text
    assert "Ana Lopez" not in text


def test_a_file_of_an_encrypted_store_is_in_clear_and_that_is_said(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    new_key_file(tmp_path / "kek")
    monkeypatch.setenv("ONRECORD_URL", f"sqlite:///{tmp_path / 'secret.db'}")
    with monkeypatch.context() as patch:
        patch.setenv("ONRECORD_KEYS", str(tmp_path / "keys.db"))
        patch.setenv("ONRECORD_KEK", str(tmp_path / "kek"))
        with onrecord.connect() as store:
            store.conversation(KEY, subjects=["ann"]).user("Where is my parcel?")
        done = command("share", KEY, "--into", "a.html")
        assert (done.code, done.err) == (0, "The store is encrypted: the file is in clear.\n")
        assert "Where is my parcel?" in Path("a.html").read_text()
    without = command("share", KEY, "--into", "b.html")
    assert (without.code, files()) == (1, ["a.html"])


@pytest.mark.parametrize("first", ["result", "denial"])
def test_the_reason_of_a_denial_goes_with_the_result_that_repeats_it(
    command: Command, tmp_path: Path, first: str
) -> None:
    with onrecord.connect(url_of(tmp_path)) as store:
        chat = store.conversation("denied")
        wipe = onrecord.tool(lambda: "wiped", name="wipe", needs_approval=True)
        chat.assistant("May I?", calls=[AssistantCall("wipe", {}, id="c9")])
        onrecord.ToolRunner(chat, [wipe]).run()
        chat.deny("c9", reason="because-of-lopez", actor="ben")
        versions = {each.type: each.version for each in chat.events()}
    shown = command("share", "denied", "--into", "-")
    assert shown.out.count("because-of-lopez") == 2
    hidden = command("share", "denied", "--into", "-", "--hide", "results")
    assert "because-of-lopez" not in hidden.out
    assert "results of tools, hidden by whoever made this file: 2" in hidden.err
    type_ = "tool_result.recorded" if first == "result" else "approval.decided"
    with onrecord.connect(url_of(tmp_path)) as store:
        store.get("denied").redact(versions[type_])
    for form in ("html", "json", "markdown"):
        done = command("share", "denied", "--into", "-", "--as", form)
        assert done.code == 0
        assert "because-of-lopez" not in done.out, form


@pytest.mark.parametrize(
    ("arguments", "data", "error"),
    [
        (["--word", "\u200b"], b"", "nothing that can be seen"),
        (["--word", "lopez", "--word", "\u200b\u00ad"], b"", "nothing that can be seen"),
        (["--words", "words.txt"], "\u200b\n \u2060".encode(), "nothing that can be seen"),
        (["--words", "words.txt"], "lopez\n\u200b".encode(), "nothing that can be seen"),
        (["--words", "words.txt"], "Ti".encode("utf-16-le"), "words.txt is no text in UTF-8"),
        (["--words", "words.txt"], "Ti".encode("utf-16-be"), "words.txt is no text in UTF-8"),
    ],
)
def test_words_of_which_nothing_can_be_found_make_no_file(
    command: Command, arguments: list[str], data: bytes, error: str
) -> None:
    Path("words.txt").write_bytes(data)
    done = command("share", KEY, "--into", "a.html", *arguments)
    assert (done.code, error in done.err, Path("a.html").exists()) == (1, True, False)
