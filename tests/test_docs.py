"""README and docs are true: every program is run and its output compared, every command is run.

In a page, the `python` blocks are one program, each followed by the `text` that it prints. The
model is a server on this machine. `console` blocks are run after them, in the same folder.
"""

import contextlib
import io
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from onrecord.adapters.cli.commands import app
from onrecord.adapters.demo.services.scenes import Answer, PlainAnswer
from onrecord.adapters.demo.services.server import DemoServer

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
COMMANDS = {
    str(command.name or command.callback.__name__)
    for command in app.registered_commands
    if command.callback
} | {str(group.name) for group in app.registered_groups}

README_ANSWERS = (
    Answer(({"type": "text", "text": "It is in depot North and should arrive on Friday."},)),
    Answer(
        ({"type": "tool_use", "id": "toolu_01", "name": "track", "input": {"parcel": "NW-20932"}},),
        stop_reason="tool_use",
    ),
    Answer(({"type": "text", "text": "That one is in depot South."},)),
)


@dataclass(frozen=True, slots=True)
class Fence:
    """A fenced block: its language, its text, and what the block after it holds, if that is text."""

    language: str
    text: str
    output: str | None


def fences(page: Path) -> list[Fence]:
    text = page.read_text(encoding="utf-8")
    found = re.findall(r"^```(\S*)[^\n]*\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    blocks: list[Fence] = []
    for at, (language, block) in enumerate(found):
        following = found[at + 1] if at + 1 < len(found) else ("", "")
        blocks.append(Fence(language, block, following[1] if following[0] == "text" else None))
    return blocks


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[DemoServer]:
    """The model that a program's client finds by the SDK's own variables."""
    thanks = PlainAnswer("You are welcome.")
    with DemoServer(README_ANSWERS, openai=lambda _api, _body: thanks) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "not a key")
        monkeypatch.setenv("OPENAI_BASE_URL", server.openai_url)
        monkeypatch.setenv("OPENAI_API_KEY", "not a key")
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", server.url)
        monkeypatch.setenv("GEMINI_API_KEY", "not a key")
        yield server


def test_the_readme_does_what_it_says(
    service: DemoServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ONRECORD_URL", raising=False)
    readme = fences(ROOT / "README.md")
    program: dict[str, Any] = {}
    for fence in readme:
        if fence.language == "python":
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(fence.text, "README.md", "exec"), program)  # noqa: S102 - it is ours
            assert printed.getvalue() == fence.output
    program["client"].close()
    program["gpt"].close()
    program["store"].close()


def lines(fence: Fence) -> list[str]:
    return [line.removeprefix("$ ") for line in fence.text.splitlines() if line.startswith("$ ")]


def run(command: str) -> None:
    binaries = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{binaries}:{os.environ['PATH']}"}
    done = subprocess.run(
        shlex.split(command), capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, f"{command}: {done.stderr}"
    assert done.stdout, command


def test_the_first_thirty_lines_say_it_all() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    beginning = "\n".join(readme.splitlines()[:30])
    assert beginning.startswith("# Onrecord\n\nOnrecord is ")
    assert "\n    make demo\n" in beginning
    assert beginning.count("\n```") == 4
    assert "\n    make test\n" in readme


def test_the_extra_that_the_readme_names_is_there() -> None:
    (listed,) = re.findall(
        r"pip install '[.\w]*\[([\w,]+)\]'", (ROOT / "README.md").read_text("utf-8")
    )
    named = listed.split(",")
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert named == ["anthropic", "openai", "gemini"]
    assert set(named) <= set(extras["optional-dependencies"])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_names_is_there_and_its_json_is_json(page: Path) -> None:
    text = page.read_text("utf-8")
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text)
    paths = re.findall(r"`((?:domain|projections|adapters|tests|docs)/[\w/.]+\.\w+)`", text)
    targets = re.findall(r"(?:`|^    |&& )make ([a-z]+)", text, re.MULTILINE)
    commands = re.findall(r"(?:`|^\$ )onrecord ([a-z]+(?:-[a-z]+)*)", text, re.MULTILINE)
    assert {
        "links": [
            link for link in links if "://" not in link and not (page.parent / link).exists()
        ],
        "files": [path for path in paths if not (ROOT / path).exists()],
        "targets of make": sorted(set(targets) - make_targets()),
        "commands": sorted(set(commands) - COMMANDS),
        "JSON": [it.text for it in fences(page) if it.language == "json" and not is_json(it.text)],
    } == {"links": [], "files": [], "targets of make": [], "commands": [], "JSON": []}


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))


def is_json(text: str) -> bool:
    """Whether a text is one JSON value, or one on each line."""
    for values in ([text], text.splitlines()):
        try:
            return bool([json.loads(value) for value in values])
        except json.JSONDecodeError:
            continue
    return False


def test_make_demo_is_the_demo_that_is_tested() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(r"^demo:.*\n\t\$\(BIN\)/onrecord demo\n", makefile, re.MULTILINE)


def test_every_command_has_a_row_on_its_page() -> None:
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert {name for name in COMMANDS if f"onrecord {name}" not in page} == set()


def test_the_readme_is_read_in_two_minutes() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 120


def test_the_readme_leads_to_every_page() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    pages = [page.name for page in (ROOT / "docs").glob("*.md")]
    assert [name for name in pages if f"(docs/{name})" not in readme] == []


def test_every_decision_is_one_short_page() -> None:
    decisions = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    numbers = [int(page.name[:4]) for page in decisions]
    # One may be on its way: its number is taken, and nobody else's.
    assert numbers[:53] == list(range(1, 54))
    assert len(set(numbers)) == len(numbers)
    for page in decisions:
        text = page.read_text(encoding="utf-8")
        assert len(text.splitlines()) < 40
        for part in ("Context", "Decision", "Consequence", "Evidence"):
            assert f"**{part}.**" in text, f"{page.name} lacks {part}"
