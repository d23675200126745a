"""What `onrecord serve` logs: a line for each request where that is asked for, and nothing that was said."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from pathlib import Path

import pytest
import urllib3

from tests.adapters.cli.command import PROGRAM
from tests.patience import PATIENCE

KEY = "ork_0123_canary"


def logged(folder: Path, *options: str) -> list[str]:
    """The lines of a server that was asked, and told to end."""
    url = f"sqlite:///{folder / 'log.db'}"
    with subprocess.Popen(
        (*PROGRAM, "--url", url, "serve", "--port", "0", *options),
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        place = re.search(r"http://\S+", process.stderr.readline())
        assert place is not None
        prompts = f"{place[0]}/v1/conversations/a/prompts"
        for method, address, body in (
            ("POST", prompts, {"text": "canary"}),
            ("POST", prompts, {"text": ["canary"]}),
            ("GET", f"{place[0]}/proxy/{KEY}/openai/v1/models?key=canary", None),
        ):
            urllib3.request(method, address, json=body, timeout=PATIENCE, retries=False)
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
        return process.stderr.read().splitlines()


def test_a_line_of_json_a_request_has_neither_content_nor_keys(tmp_path: Path) -> None:
    lines = logged(tmp_path, "--log-format", "json", "--access-log")
    told = [json.loads(line) for line in lines]
    assert [(line["method"], line["path"]) for line in told] == [
        ("POST", "/v1/conversations/a/prompts"),
        ("POST", "/v1/conversations/a/prompts"),
        ("GET", "/proxy/***/openai/v1/models?***"),
    ]
    assert [line["status"] for line in told[:2]] == [201, 422]
    assert all("canary" not in line for line in lines)


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_without_a_fault_a_server_logs_nothing(tmp_path: Path, log_format: str) -> None:
    assert logged(tmp_path, "--log-format", log_format) == []


def test_a_line_of_text_a_request_has_neither_content_nor_keys(tmp_path: Path) -> None:
    lines = logged(tmp_path, "--access-log")
    assert len(lines) == 3
    assert all("canary" not in line for line in lines)
    assert "GET /proxy/***/openai/v1/models?*** HTTP/1.1" in lines[2]
