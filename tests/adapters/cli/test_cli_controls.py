"""No command writes what would steer a terminal, wherever it comes from; JSON keeps it by escapes."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

import onrecord
from onrecord.adapters.cli.commands import app
from onrecord.adapters.demo.screen import Screen
from onrecord.adapters.store import backend_of
from onrecord.adapters.terminal import output
from onrecord.adapters.transfer.export import export
from onrecord.adapters.upkeep.keys import issue_key
from tests.adapters.cli.command import Command, in_process, on_a_terminal
from tests.factories import answer, tool_call

NASTY = "a\x1b]0;b\x07 \x9b2J\x7f \u202ec\u2066 \u2028 [red]d[/red] :smile: \r\n\te"
RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
STYLES = re.compile(r"\x1b\[[0-9;]*m")
FORK = f"fork {NASTY}"
NO_KEY = "4f4e524b-5482-8efd-a31c-4e1331d6f8c6"


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return in_process(monkeypatch, capsys)


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[onrecord.Store]:
    """A store in which each name that a caller, a model or a tool chooses is a nasty one."""
    folder = tmp_path / NASTY.replace("/", "")
    folder.mkdir()
    monkeypatch.setenv("ONRECORD_URL", f"sqlite:///{quote(str(folder / 'talks.db'))}")
    monkeypatch.chdir(folder)
    with onrecord.connect() as store:
        chat = store.conversation(NASTY, actor=NASTY, on_behalf_of=f"for {NASTY}")
        chat.instruct(NASTY)
        chat.tools.declare(
            [{"name": "look", "description": NASTY, "input_schema": {"type": "object"}}]
        )
        chat.user(NASTY, documents=[named_document(folder)])
        chat.log.append(answer(NASTY), tool_call(NASTY, NASTY))
        chat.tool_result(NASTY, NASTY)
        chat.log.append(answer(NASTY))
        chat.set_tool_context({"who": NASTY}, persist=["who"])
        chat.fork(FORK)
        issue_key(backend_of(store), store.tenant, NASTY, actor=NASTY)
        yield store


def named_document(folder: Path) -> Path:
    path = folder / f"{NASTY.replace('/', '')}.txt"
    path.write_text("what it holds")
    return path


EACH: dict[str, list[tuple[str, ...]]] = {
    "demo": [],
    "serve": [],
    "mcp": [],
    "conversations": [()],
    "show": [(NASTY,), (NASTY, "--lines"), (f"no {NASTY}",)],
    "share": [
        (NASTY, "--into", f"out {NASTY}".replace("/", ""), "--word", NASTY),
        (f"no {NASTY}", "--into", "a.html"),
    ],
    "request": [(NASTY, "--api", "gemini"), (NASTY, "--api", NASTY)],
    "diff": [(NASTY, "4", "8"), (NASTY, "4", "8", "--api", NASTY)],
    "why": [(NASTY, "4"), (NASTY, "6", "--to-start"), (f"no {NASTY}", "4")],
    "check-request": [("request.json", "--api", "openai-chat")],
    "replay": [(NASTY,), (NASTY, "--verify")],
    "tail": [],
    "tools": [(NASTY,), (NASTY, "--all"), (NASTY, "--api", "ollama")],
    "documents": [(NASTY,), (NASTY, "--save", NASTY.replace("/", ""))],
    "capabilities": [(), ("gemini", "--model", NASTY)],
    "context": [(NASTY,), (NASTY, "--set", f"who={NASTY}")],
    "fork": [(NASTY, f"another {NASTY}")],
    "retract-answer": [(NASTY,)],
    "edit-message": [(NASTY, "1", NASTY)],
    "compact": [(NASTY, NASTY)],
    "redact": [(NASTY, "3", "--reason", NASTY)],
    "approvals": [(), (NASTY,), (f"no {NASTY}",)],
    "approve": [(NASTY, NASTY, "--reason", NASTY, "--actor", NASTY)],
    "deny": [(NASTY, NASTY, "--reason", NASTY, "--actor", NASTY)],
    "bpmn": [("model.bpmn",)],
    "forget": [(FORK, "--yes"), (NASTY, "--yes"), (f"no {NASTY}", "--yes")],
    "forget-actor": [(NASTY, "--yes"), (f"no {NASTY}", "--yes")],
    "erase": [("--subject", NASTY, "--rule", NASTY, "--yes")],
    "verify": [(), (NASTY,)],
    "sweep": [()],
    "seal-key": [("seal.key",), (NASTY,)],
    "seal": [()],
    "kek": [("kek",), (NASTY,)],
    "rotate-keys": [()],
    "move": [("--into", f"sqlite:///{NASTY}", "--dry-run"), ("--into", NASTY)],
    "checkpoint": [(), ("--at", "1")],
    "export": [(NASTY, "-o", f"out {NASTY}".replace("/", "")), (NASTY, "-o", f"no/{NASTY}")],
    "evidence": [(NASTY, "--out", "out", "--seal"), (NASTY, "--out", "out", "--seals", NASTY)],
    "proof": [(NASTY, "1"), (NASTY, NASTY), (f"no {NASTY}", "1")],
    "import": [
        ("export.jsonl", "--check"),
        ("export.jsonl", "--as", NASTY),
        (f"no {NASTY}",),
        ("history.json", "--api", "openai-chat", "--key", f"kept {NASTY}"),
    ],
    "migrate": [()],
    "overview": [()],
    "search": [("what",), (NASTY,)],
    "window": [(NASTY,)],
    "audit": [(), ("--label", NASTY), ("--text", NASTY), ("--report", f"{NASTY}.txt")],
    "in-force": [("--policy", NASTY), ("--model", NASTY), ("--instructions", NASTY)],
    "calls": [(), ("--tool", NASTY)],
    "usage": [()],
    "access": [(), ("--actor", NASTY), ("--conversation", NASTY)],
    "views": [()],
    "parked": [(), (NASTY,)],
    "rebuild": [("search",), (NASTY,)],
    "pause": [("search",), (NASTY,)],
    "resume": [("search",), (NASTY,)],
    "retry": [("search",), (NASTY,), ("search", "--conversation", NASTY)],
    "worker": [("--once",)],
    "expire": [("--no-archive",), ("--archive", f"at {NASTY}".replace("\0", ""), "--actor", NASTY)],
    "holds": [
        ("place", NASTY, "--matter", NASTY, "--reason", NASTY),
        ("list",),
        ("lift", NASTY, "--reason", NASTY),
    ],
    "retention": [
        ("set", "six-months", "--rule", NASTY, "--label", NASTY),
        ("set", NASTY, "--rule", NASTY),
        ("clear", NASTY, "--reason", NASTY),
        ("clear", "--label", NASTY, "--reason", NASTY),
        ("list",),
    ],
    "keys": [("issue", NASTY), ("list",), ("revoke", NASTY), ("revoke", NO_KEY, "--reason", NASTY)],
}
"""What each command is tried with. The demo, the servers and the tail have tests of their own."""

IN_JSON = dict.fromkeys(range(0x7F, 0x206A))
"""What JSON text may hold as it is."""

CASES = [(name, *case) for name, cases in EACH.items() for case in cases]


def names_of_commands() -> set[str]:
    listed = app.registered_commands
    groups = {str(group.name) for group in app.registered_groups}
    return groups | {
        each.name or getattr(each.callback, "__name__", "").replace("_", "-") for each in listed
    }


def test_every_command_is_tried() -> None:
    assert names_of_commands() == set(EACH)


@pytest.fixture(autouse=True)
def files(store: onrecord.Store) -> None:
    """What commands read: an export, a history, a request and a model, nasty each of them."""
    history = [{"role": "user", "content": NASTY}, {"role": NASTY, "content": NASTY}]
    Path("history.json").write_text(json.dumps(history))
    Path("request.json").write_text(json.dumps({"messages": [{"role": NASTY, NASTY: NASTY}]}))
    Path("model.bpmn").write_text(f"<definitions {NASTY.replace(chr(0), '')}>")
    lines = export(backend_of(store), store.conversation(NASTY).conversation_id, NASTY)
    Path("export.jsonl").write_bytes(b"".join(lines))


def is_request(case: tuple[str, ...]) -> bool:
    """Whether a command writes the bytes that would be sent, for a program that sends them."""
    return case[0] in ("request", "tools") and "--api" in case


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_nothing_piped_steers_a_terminal(command: Command, case: tuple[str, ...]) -> None:
    done = command(*case)
    raw = RAW.findall(done.out.translate(IN_JSON) if is_request(case) else done.out)
    assert [raw, RAW.findall(done.err)] == [[], []]
    assert (
        done.out
        or done.err
        or case[0] in ("approvals", "replay", "calls", "parked", "holds", "retention")
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_nothing_drawn_steers_a_terminal_or_is_markup(
    command: Command, case: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output, "is_drawn", lambda: True)
    done = command(*case)
    assert [RAW.findall(done.out), RAW.findall(done.err)] == [[], []]
    assert "😄" not in done.out + done.err


@pytest.mark.parametrize(
    "case",
    [case for case in CASES if case[0] not in ("worker", "export")],
    ids=lambda case: case[0],
)
def test_json_keeps_what_was_said_by_escapes(command: Command, case: tuple[str, ...]) -> None:
    done = command(*case, "--json")
    assert [RAW.findall(done.out), RAW.findall(done.err)] == [[], []]
    for line in done.out.splitlines():
        json.loads(line)


def test_json_is_exact(command: Command) -> None:
    assert {each["key"] for each in command("conversations", "--json").documents} == {NASTY, FORK}


def test_a_lone_surrogate_is_its_escape_in_json(store: onrecord.Store, command: Command) -> None:
    with onrecord.connect() as other:
        other.conversation("odd").log.append(answer("half of \ud83d"))
    assert "\\ud83d" in command("show", "odd", "--json").out
    assert "half of \\ud83d" in command("show", "odd").out


@pytest.mark.parametrize(
    "case",
    [
        ("conversations",),
        ("show", NASTY),
        ("show", f"no {NASTY}"),
        (f"no {NASTY}",),
        ("show", f"--{NASTY}"),
        ("show", NASTY, NASTY),
        ("import", f"no {NASTY}"),
        ("request", NASTY, "--api", "gemini"),
        ("export", NASTY),
        ("--help",),
        ("show", "--help"),
    ],
)
def test_nothing_on_a_terminal_steers_it(case: tuple[str, ...]) -> None:
    code = {"--help": 0}.get(case[-1], 0)
    if case[0].startswith("no ") or case[1:2] == (f"--{NASTY}",) or case[1:3] == (NASTY, NASTY):
        code = 2
    elif case[1:2] == (f"no {NASTY}",):
        code = 1 if case[0] == "show" else 2
    drawn = on_a_terminal(*case, code=code, ONRECORD_ACTOR=NASTY)
    assert RAW.findall(STYLES.sub("", drawn)) == []


def test_a_request_that_is_drawn_can_be_read_as_json(store: onrecord.Store, tmp_path: Path) -> None:
    """However narrow the terminal is, and whatever was said."""
    text = f"A line of words that is longer than any terminal here is wide, and more.\n{NASTY}"
    chat = store.conversation("long")
    chat.user(text)
    drawn = STYLES.sub("", on_a_terminal("request", "long", "--api", "openai-chat", columns=80))
    request, end = json.JSONDecoder().raw_decode(drawn)
    assert request["messages"] == [{"role": "user", "content": text}]
    assert "1 message" in drawn[end:]


def test_bytes_that_would_be_sent_are_escaped_on_a_terminal_without_colours() -> None:
    drawn = on_a_terminal("request", NASTY, "--api", "gemini", NO_COLOR="1")
    assert RAW.findall(drawn) == []
    assert "\\u009b2J" in drawn
    json.loads(drawn.splitlines()[0])


def test_what_python_itself_writes_is_escaped() -> None:
    program = (
        "import logging, sys, warnings\n"
        "from onrecord.adapters.cli import escape_diagnostics\n"
        "escape_diagnostics()\n"
        "warnings.warn(sys.argv[1])\n"
        "logging.getLogger('onrecord').error('%s', sys.argv[1])\n"
        "raise ValueError(sys.argv[1])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, NASTY], capture_output=True, text=True, check=False
    )
    assert done.stderr.count("\\x1b]0;b\\x07") >= 3
    assert RAW.findall(done.stderr) == []


def test_the_demo_draws_texts_as_texts(capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen(quiet=False)
    screen.heading(NASTY, NASTY)
    screen.prompt(NASTY, [NASTY])
    screen.called(NASTY, NASTY)
    screen.result(NASTY, NASTY)
    screen.remark(NASTY)
    shown = capsys.readouterr().out
    assert RAW.findall(shown) == []
    assert "[red]" in shown


def test_a_table_that_nobody_escaped_is_escaped_where_it_is_drawn(
    capsys: pytest.CaptureFixture[str],
) -> None:
    from rich.table import Table

    table = Table(NASTY)
    table.add_row(NASTY)
    output.console().print(table, NASTY)
    shown = capsys.readouterr().out
    assert RAW.findall(shown) == []
    assert "[red]" in shown


def test_only_one_module_writes_to_the_terminal_and_one_draws_on_it() -> None:
    adapters = Path(__file__).parents[3] / "adapters"
    writing = re.compile(r"(?<![\w.])print\(|sys\.(__)?std(out|err)(__)?\.write|typer\.(s?echo)\(")
    drawing = re.compile(r"(?<!\w)Console\(|import .*\bConsole\b")
    sources = {
        path.relative_to(adapters).as_posix(): path.read_text(encoding="utf-8")
        for folder in ("cli", "demo", "terminal")
        for path in adapters.glob(f"{folder}/**/*.py")
    }
    assert {name for name, text in sources.items() if writing.search(text)} == {
        "terminal/output.py",
        "cli/__init__.py",
        "cli/program/application.py",  # The version, on which nobody has an influence.
    }
    drawn = {
        name
        for name, text in sources.items()
        for line in text.splitlines()
        if drawing.search(line) and not line.startswith("    from rich.console import Console")
    }
    assert drawn == {"terminal/console.py"}
