"""Reports of the audit: whole or not there, with nothing in them that a browser would run."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import sys
from collections.abc import Iterator
from contextlib import closing
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Final

import pytest
from uuid_utils.compat import uuid7

import onrecord
from onrecord.adapters.reports import audit_report
from onrecord.adapters.reports.audit_report import AuditReport
from onrecord.adapters.reports.formats import written_as
from onrecord.adapters.seals.key_files import make_key_file
from onrecord.adapters.settings import settings
from onrecord.adapters.storage.atomic_files import write_atomically
from onrecord.adapters.store import backend_of
from onrecord.domain.content import ToolCall
from onrecord.domain.events import ToolCallRecorded
from onrecord.domain.header import SALT_SIZE
from onrecord.domain.log import Append
from onrecord.domain.marks.marked_ids import destroyed_key_id, operators_of
from onrecord.domain.new_events import Stamp, draft_fact
from onrecord.domain.operators import SubjectKeyDestroyed
from onrecord.domain.seals.checkpoint import key_name_of, log_id_of
from tests.adapters.cli.command import Command, in_process

HOSTILE: Final = (
    '=HYPERLINK("http://evil","x")</td><script>alert(1)</script>'
    "\u202egnp.exe\u2066\x1b[31m\x07\t\r\n&lt;'\u2028"
)
SHOWN: Final = (
    '=HYPERLINK("http://evil","x")</td><script>alert(1)</script>'
    r"\u202egnp.exe\u2066\x1b[31m\x07\t\r\n&lt;'\u2028"
)
SAID: Final = "What nobody may read here"
STYLE: Final = re.compile(r"<style>(.*)</style>", re.DOTALL)


class Page(HTMLParser):
    """The elements of a page, the texts in its cells, and what its tags carry."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.texts: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return in_process(monkeypatch, capsys)


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[onrecord.Store]:
    """A store in which every name is hostile, with a hold and an erasure."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ONRECORD_URL", "sqlite:///talks.db")
    monkeypatch.setenv("ONRECORD_ACTOR", "eve")
    with closing(onrecord.connect(policy="2026-11", deployment="eu-1")) as store:
        chat = store.conversation(HOSTILE, actor=HOSTILE, on_behalf_of=f"for {HOSTILE}")
        chat.user(SAID, documents=[b"%PDF the waybill"])
        chat.record_request({"model": HOSTILE, **chat.request("openai-chat")}, api="openai-chat")
        call = ToolCall(id="c", name=HOSTILE, arguments={"said": SAID})
        chat.log.append(ToolCallRecorded(call_id="c", name=HOSTILE, content=call))
        chat.tool_result("c", SAID, is_error=True)
        chat.annotate({"category": "health"})
        store.conversation("gone").user(SAID)
        store.retention.place_hold(HOSTILE, reason=HOSTILE, matter=HOSTILE, actor=HOSTILE)
        store.forget("gone", reason=HOSTILE, actor=HOSTILE)
        yield store


def test_a_page_shows_hostile_names_as_they_are_and_runs_nothing(command: Command) -> None:
    done = command("audit", "--report", "audit.html", "--actor", HOSTILE)
    assert (done.code, done.err) == (0, "")
    text = Path("audit.html").read_text("utf-8")
    page = Page(text)
    assert not page.tags & {"script", "img", "a", "iframe", "object", "form", "link", "base"}
    assert page.attributes <= {"lang", "charset", "http-equiv", "content", "name", "class"}
    assert sum(SHOWN in each for each in page.texts) > 20
    assert escape(SHOWN) in text
    assert SAID not in text
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028]", text)
    assert "http" not in (STYLE.search(text) or [""])[0]


def test_a_page_allows_its_own_style_alone(command: Command) -> None:
    command("audit", "--report", "audit.html")
    text = Path("audit.html").read_text("utf-8")
    style = STYLE.findall(text)
    assert len(style) == 1
    digest = base64.b64encode(hashlib.sha256(style[0].encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'" in text
    # Spreadsheets that open a page take its cells for text, whatever they begin with.
    assert 'mso-number-format: "\\@"' in style[0]


def test_a_page_says_who_made_it_of_what_and_what_was_asked(
    command: Command, store: onrecord.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = log_id_of(backend_of(store).digest)
    make_key_file(Path("key"), key_name_of(log))
    monkeypatch.setenv("ONRECORD_SEALS", "seals")
    monkeypatch.setenv("ONRECORD_SEAL_KEY", "key")
    assert command("seal").code == 0
    filters = ("--since", "2026-03-03", "--label", "category=health", "--outcome", "failed")
    done = command("audit", *filters, "--report", "audit.html")
    assert done.out.startswith("The report has 1 entry. It is in audit.html")
    texts = " ".join(Page(Path("audit.html").read_text("utf-8")).texts)
    for fact in (
        *("by eve", str(log), str(backend_of(store).incarnation()), "2026-03-03 00:00 UTC"),
        *("With the outcome failed", "category", "health", "Shard 0 sealed to ", "root 0:"),
        *("Erasures, legal holds and retention classes", "erasure.intended", "hold.placed"),
    ):
        assert fact in texts, fact


def test_a_report_tells_of_the_seals_that_it_is_given(
    command: Command, store: onrecord.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_key_file(Path("key"), key_name_of(log_id_of(backend_of(store).digest)))
    monkeypatch.setenv("ONRECORD_SEALS", "seals")
    monkeypatch.setenv("ONRECORD_SEAL_KEY", "key")
    assert command("seal").code == 0
    given = settings().seals
    monkeypatch.delenv("ONRECORD_SEALS")
    (sealed,) = AuditReport(store, {}, "eve", given).heading.seals
    assert sealed[0].checkpoint.shard == 0
    assert AuditReport(store, {}, "eve").heading.seals == ()


def test_lines_of_json_hold_everything_as_it_is_and_count_it(command: Command) -> None:
    command("audit", "--report", "audit.jsonl")
    lines = Path("audit.jsonl").read_bytes().splitlines(keepends=True)
    heading, *entries, end = map(json.loads, lines)
    assert (heading["onrecord"], heading["made_by"], heading["seals"]) == (
        *("audit report", "eve"),
        [],
    )
    assert end == {
        "onrecord": "end",
        "lines": len(lines) - 1,
        "sha256": hashlib.sha256(b"".join(lines[:-1])).hexdigest(),
    }
    told = command("audit", "--limit", "1000", "--json").document["entries"]
    assert [
        {name: each[name] for name in each if name != "onrecord"}
        for each in entries
        if each["onrecord"] == "entry"
    ] == told
    assert {each["tool"] for each in told} == {None, HOSTILE}
    kept = [each["type"] for each in entries if each["onrecord"] == "upkeep"]
    assert kept == ["erasure.completed", "erasure.intended", "hold.placed"]
    assert SAID.encode() not in b"".join(lines)


def test_a_file_that_is_there_stays_and_an_unknown_ending_is_refused(command: Command) -> None:
    Path("audit.html").write_text("mine")
    for name, complaint in (("audit.html", "is there already"), ("audit.csv", ".jsonl")):
        done = command("audit", "--report", name)
        assert (done.code, complaint in done.err) == (1, True)
    assert Path("audit.html").read_text() == "mine"
    assert not Path("audit.csv").exists()
    assert command("audit", "--report", "x.html", "--after", "1").code == 2
    assert command("audit", "--report", "talks.db").code == 1


@pytest.mark.parametrize("ending", ["html", "jsonl"])
def test_an_interrupted_report_leaves_nothing(
    store: onrecord.Store, tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_report, "PAGE", 2)
    folder = tmp_path / "reports"
    folder.mkdir()
    report = AuditReport(store, {}, "eve")
    pages: list[object] = []

    def interrupted(self: Any, filters: Any, after: str | None) -> Any:
        pages.append(after)
        if len(pages) == 2:
            raise KeyboardInterrupt
        return self._store.views.audit(**filters, limit=2, after=after)

    monkeypatch.setattr(AuditReport, "_page", interrupted)
    file = folder / f"audit.{ending}"
    with pytest.raises(KeyboardInterrupt):
        write_atomically(file, written_as(file)(report), replace=False)
    assert len(pages) == 2
    assert list(folder.iterdir()) == []


def test_entries_are_read_by_the_page_and_all_of_them_once(
    store: onrecord.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_report, "PAGE", 2)
    report = AuditReport(store, {"conversation": HOSTILE, "label": None}, "eve")
    entries = list(report.entries())
    expected = store.views.audit(conversation=HOSTILE)
    assert [(each.type, each.version) for each in entries] == [
        (each.type, each.version) for each in expected
    ]
    assert report.tally.count == len(entries) > 4
    assert report.tally.kinds["tool"] == {HOSTILE: 1}


def test_all_that_is_done_about_what_is_kept_is_told_in_order_of_time(
    store: onrecord.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_report, "PAGE", 2)
    store.retention.set_class("unlimited", rule="6", actor="ana")
    store.retention.clear_class(reason="asked to", actor="ana")
    store.retention.set_class("six-years", rule="6", actor="ana")
    destroy_key(store)
    told = list(AuditReport(store, {}, "eve").upkeep())
    assert [each.type for each in told] == [
        *("subject_key.destroyed", "retention.set", "retention.cleared", "retention.set"),
        *("erasure.completed", "erasure.intended", "hold.placed"),
    ]
    assert [each.actor_name for each in told[1:4]] == ["ana", "ana", "ana"]


def destroy_key(store: onrecord.Store) -> None:
    """Record that the key of a subject goes, as an erasure of the subject does."""
    operators, stream = operators_of(store.tenant), destroyed_key_id(store.tenant, "k")
    at = 1_795_000_000_000_000
    fact = SubjectKeyDestroyed(tenant=store.tenant, key="k", erasure=uuid7(), at=at)
    stamp = Stamp(uuid7(), at, bytes(SALT_SIZE), operators, stream)
    backend_of(store).append([Append(operators, stream, (draft_fact(fact, stamp),))])


def test_all_names_are_listed_and_counted_those_that_come_most_often_first(
    command: Command, store: onrecord.Store
) -> None:
    chat = store.conversation("many")
    calls = [ToolCall(id=f"{n}", name=f"tool {min(n, 60)}", arguments={}) for n in range(70)]
    for call in calls:
        content = call.model_copy(update={"name": "others"}) if call.id == "0" else call
        chat.log.append(ToolCallRecorded(call_id=call.id, name=content.name, content=content))
    report = AuditReport(store, {}, "eve")
    assert sum(1 for _ in report.entries()) == report.tally.count
    tools = report.tally.kinds["tool"]
    assert (len(tools), tools["others"], tools["tool 60"]) == (62, 1, 10)
    command("audit", "--report", "audit.html")
    texts = Page(Path("audit.html").read_text("utf-8")).texts
    summed = texts[texts.index("Tool") :]
    assert summed[1:3] == ["tool 60", "10"]
    assert {*tools} - {HOSTILE} <= {*summed}


@pytest.mark.parametrize("ending", ["html", "jsonl"])
def test_a_report_by_id_holds_no_key(command: Command, store: onrecord.Store, ending: str) -> None:
    chat = store.conversation("patient/4711")
    chat.user(SAID)
    asked = ("audit", "-c", "patient/4711", "--json")
    for extra in ((), ("--by-id",)):
        assert command(*asked, "--report", f"audit{len(extra)}.{ending}", *extra).code == 0
    with_key, by_id = (Path(f"audit{n}.{ending}").read_text("utf-8") for n in (0, 1))
    assert ("patient/4711" in with_key, "patient/4711" in by_id) == (True, False)
    assert str(chat.conversation_id) in by_id
    assert ("keys, which may be personal" in with_key) == (ending == "html")
    listed = command(*asked, "--by-id").document["entries"]
    assert {each["key"] for each in listed} == {None}


def test_without_pyarrow_parquet_says_what_to_install(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    done = command("audit", "--report", "audit.parquet")
    assert done.code == 1
    assert "pip install 'onrecord[reports]'" in done.err
    assert not Path("audit.parquet").exists()
