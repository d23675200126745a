"""The demo from end to end, and the replay of what it recorded."""

import base64
import re
import sys
from itertools import chain
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

import onrecord
from onrecord.adapters.demo.claim import CONTEXT, SIGNAL
from onrecord.adapters.demo.clients import SDKS, is_installed
from onrecord.adapters.demo.desk import ERASURE, LEAD, REFUND_KEY, REPORT, REPORT_KEY, WINDOW
from onrecord.adapters.demo.live import KEYS
from onrecord.adapters.demo.report_pdf import parcels_in_a_van, torn_box
from onrecord.adapters.demo.screen import Wrapped
from onrecord.domain.events import RequestSent
from onrecord.domain.request_template import LiteralSpan, SharedSpan, Template
from tests.adapters.cli.command import Command, Done, in_process, on_a_terminal, run, url_of

KEY = "support/4711"


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return in_process(monkeypatch, capsys)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Done:
    """The demo told as JSON, its store in a folder that stays."""
    return run("demo", "--store", str(tmp_path_factory.mktemp("demo") / "store"), "--json")


@pytest.fixture
def told(demo: Done, monkeypatch: pytest.MonkeyPatch) -> Done:
    """The demo, its store named by ONRECORD_URL."""
    monkeypatch.setenv("ONRECORD_URL", demo.document["url"])
    return demo


class TestTheDemo:
    def test_every_request_is_proven(self, told: Done) -> None:
        replay = told.document["replay"]
        assert told.code == 0
        assert (replay["whole"], replay["rendered"], len(replay["requests"])) == (18, 18, 18)
        assert replay["proven"] is True

    def test_every_kind_of_block_is_recorded(self, told: Done, command: Command) -> None:
        types = {event["type"] for event in command("show", KEY, "--json").documents}
        assert types == {
            "conversation.started",
            "document.extracted",
            "instructions.set",
            "message.recorded",
            "reasoning.recorded",
            "request.sent",
            "response.completed",
            "response.interrupted",
            "server_tool_call.recorded",
            "server_tool_result.recorded",
            "signal.received",
            "tool_call.begun",
            "tool_call.recorded",
            "tool_result.recorded",
            "tools.declared",
        }

    def test_its_next_request_goes_as_it_was_recorded(self, told: Done, command: Command) -> None:
        document = command("request", KEY, "--json").document
        assert document["request"]["messages"][-1]["role"] == "user"
        # What Anthropic made goes back as it came; what others said goes in other words.
        rules = {(note["deed"], note["rule"]) for note in document["report"]}
        assert rules == {("translated", "foreign"), ("left out", "foreign")}
        kinds = [
            block["type"]
            for message in document["request"]["messages"]
            if message["role"] == "assistant" and isinstance(message["content"], list)
            for block in message["content"]
        ]
        assert kinds.count("thinking") + kinds.count("redacted_thinking") == 5

    def test_the_screen_says_what_could_not_travel(self, told: Done, command: Command) -> None:
        shown = command("demo").out.replace("\n", " ")
        assert "8 times reasoning of others" in shown
        assert "the document (application/pdf) is not taken" in shown

    @pytest.mark.parametrize(
        ("api", "counted"),
        [
            ("openai-chat", "40 messages"),
            ("openai-responses", "48 items"),
            ("gemini", "36 contents"),
            ("ollama", "40 messages"),
            ("bedrock-converse", "35 messages"),
        ],
    )
    def test_a_request_of_each_api_is_drawn_and_written_as_json(
        self, told: Done, command: Command, api: str, counted: str
    ) -> None:
        assert counted in on_a_terminal("request", KEY, "--api", api)
        written = command("request", KEY, "--api", api, "--json").document["request"]
        said = next(written[name] for name in ("messages", "input", "contents") if name in written)
        assert f"{len(said)} " in counted

    @pytest.mark.parametrize(
        "api", ["anthropic-messages", "openai-chat", "openai-responses", "gemini", "ollama"]
    )
    def test_the_picture_goes_to_every_model_that_is_shown_pictures(
        self, told: Done, command: Command, api: str
    ) -> None:
        drawn = base64.b64encode(parcels_in_a_van()).decode()
        assert drawn in command("request", KEY, "--api", api).out

    @pytest.mark.parametrize(
        ("api", "report", "photo"),
        [
            ("anthropic-messages", "inline", "inline"),
            ("openai-chat", "behind", "behind"),
            ("openai-responses", "inline", "inline"),
            ("gemini", "inline", "inline"),
            ("ollama", "words", "behind"),
            ("bedrock-converse", "inline", "inline"),
        ],
    )
    def test_documents_deep_in_a_result_reach_every_api_where_it_takes_them(
        self, told: Done, command: Command, api: str, report: str, photo: str
    ) -> None:
        shown = [each for each in told.document["documents"] if each["api"] == api]
        assert [(each["name"], each["where"]) for each in shown] == [
            ("claim-C-118.pdf", report),
            ("torn-box.png", photo),
        ]
        # The conversation is forked for each API as it stood when the result awaited its model.
        request = command("request", f"{KEY}/{api}", "--api", api, "--json").document["request"]
        pdf, png = (at(request, each["place"]) for each in shown)
        assert ("JVBERi" in pdf) == (report != "words")
        assert ("claim-C-118.pdf (application/pdf) cannot be shown" in pdf) == (report == "words")
        assert base64.b64encode(torn_box()).decode() in png

    def test_a_table_shows_their_places(self, command: Command) -> None:
        shown = command("demo").out
        assert "claim-C-118.pdf   in words       /messages/" in shown
        assert "torn-box.png      behind it      /messages/" in shown
        assert "torn-box.png      in the result  /contents/" in shown
        assert shown.count("answered, proven") == 6

    def test_a_signal_stands_behind_the_result_that_it_waited_for(
        self, told: Done, command: Command
    ) -> None:
        kinds = [row[3] for row in command("show", KEY).columns if row[3] != "begun"]
        at = kinds.index("signal delivery")
        assert kinds[at - 2 : at] == ["tool call", "response"]
        assert kinds[at + 1] == "result"
        said = command("request", KEY, "--json").document["request"]["messages"]
        assert said[32]["content"][0]["type"] == "tool_result"
        assert said[32]["content"][-1] == {"type": "text", "text": SIGNAL}

    def test_of_what_a_tool_was_told_the_record_keeps_what_it_may(
        self, told: Done, command: Command
    ) -> None:
        file = Path(told.document["url"].removeprefix("sqlite:///"))
        kept = b"".join(path.read_bytes() for path in file.parent.glob(f"{file.name}*"))
        assert CONTEXT["tenant_id"].encode() in kept
        assert CONTEXT["token"].encode() not in kept

    def test_what_was_searched_on_one_api_is_told_in_words_on_the_next(
        self, told: Done, command: Command
    ) -> None:
        said = command("request", KEY, "--api", "ollama", "--json").document["request"]["messages"]
        assert any("https://northwind.example/terms/late" in message["content"] for message in said)

    def test_calls_of_every_api_are_shown_by_their_arguments(
        self, told: Done, command: Command
    ) -> None:
        calls = [row[6] for row in command("show", KEY).columns if row[3] == "tool call"]
        assert calls[2:] == [
            'track_parcel {"parcel":"NW-20931"}',
            'depot_status {"depot":"North"}',
            'track_parcel {"parcel":"NW-20931"}',
            'depot_status {"depot":"North"}',
            'track_parcel {"parcel":"NW-20931"}',
            'open_claim {"parcel":"NW-20931"}',
        ]

    def test_it_goes_to_another_store_and_is_proven_there(
        self, told: Done, command: Command, tmp_path: Path
    ) -> None:
        file = tmp_path / "chat.jsonl"
        command("export", KEY, "-o", str(file))
        there = ("--url", f"sqlite:///{tmp_path / 'other.db'}")
        assert command("import", str(file), *there).code == 0
        assert command("replay", KEY, "--verify", "--json", *there).document["proven"] is True

    def test_it_leaves_nothing_behind_unless_it_is_kept(
        self, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        shown = command("demo")
        assert shown.code == 0
        assert "18 of 18 requests hash to what was sent" in shown.out
        assert "onrecord show" not in shown.out
        assert "more: onrecord demo --keep leaves the store" in shown.out
        assert "\x1b" not in shown.out
        assert list(tmp_path.iterdir()) == []

    def test_a_finished_demo_is_not_recorded_again(self, told: Done, command: Command) -> None:
        folder = Path(told.document["url"].removeprefix("sqlite:///")).parent
        again = command("demo", "--store", str(folder), "--json")
        assert again.document == told.document

    def test_a_folder_without_a_finished_demo_is_left_as_it_is(
        self, command: Command, tmp_path: Path
    ) -> None:
        (tmp_path / "notes.txt").write_text("mine")
        done = command("demo", "--store", str(tmp_path))
        assert (done.code, done.out) == (1, "")
        assert "holds no finished demo" in done.err
        assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]

    def test_it_holds_what_the_questions_of_a_newcomer_are_about(self, told: Done) -> None:
        with onrecord.connect(told.document["url"]) as store:
            report, refund = store.get(REPORT_KEY), store.get(REFUND_KEY)
            assert [held.document.name for held in report.documents()] == [REPORT]
            assert "JVBERi" in str(report.request("anthropic-messages").body)
            windowed = report.request("anthropic-messages", window=WINDOW)
            assert "JVBERi" not in str(windowed.body), "its window leaves the report out"
            assert [waiting.call.name for waiting in refund.approvals()] == ["refund"]
            (erasure,) = store.erasures()
            assert (erasure.intention.actor, erasure.intention.reason) == (LEAD, ERASURE)
            assert "content.redacted" in {event.type for event in report.events()}
            assert store.forks(KEY)
        sealed = list(
            Path(told.document["url"].removeprefix("sqlite:///")).parent.rglob("checkpoints")
        )
        assert len(list(sealed[0].iterdir())) > 1, "one seal is of before the erasure"

    def test_it_is_drawn_on_a_terminal(self) -> None:
        drawn = on_a_terminal("demo", columns=100)
        assert "\x1b[" in drawn
        assert "18 of 18 requests hash to what was sent" in drawn

    @pytest.mark.parametrize(
        "arguments", [["demo"], ["capabilities"], ["bpmn", "-"], ["check-request", "gemini", "-"]]
    )
    def test_a_command_that_uses_no_store_takes_no_url(
        self, command: Command, tmp_path: Path, arguments: list[str]
    ) -> None:
        done = command("--url", url_of(tmp_path), *arguments)
        assert (done.code, done.out) == (2, "")
        assert "uses no store that you name" in done.err

    def test_it_says_what_it_needs(self, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "anthropic", None)
        done = command("demo")
        assert done.code == 1
        assert done.err == (
            "onrecord: the demo talks through the official SDKs: pip install 'onrecord[anthropic]'\n"
        )

    @pytest.mark.parametrize("api", SDKS)
    def test_an_sdk_that_cannot_be_imported_is_not_there(
        self, api: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert is_installed(api)
        monkeypatch.setitem(sys.modules, SDKS[api][0], None)
        assert not is_installed(api)

    def test_without_the_other_sdks_it_goes_on_with_those_there(
        self, command: Command, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        there = {"anthropic-messages", "ollama"}
        monkeypatch.setattr("onrecord.adapters.demo.story.is_installed", there.__contains__)
        done = command("demo")
        assert done.code == 0
        for extra in ("openai", "gemini", "bedrock"):
            assert f"left out: pip install 'onrecord[{extra}]'" in done.out
        assert "10 of 10 requests hash to what was sent" in done.out

    def test_live_needs_a_key(self, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in chain.from_iterable(KEYS.values()):
            monkeypatch.delenv(name, raising=False)
        done = command("demo", "--live")
        assert done.code == 1
        assert "ANTHROPIC_API_KEY" in done.err


class TestReplay:
    def test_requests_are_listed_with_their_digest(self, told: Done, command: Command) -> None:
        rows = command("replay", KEY).columns
        messages = ["anthropic-messages", "claude-sonnet-5"]
        assert [row[1:3] for row in rows] == [
            *[messages] * 5,
            *[["openai-chat", "gpt-5.4"]] * 2,
            *[["openai-responses", "gpt-5.4"]] * 2,
            *[["gemini", "gemini-3-pro-preview"]] * 2,
            *[["ollama", "qwen3"]] * 2,
            *[["bedrock-converse", "us.amazon.nova-pro-v1:0"]] * 2,
            *[messages] * 3,
        ]
        assert all(len(row[4]) == 64 for row in rows)

    def test_a_terminal_gets_a_table_of_requests(self, told: Done) -> None:
        drawn = re.sub(r"\x1b\[[0-9;]*m", "", on_a_terminal("replay", KEY))
        heading, _, *rows = [line.split() for line in drawn.splitlines() if line.strip()]
        assert heading == ["at", "sent", "to", "size", "SHA-256"]
        assert [row[1] for row in rows[:6]] == [*["claude-sonnet-5"] * 5, "gpt-5.4"]
        assert len(rows) == 18

    def test_a_terminal_says_that_no_request_was_sent(self, tmp_path: Path) -> None:
        with onrecord.connect(url_of(tmp_path)) as store:
            store.conversation(KEY).user("Hello")
        drawn = on_a_terminal("replay", KEY, "--url", url_of(tmp_path))
        assert drawn == "No request was sent.\n"

    def test_verifying_says_what_was_proven(self, told: Done, command: Command) -> None:
        done = command("replay", KEY, "--verify")
        assert done.code == 0
        assert [row[5] for row in done.columns] == ["rendered again"] * 18
        assert done.err == (
            "18 of 18 requests hash to what was sent; 18 of 18 rendered again, byte for byte.\n"
        )

    def test_bytes_that_are_not_what_was_sent_are_exit_code_1(
        self, command: Command, tmp_path: Path
    ) -> None:
        with onrecord.connect(url_of(tmp_path)) as store:
            store.conversation(KEY).log.append(sent("not what was sent", digest="00" * 32))
        done = command("replay", KEY, "--verify", "--json", "--url", url_of(tmp_path))
        assert done.code == 1
        assert done.document["proven"] is False
        (request,) = done.document["requests"]
        assert (request["whole"], request["rendered"]) == (False, None)
        assert "other bytes" in request["remark"]

    def test_a_body_that_shares_with_what_is_missing_is_not_proven(
        self, command: Command, tmp_path: Path
    ) -> None:
        spans = (SharedSpan(request=uuid4(), start=0, size=4),)
        with onrecord.connect(url_of(tmp_path)) as store:
            store.conversation(KEY).log.append(sent("", digest="00" * 32, spans=spans))
        done = command("replay", KEY, "--verify", "--url", url_of(tmp_path))
        assert done.code == 1
        assert "missing" in done.columns[0][5]

    def test_a_conversation_without_requests_has_nothing_to_prove(
        self, command: Command, tmp_path: Path
    ) -> None:
        with onrecord.connect(url_of(tmp_path)) as store:
            store.conversation(KEY).user("Hello")
        done = command("replay", KEY, "--verify", "--url", url_of(tmp_path))
        assert (done.code, done.out, done.err) == (0, "", "No request was sent.\n")


def at(request: Any, place: str) -> str:
    """What stands at a JSON pointer."""
    for step in place.split("/")[1:]:
        request = request[int(step) if isinstance(request, list) else step]
    assert isinstance(request, str)
    return request


def sent(
    text: str, *, digest: str, spans: tuple[LiteralSpan | SharedSpan, ...] = ()
) -> RequestSent:
    template = Template(
        spans=spans or (LiteralSpan(text=text),), sha256=digest, size=len(text.encode())
    )
    return RequestSent(api="anthropic-messages", endpoint="/v1/messages", template=template)


@pytest.mark.parametrize("size", [1, 2, 7, 100])
def test_text_in_pieces_is_wrapped_as_if_it_came_at_once(size: int) -> None:
    text = "Dear customer,\n\nyour parcel is safe and waits for you in our depot."
    written: list[str] = []
    wrapped = Wrapped(written.append, width=24, indent="  ")
    for start in range(0, len(text), size):
        wrapped.add(text[start : start + size])
    wrapped.end()
    lines = [line.rstrip() for line in "".join(written).split("\n")]
    assert lines == [
        "  Dear customer,",
        "",
        "  your parcel is safe",
        "  and waits for you in",
        "  our depot.",
        "",
    ]
