"""What docs/tool-context.md and docs/tool-runner.md show is run, in order, as one program each."""

import contextlib
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hansard.adapters.demo.scenes import Answer, JsonObject
from hansard.adapters.demo.server import DemoServer
from tests.test_docs import ROOT, fences, lines, run

CALLS: tuple[JsonObject, ...] = (
    {"type": "tool_use", "id": "toolu_1", "name": "track", "input": {"parcel": "NW-20931"}},
    {"type": "tool_use", "id": "toolu_2", "name": "weather", "input": {"depot": "North"}},
)
LAST: JsonObject = {"type": "text", "text": "It is in depot North; I do not know the weather."}


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A model that calls two tools, and then answers."""
    with DemoServer((Answer(CALLS, stop_reason="tool_use"), Answer((LAST,)))) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "not a key")
        yield


@pytest.mark.usefixtures("service")
@pytest.mark.parametrize("name", ["tool-context", "tool-runner"])
def test_the_page_does_what_it_says(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = ROOT / "docs" / f"{name}.md"
    program: dict[str, Any] = {}
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HANSARD_URL", raising=False)
    for fence in fences(page):
        if fence.language == "python":
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(fence.text, page.name, "exec"), program)  # noqa: S102 - it is ours
            assert printed.getvalue() == (fence.output or "")
    if "client" in program:
        program["client"].close()
    program["store"].close()
    for fence in fences(page):
        for command in lines(fence) if fence.language == "console" else ():
            run(command)
