"""`onrecord audit`: its filters on a command line, and the request that an answer followed, byte for byte."""

import hashlib
import json
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import onrecord
from tests.adapters.cli.command import Command, in_process, url_of
from tests.sqlite_by_hand import Unruled


@pytest.fixture(autouse=True)
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("ONRECORD_URL", url_of(tmp_path))
    monkeypatch.setenv("ONRECORD_ACTOR", "ann")
    return url_of(tmp_path)


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return in_process(monkeypatch, capsys)


def asked(chat: onrecord.Conversation, said: str) -> tuple[Mapping[str, Any], int, int]:
    """Record a request and its answer; return what was sent, and the versions of both."""
    body = {"model": "gpt-5", **chat.request("openai-chat")}
    sent = chat.record_request(body, api="openai-chat")
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": said},
        "finish_reason": "stop",
    }
    answer = {"id": said, "object": "chat.completion", "created": 1, "model": "gpt-5"}
    before = chat.head().version
    chat.record_response(answer | {"choices": [choice]}, api="openai-chat", request=sent)
    return body, before, chat.head().version


def made_again(command: Command, key: str, version: int) -> Any:
    """The request behind an event, whose digest is that which the command says it has."""
    done = command("audit", "-c", key, "--request", str(version))
    assert done.code == 0, done.err
    assert hashlib.sha256(done.out.encode()).hexdigest() in done.err
    return json.loads(done.out)


def test_the_request_behind_an_answer_is_the_same_after_an_edit_a_fork_and_a_redaction(
    command: Command, url: str
) -> None:
    with closing(onrecord.connect(url)) as store:
        chat = store.conversation("chat")
        chat.user("Where is the parcel?")
        first, sent, answered = asked(chat, "In Leith.")
        chat.user("And the letter?")
        second, _, later = asked(chat, "In York.")
        chat.edit_message(2, "Where is the box?")
        edited, _, of_edited = asked(chat, "In Rye.")
        fork = chat.fork("fork", at=answered)
        fork.user("And the bill?")
        forked, _, of_fork = asked(fork, "In Bath.")
        chat.redact(2, reason="personal")
        chat.redact(answered, reason="personal")
        after, _, of_after = asked(chat, "In Ely.")
    assert "box" in json.dumps(edited)
    assert "letter" not in json.dumps(edited)
    for key, version, body in (
        *(("chat", sent, first), ("chat", answered, first), ("chat", later, second)),
        *(("chat", of_edited, edited), ("fork", of_fork, forked), ("chat", of_after, after)),
    ):
        assert made_again(command, key, version) == body
    assert json.dumps(forked).count("Leith") == 1


def test_a_request_whose_bytes_are_not_those_that_were_sent_is_not_written(
    command: Command, url: str, tmp_path: Path
) -> None:
    with closing(onrecord.connect(url)) as store:
        chat = store.conversation("chat")
        chat.user("Where is the parcel?")
        _, sent, answered = asked(chat, "In Leith.")
    (file,) = tmp_path.glob("*.db")
    by_hand = Unruled.open(file)
    by_hand.run(
        "UPDATE event SET body = cast(replace(body, 'Where is', 'Who has') AS blob) "
        "WHERE type = 'request.sent'"
    )
    by_hand.close()
    for version in (sent, answered):
        done = command("audit", "-c", "chat", "--request", str(version))
        assert (done.code, done.out) == (1, "")
        assert "parcel" not in done.err


def test_each_filter_of_the_command_finds_what_it_names(command: Command, url: str) -> None:
    with closing(onrecord.connect(url)) as store:
        chat = store.conversation("chat")
        chat.user("Where is the parcel?", documents=[b"%PDF the waybill"])
        _, sent, answered = asked(chat, "In Leith.")
        chat.annotate({"category": "health", "note": ""})
        (held,) = chat.documents()
        store.conversation("other").user("Where is the letter?")

    def found(*filters: str) -> list[list[str]]:
        return [[row[2], row[3]] for row in command("audit", *filters).columns]

    assert found("--document", held.short_id or "")[-1] == ["chat", "2"]
    assert found("--text", "leith") == [["chat", str(answered - 1)]]
    assert found("--text", "where -letter") == [["chat", "2"]]
    assert found("--outcome", "completed") == [["chat", str(answered)]]
    labelled = found("-c", "chat")
    assert len(labelled) == sent + 3
    for label in ("category=health", "category", "note="):
        assert found("--label", label) == labelled
    for label in ("category=other", "category=", "note=health", "health"):
        assert found("--label", label) == []
    assert command("audit", "--outcome", "completed").columns[0][-1] == "completed"
    refused = command("audit", "--document", "waybill.pdf")
    assert (refused.code, "short id" in refused.err) == (1, True)


def test_a_redaction_that_is_redacted_gives_its_reason_no_more(command: Command, url: str) -> None:
    with closing(onrecord.connect(url)) as store:
        chat = store.conversation("chat")
        chat.user("It was Bob.")
        told = chat.head().version
        chat.redact(told, reason="names Bob")
        redaction = chat.head().version
    asked = ("audit", "--type", "content.redacted")
    assert f"version {told}: names Bob" in command(*asked).out
    with closing(onrecord.connect(url)) as store:
        store.get("chat").redact(redaction, reason="named him again")
    report = ("--report", str(Path(url.removeprefix("sqlite:///")).with_name("audit.html")))
    for more in ((), ("--json",)):
        shown = command(*asked, *more).out
        assert "named him again" in shown
        assert "names Bob" not in shown
    assert command(*asked, *report).code == 0
    assert "names Bob" not in Path(report[1]).read_text()


def test_a_long_reason_of_a_redaction_is_cut_in_lists(command: Command, url: str) -> None:
    with closing(onrecord.connect(url)) as store:
        chat = store.conversation("chat")
        chat.user("Hello")
        chat.redact(chat.head().version, reason="why " * 1250)
    (line,) = command("audit", "--type", "content.redacted").out.splitlines()
    assert len(line) < 400
    assert "why…" in line or "wh…" in line
    entry = json.loads(command("audit", "--type", "content.redacted", "--json").out)["entries"][0]
    assert entry["redaction"]["reason"] == "why " * 1250
