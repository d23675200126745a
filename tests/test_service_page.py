"""docs/service.md is true: a server without any setting answers what the page shows, within its limits."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import urllib3

from onrecord.adapters.cli.serve import serve
from onrecord.adapters.service.bodies import Limits
from tests.adapters.cli.command import PROGRAM
from tests.patience import PATIENCE
from tests.test_docs import ROOT, fences, lines

PAGE = ROOT / "docs" / "service.md"
PORT = "4180"


@pytest.fixture
def port(tmp_path: Path) -> Iterator[str]:
    """The port of a server that was given nothing but that."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("ONRECORD_")}
    with subprocess.Popen(
        (*PROGRAM, "serve", "--port", "0"),
        cwd=tmp_path,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        try:
            place = re.search(r"http://\S+:(\d+)", process.stderr.readline())
            assert place is not None
            yield place[1]
        finally:
            process.terminate()
            process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert (tmp_path / "onrecord.db").exists()


def test_a_server_without_any_setting_answers_as_the_page_shows(port: str) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    for shown in [fence for fence in fences(PAGE) if fence.language == "console"]:
        answers = [
            subprocess.run(
                shlex.split(command.replace(PORT, port)), check=True, capture_output=True, text=True
            ).stdout
            for command in lines(shown)
        ]
        assert answers == (shown.output or "").splitlines()


@pytest.mark.parametrize("path", ["/openapi.json", "/health", "/ready"])
def test_the_paths_that_the_page_names_answer_without_a_key(port: str, path: str) -> None:
    assert f"`{path}`" in PAGE.read_text("utf-8")
    answer = urllib3.request("GET", f"http://127.0.0.1:{port}{path}", timeout=PATIENCE)
    assert answer.status == 200


def test_the_page_tells_the_limits_that_there_are() -> None:
    text, limits = PAGE.read_text("utf-8"), Limits()
    assert f"| {limits.body >> 20} MiB, and {limits.body_seconds:.0f} s to arrive |" in text
    assert f"| the values of a body of JSON | {limits.values:,} | 413 |" in text
    assert (
        f"| an answer of a route, but for the verification of the whole log | {limits.answer_seconds:.0f} s |"
        in text
    )
    assert f"| {limits.open_requests}, of one key {limits.open_requests // 2} |" in text
    assert f"| {limits.tails:,}, of one key {limits.tails // 2:,} |" in text
    assert f"client_max_body_size {limits.body >> 20}m;" in text


def test_the_options_and_the_port_that_the_page_names_are_there() -> None:
    text = PAGE.read_text("utf-8")
    options = set(re.findall(r"`--([a-z-]+)", text)) - {"url"}
    assert {"log-format", "access-log", "allow-host"} <= options
    assert options <= {name.replace("_", "-") for name in serve.__annotations__}
    assert f"http://127.0.0.1:{PORT};" in text
