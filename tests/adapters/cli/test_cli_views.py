"""The commands that read views and keep them: filters, pages, how they stand, a bar on a terminal."""

import hashlib
import json
import re
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import pytest

import onrecord
from onrecord.adapters.encryption.key_file import new_key_file
from onrecord.adapters.views.sqlite import builds, feeding
from onrecord.domain.events import ResponseCompleted
from tests.adapters.cli.command import Command, Done, in_process, on_a_terminal, url_of
from tests.adapters.cli.test_cli_json import LISTED
from tests.adapters.views.sqlite_places import Fragile, opened
from tests.factories import TENANT, answer, tool_call, tool_result


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("ONRECORD_ACTOR", "ann")
    with onrecord.connect(url_of(tmp_path)) as store:
        chat = store.conversation("support/4711")
        chat.user("Where is my parcel?")
        chat.log.append(tool_call("c1", "track"))
        chat.log.append(tool_result("c1", "in depot North"))
        chat.log.append(answer("It is in depot North."))
        store.conversation("support/4712").user("Is depot North open?")
    return url_of(tmp_path)


@pytest.fixture
def command(
    url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    run = in_process(monkeypatch, capsys)

    def at_the_store(*arguments: str) -> Done:
        return run(*arguments, "--url", url)

    return at_the_store


def test_search_shows_where_it_was_said(command: Command) -> None:
    done = command("search", '"depot north" -open')
    assert [(row[0], row[1], row[3], row[4]) for row in done.columns] == [
        ("support/4711", "5", "assistant", ""),
        ("support/4711", "4", "tool", "track"),
    ]
    assert done.columns[0][5] == "It is in depot North."
    assert done.err == ""


def test_a_page_says_how_to_go_on(command: Command) -> None:
    first = command("audit", "--limit", "4")
    (after,) = re.findall(r"^--after (\S+)$", first.err, re.MULTILINE)
    rest = command("audit", "--limit", "4", "--after", after)
    assert rest.err == ""
    whole = command("audit")
    assert [*first.columns, *rest.columns] == whole.columns
    assert len(whole.columns) == 7


def test_json_says_how_to_go_on_too(command: Command) -> None:
    page = command("audit", "--limit", "4", "--json").document
    rest = command("audit", "--limit", "4", "--after", page["after"], "--json").document
    assert (len(page["entries"]), len(rest["entries"]), rest["after"]) == (4, 3, None)
    assert (page["position"], page["behind"]) == (7, 0)
    assert page["entries"][0]["key"] == "support/4712"


def test_filters_take_part_of_a_view(command: Command) -> None:
    assert len(command("audit", "-c", "support/4712").columns) == 2
    assert len(command("audit", "--actor", "ann").columns) == 7
    assert command("audit", "--actor", "bob").columns == []
    assert len(command("audit", "--type", "conversation.started").columns) == 2
    assert command("audit", "--until", "2020-01-01").columns == []
    assert len(command("audit", "--since", "2020-01-01T09:30+02:00").columns) == 7
    assert [row[0] for row in command("overview", "--key", "support/4711").columns] == [
        "support/4711"
    ]
    assert [row[3] for row in command("calls", "--status", "done").columns] == ["track"]
    assert command("calls", "--status", "failed").columns == []


def test_the_audit_shows_and_finds_for_whom_something_was_done(command: Command, url: str) -> None:
    with onrecord.connect(url) as store:
        store.conversation("support/4713", on_behalf_of="mia").user("And now?")
    served = command("audit", "--on-behalf-of", "mia")
    assert [(row[1], row[2], row[-2]) for row in served.columns] == [
        ("ann", "support/4713", "mia")
    ] * 2
    (entry, _) = command("audit", "--on-behalf-of", "mia", "--json").document["entries"]
    assert entry["on_behalf_of_name"] == "mia"
    assert command("audit", "-c", "support/4711").columns[0][-1] == ""


def test_conversations_that_ran_under_a_rule_are_found(command: Command, url: str) -> None:
    with onrecord.connect(url, deployment="eu-1") as store:
        chat = store.conversation("support/4713", policy="2026-11")
        chat.user("And now?")
        chat.instruct("Answer briefly.")
    (row,) = command("in-force", "--policy", "2026-11").columns
    assert row[:4] == ["support/4713", "3", "1", "3"]
    (said, *_) = command("audit", "--policy", "2026-11", "--json").document["entries"]
    assert (said["policy"], said["deployment"]) == ("2026-11", "eu-1")
    (entry,) = command("in-force", "--instructions", said["sha256"], "--json").document["entries"]
    assert (entry["key"], entry["first_version"], entry["events"]) == ("support/4713", 3, 1)
    (shown, *_) = command("show", "support/4713", "--json").documents
    assert (shown["policy"], shown["deployment"]) == ("2026-11", "eu-1")
    assert command("in-force", "--deployment", "eu-2").columns == []


def test_the_audit_makes_the_request_again_that_an_answer_followed(
    command: Command, url: str
) -> None:
    with onrecord.connect(url) as store:
        chat = store.conversation("asked")
        chat.user("Where is it?")
        body = {"model": "gpt-5", **chat.request("openai-chat")}
        sent = chat.record_request(body, api="openai-chat")
        said = {"role": "assistant", "content": "In Leith."}
        choice = {"index": 0, "message": said, "finish_reason": "stop"}
        answer = {"id": "1", "object": "chat.completion", "created": 1, "model": "gpt-5"}
        chat.record_response(answer | {"choices": [choice]}, api="openai-chat", request=sent)
        answers = [each.version for each in chat.events() if each.version > 3]
    (line,) = command("replay", "asked").columns
    for version in (3, *answers):
        made = command("audit", "-c", "asked", "--request", str(version))
        assert json.loads(made.out) == body
        assert hashlib.sha256(made.out.encode()).hexdigest() == line[4]
        assert line[4] in made.err
    told = command("audit", "-c", "asked", "--request", "4", "--json").document
    assert (told["version"], told["sha256"], json.loads(told["body"])) == (3, line[4], body)


def test_a_request_on_a_terminal_ends_its_line(url: str) -> None:
    with onrecord.connect(url) as store:
        chat = store.conversation("asked")
        chat.user("Where is it?")
        body = {"model": "gpt-5", **chat.request("openai-chat")}
        chat.record_request(body, api="openai-chat")
    shown = on_a_terminal("audit", "-c", "asked", "--request", "3", "--url", url)
    assert "}\nrequest " in shown


def test_a_conversation_is_named_by_its_id_too(command: Command) -> None:
    (entry, _) = command("audit", "-c", "support/4712", "--json").document["entries"]
    assert len(command("audit", "-c", entry["conversation"]).columns) == 2


def test_a_key_that_looks_like_an_id_is_a_key(command: Command, url: str) -> None:
    key = "0f8fad5b-d9cb-469f-a165-70867728950e"
    with onrecord.connect(url) as store:
        store.conversation(key).user("Hello")
    assert len(command("audit", "-c", key).columns) == 2
    assert len(command("search", "hello", "-c", key).columns) == 1


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("audit", "--since", "yesterday"), 2, "is no time"),
        (("in-force",), 2, "give one of --policy"),
        (("in-force", "--policy", "1", "--model", "m"), 2, "give one of --policy"),
        (("audit", "--request", "2"), 2, "give --conversation too"),
        (("audit", "-c", "support/4711", "--request", "2"), 1, "came from no recorded request"),
        (("audit", "-c", "support/4711", "--request", "99"), 1, "has no event 99"),
        (("usage", "--since", "2026-11-21T10:00"), 2, "is no day"),
        (("usage", "--total", "--after", "x"), 2, "leave --after out"),
        (("audit", "--limit", "0"), 2, "--limit"),
        (("audit", "--after", "x"), 1, "none that a page gave"),
        (("audit", "-c", "none"), 1, "no conversation has the key 'none'"),
        (("search", "?"), 1, "nothing to look for"),
        (("calls", "--status", "lost"), 1, "one of open"),
        (("pause", "none"), 1, "there are audit"),
        (("rebuild", "none"), 1, "there are audit"),
        (("parked", "none"), 1, "there are audit"),
    ],
)
def test_what_cannot_be_asked_is_told(
    command: Command, arguments: tuple[str, ...], code: int, said: str
) -> None:
    done = command(*arguments)
    assert done.code == code
    assert said in " ".join(done.err.split())


def test_nothing_found_is_told_beside_the_output(command: Command) -> None:
    done = command("search", "zeppelin")
    assert (done.code, done.out, done.err) == (0, "", "nothing was found\n")


def test_a_command_reads_on_until_the_view_has_caught_up(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeding, "PAGE", 2)
    monkeypatch.setattr(builds, "MOST_EVENTS", 2)
    done = command("audit")
    assert (len(done.columns), done.err) == (7, "")
    document = command("search", "depot", "--json").document
    assert (len(document["entries"]), document["behind"]) == (3, 0)


def test_a_view_that_does_not_come_on_is_shown_as_it_stands(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(builds, "MOST_EVENTS", 0)
    done = command("audit")
    assert (done.columns, done.err.splitlines()[-1]) == ([], "7 events not folded yet: ask again")


def test_a_paused_view_is_seen_to_stand_still(command: Command, url: str) -> None:
    command("audit")
    assert command("pause", "audit").out == "audit: paused.\n"
    with onrecord.connect(url) as store:
        store.conversation("support/4711").user("And now?")
    assert command("audit").err == (
        "the view stands still 1 event behind: it was paused; `onrecord resume audit` lets it go on\n"
    )
    (row,) = [row for row in command("views").columns if row[0] == "audit"]
    assert row == ["audit", "1", "7", "1", "0", "paused"]
    assert command("resume", "audit").out == "audit: resumed.\n"
    assert command("audit").err == ""


def test_a_rebuild_is_another_generation(command: Command) -> None:
    before = command("audit").out
    assert command("rebuild", "audit").out == "audit: rebuilt.\n"
    assert command("audit").out == before
    (row,) = [row for row in command("views").columns if row[0] == "audit"]
    assert row[:4] == ["audit", "2", "7", "0"]
    assert command("rebuild", "audit", "--abandon").out == "audit: there was nothing to abandon.\n"


def test_views_that_catch_up_as_they_are_read_need_no_worker(command: Command) -> None:
    command("audit")
    done = command("views")
    states = {row[0]: row[-1] for row in done.columns}
    assert (states["audit"], states["usage"]) == ("", "not begun: nobody has read it")
    assert done.err == ""
    lines = command("views", "--json").documents
    assert {(line["workers"], line["parked_elsewhere"]) for line in lines} == {(None, 0)}


def test_nothing_parked_is_told(command: Command) -> None:
    done = command("parked")
    assert (done.out, done.err) == ("", "nothing is parked\n")
    assert command("retry", "audit").out == "0 parked conversations of audit tried again.\n"


def test_usage_says_what_tokens_cost(tmp_path: Path, command: Command, url: str) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text('[models."m-*"]\ninput = 3\noutput = 15\n', encoding="utf-8")
    with onrecord.connect(url) as store:
        for model in ("m-1", "n-1"):
            store.conversation("support/4711").log.append(answered(model, 1_000_000, 2))
    done = command("usage", "--prices", str(prices))
    assert [(row[2], *row[3:6], row[9]) for row in done.columns] == [
        ("m-1", "1", "1000000", "2", "3.000030"),
        ("n-1", "1", "1000000", "2", ""),
    ]
    document = command("usage", "--total", "--prices", str(prices), "--json").document
    assert [entry["cost"] for entry in document["entries"]] == ["3.000030", None]


def answered(model: str, input_tokens: int, output_tokens: int) -> ResponseCompleted:
    return ResponseCompleted(
        response=uuid4(),
        request=uuid4(),
        api="anthropic-messages",
        model=model,
        stop_reason="end_turn",
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        envelope={},
    )


def test_a_rebuild_shows_a_bar_on_a_terminal(url: str) -> None:
    shown = on_a_terminal("rebuild", "audit", "--url", url)
    assert "7/7" in shown
    assert "audit: rebuilt." in shown


@pytest.mark.parametrize("columns", [60, 80, 120])
@pytest.mark.parametrize("what", ["overview", "search", "calls", "usage", "audit", "views"])
def test_tables_fit_the_terminal(url: str, what: str, columns: int) -> None:
    asked = ("search", "depot") if what == "search" else (what,)
    shown = on_a_terminal(*asked, "--url", url, columns=columns)
    lines = re.sub(r"\x1b\[[0-9;]*m", "", shown).splitlines()
    assert max(map(len, lines), default=0) <= columns


def test_a_column_that_says_nothing_takes_no_room_on_a_terminal(url: str) -> None:
    asked = ("audit", "--url", url)
    assert "tool" in on_a_terminal(*asked, columns=120).splitlines()[1]
    assert "tool" not in on_a_terminal(*asked, "-c", "support/4712", columns=120).splitlines()[1]


def test_how_long_a_call_took_is_not_told_where_nobody_knows(command: Command, url: str) -> None:
    with onrecord.connect(url) as store:
        imported = (tool_call("c2", "weather"), tool_result("c2", "Rain, 12 degrees"))
        store.conversation("support/4712").log.append(*imported)
    took = {row[3]: row[5] for row in command("calls").columns}
    assert (took["weather"], float(took["track"]) > 0) == ("", True)
    (entry,) = command("calls", "--name", "weather", "--json").document["entries"]
    assert (entry["status"], entry["duration"]) == ("done", None)
    shown = on_a_terminal("calls", "--url", url, columns=120).splitlines()
    assert re.search(r"weather +done +\u2013 +\{\}", shown[3])


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_long_texts_leave_room_for_the_next_call(tmp_path: Path, columns: int) -> None:
    url = f"sqlite:///{tmp_path / 'long.db'}"
    with onrecord.connect(url) as store:
        chat = store.conversation("support/customer-4711/parcel-0123456789")
        chat.log.append(tool_call("c1", "mcp__filesystem__read_text_file"))
        chat.log.append(tool_result("c1", "It left depot North " + "and came to depot South " * 40))
    shown = on_a_terminal("calls", "--url", url, columns=columns)
    lines = shown.splitlines()
    (heading,) = (at for at, line in enumerate(lines) if "recorded" in line)
    assert len(lines[heading + 1 :]) <= 9
    assert {"depot", "North"} <= set(shown.split())


def test_what_is_parked_is_shown_and_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ONRECORD_TENANT", str(TENANT))
    run, url = in_process(monkeypatch, capsys), f"sqlite:///{tmp_path / 'log.db'}"
    with closing(opened(tmp_path)) as store:
        conversation = store.said("Hello", "Hi")
        store.ticking.time *= 2  # Not due for long.
        store.page(Fragile(conversations={conversation}))
    (row,) = run("parked", "--url", url).columns
    assert row[:5] == ["audit", str(conversation), "2", "message.recorded", "1"]
    assert row[6].startswith("Broken at sqlite_places.py:")
    (document,) = run("parked", "audit", "--json", "--url", url).documents
    assert set(LISTED["parked [VIEW]"]) == set(document)
    assert document["conversation"] == str(conversation)
    assert run("audit", "--url", url).err.startswith("1 conversation missing in part")
    done = run("retry", "audit", "-c", str(conversation), "--url", url)
    assert done.out == "1 parked conversation of audit tried again.\n"
    assert run("parked", "--url", url).err == "nothing is parked\n"


def test_what_an_encrypted_store_keeps_out_of_its_views_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    new_key_file(tmp_path / "kek")
    monkeypatch.setenv("ONRECORD_KEYS", str(tmp_path / "keys.db"))
    monkeypatch.setenv("ONRECORD_KEK", str(tmp_path / "kek"))
    monkeypatch.setenv("ONRECORD_URL", f"sqlite:///{tmp_path / 'encrypted.db'}")
    with onrecord.connect() as store:
        chat = store.conversation("support/4711")
        chat.user("Where is my parcel?")
        chat.log.append(tool_call("c1", "track"))
    run = in_process(monkeypatch, capsys)
    listed = run("overview")
    assert listed.columns[0][:3] == ["support/4711", "", "1"]
    assert listed.err == "title: encrypted, and not in this view (docs/encryption.md)\n"
    assert run("overview", "--json").document["encrypted"] == ["title"]
    assert run("overview", "--key", "support/4711").columns == listed.columns
    assert run("calls").err.startswith("arguments, arguments_digest, result: encrypted")
    assert run("window", "support/4711").err.startswith("prompt, answer: encrypted")
    refused = run("search", "parcel")
    assert refused.code == 1
    assert "this store is encrypted" in refused.err
    assert "put search in ONRECORD_PLAIN_VIEWS" in refused.err
    assert run("verify", "--views").code == 0
    monkeypatch.setenv("ONRECORD_PLAIN_VIEWS", "search window")
    assert [row[0] for row in run("search", "parcel").columns] == ["support/4711"]
    assert run("window", "support/4711").columns[0][5] == "Where is my parcel?"
    assert run("verify", "--views").code == 0
