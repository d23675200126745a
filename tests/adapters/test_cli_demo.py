"""The demo from end to end, and the replay of what it recorded."""

import sys
from pathlib import Path
from uuid import uuid4

import pytest

import hansard
from hansard.adapters.demo.wrapping import Wrapped
from hansard.domain.events import LiteralSpan, RequestSent, SharedSpan, Template
from tests.adapters.command import Command, Done, in_process, on_a_terminal, run, url_of

KEY = "support/4711"


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return in_process(monkeypatch, capsys)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Done:
    """The demo told as JSON, its store kept."""
    return run("demo", "--keep", "--json", TMPDIR=str(tmp_path_factory.mktemp("demo")))


@pytest.fixture
def told(demo: Done, monkeypatch: pytest.MonkeyPatch) -> Done:
    """The demo, its store named by HANSARD_URL."""
    monkeypatch.setenv("HANSARD_URL", demo.document["url"])
    return demo


class TestTheDemo:
    def test_every_request_is_proven(self, told: Done) -> None:
        replay = told.document["replay"]
        assert told.code == 0
        assert (replay["whole"], replay["rendered"], len(replay["requests"])) == (10, 10, 10)
        assert replay["proven"] is True

    def test_every_kind_of_block_is_recorded(self, told: Done, command: Command) -> None:
        types = {event["type"] for event in command("show", KEY, "--json").documents}
        assert types == {
            "conversation.started",
            "instructions.set",
            "message.recorded",
            "reasoning.recorded",
            "request.sent",
            "response.completed",
            "response.interrupted",
            "server_tool_call.recorded",
            "server_tool_result.recorded",
            "tool_call.recorded",
            "tool_result.recorded",
            "tools.defined",
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
        assert "4 times reasoning that only anthropic-messages can check" in shown
        assert "2 times reasoning that only openai-responses can check" in shown

    @pytest.mark.parametrize("api", ["openai-chat", "openai-responses"])
    def test_a_request_of_each_api_is_drawn_on_a_terminal(self, told: Done, api: str) -> None:
        drawn = on_a_terminal("request", KEY, "--api", api)
        assert ("items" if api == "openai-responses" else "messages") in drawn

    def test_calls_of_openai_are_shown_by_their_arguments(
        self, told: Done, command: Command
    ) -> None:
        calls = [row[6] for row in command("show", KEY).columns if row[3] == "tool call"]
        assert calls[2:] == [
            'track_parcel {"parcel":"NW-20931"}',
            'depot_status {"depot":"North"}',
        ]

    def test_it_goes_to_another_store_and_is_proven_there(
        self, told: Done, command: Command, tmp_path: Path
    ) -> None:
        file = tmp_path / "talk.jsonl"
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
        assert "10 of 10 requests hash to what was sent" in shown.out
        assert "\x1b" not in shown.out
        assert list(tmp_path.iterdir()) == []

    def test_it_is_drawn_on_a_terminal(self) -> None:
        drawn = on_a_terminal("demo", columns=100)
        assert "\x1b[" in drawn
        assert "10 of 10 requests hash to what was sent" in drawn

    @pytest.mark.parametrize("sdk", ["anthropic", "openai"])
    def test_it_says_what_it_needs(
        self, sdk: str, command: Command, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, sdk, None)
        done = command("demo")
        assert done.code == 1
        assert done.err == (
            "hansard: the demo talks through the official SDKs: "
            "pip install 'hansard[anthropic,openai]'\n"
        )

    def test_live_needs_a_key(self, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
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
            messages,
        ]
        assert all(len(row[4]) == 64 for row in rows)

    def test_verifying_says_what_was_proven(self, told: Done, command: Command) -> None:
        done = command("replay", KEY, "--verify")
        assert done.code == 0
        assert [row[5] for row in done.columns] == ["rendered again"] * 10
        assert done.err == (
            "10 of 10 requests hash to what was sent; 10 of 10 rendered again, byte for byte.\n"
        )

    def test_bytes_that_are_not_what_was_sent_are_exit_code_1(
        self, command: Command, tmp_path: Path
    ) -> None:
        with hansard.connect(url_of(tmp_path)) as store:
            store.conversation(KEY).append(sent("not what was sent", digest="00" * 32))
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
        with hansard.connect(url_of(tmp_path)) as store:
            store.conversation(KEY).append(sent("", digest="00" * 32, spans=spans))
        done = command("replay", KEY, "--verify", "--url", url_of(tmp_path))
        assert done.code == 1
        assert "missing" in done.columns[0][5]

    def test_a_conversation_without_requests_has_nothing_to_prove(
        self, command: Command, tmp_path: Path
    ) -> None:
        with hansard.connect(url_of(tmp_path)) as store:
            store.conversation(KEY).user("Hello")
        done = command("replay", KEY, "--verify", "--url", url_of(tmp_path))
        assert (done.code, done.out, done.err) == (0, "", "No request was sent.\n")


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
