"""Coding agents as they are installed go through the proxy, and group themselves.

`npm install -g @anthropic-ai/claude-code @openai/codex` installs them; tried: 2.1.197 and 0.169.0.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from onrecord import Store
from onrecord.adapters.demo.services.scenes import Answer, JsonObject, PlainAnswer
from onrecord.adapters.demo.services.server import DemoServer
from tests.adapters.proxy.proxied import KEY, PROVIDER_KEY, Proxied, at, proxied
from tests.patience import PATIENCE

CLAUDE, CODEX = shutil.which("claude"), shutil.which("codex")
PONG = "Pong from the model."
CONFIG = """
model = "gpt-5"
model_provider = "onrecord"

[model_providers.onrecord]
name = "Onrecord"
base_url = "{base_url}"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
{more}
"""


class Lenient(DemoServer):
    """A model server that takes whatever an agent sends."""

    def complaints(self, request: JsonObject) -> Iterator[str]:
        return iter(())


@pytest.fixture
def server() -> Iterator[DemoServer]:
    said: JsonObject = {"type": "text", "text": PONG}
    with Lenient(
        lambda _: Answer(content=(said,)), openai=lambda _, __: PlainAnswer(text=PONG)
    ) as server:
        yield server


def ran(command: list[str | None], home: Path, **environment: str) -> str:
    """Run a program in a home of its own, and return what it says."""
    work = home / "work"
    work.mkdir()
    run = subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        check=True,
        cwd=work,
        env={"PATH": os.environ["PATH"], "HOME": str(home), **environment},
        stdin=subprocess.DEVNULL,
        text=True,
        timeout=PATIENCE,
    )
    return run.stdout


def files_with_keys(folder: Path, proxy: Proxied) -> list[str]:
    """The files of the store that hold a key, in any folder of a test but the agent's own."""
    keys = (PROVIDER_KEY.encode(), KEY.encode(), proxy.key.encode())
    return [
        path.name
        for path in folder.rglob("log.db*")
        if path.is_file() and any(key in path.read_bytes() for key in keys)
    ]


@pytest.mark.skipif(CLAUDE is None, reason="no claude: npm install -g @anthropic-ai/claude-code")
def test_claude_code_is_recorded_under_its_session(
    store: Store, server: DemoServer, tmp_path: Path
) -> None:
    with proxied(store, at(server.url)) as proxy:
        home = tmp_path / "home"
        home.mkdir()
        told = ran(
            [CLAUDE, "-p", "Say pong", "--model", "claude-sonnet-5"],
            home,
            ANTHROPIC_BASE_URL=proxy.base("anthropic"),
            ANTHROPIC_API_KEY=PROVIDER_KEY,
        )
        assert told.strip() == PONG
        (key,) = proxy.keys()
        session = server.requests[-1].headers["x-claude-code-session-id"]
        assert key == f"claude-code/{session}"
        assert proxy.only().history()[-1].text == PONG
        assert files_with_keys(tmp_path, proxy) == []


@pytest.mark.skipif(CODEX is None, reason="no codex: npm install -g @openai/codex")
@pytest.mark.parametrize("more", ["supports_websockets = false", "supports_websockets = true"])
def test_codex_is_recorded_under_its_thread(
    store: Store, server: DemoServer, tmp_path: Path, more: str
) -> None:
    with proxied(store, at(server.url)) as proxy:
        home = tmp_path / "home"
        (home / ".codex").mkdir(parents=True)
        config = CONFIG.format(base_url=proxy.base("openai", "/v1"), more=more)
        (home / ".codex" / "config.toml").write_text(config, encoding="utf-8")
        told = ran(
            [CODEX, "exec", "--skip-git-repo-check", "Say pong"], home, OPENAI_API_KEY=PROVIDER_KEY
        )
        assert told.strip() == PONG
        (key,) = proxy.keys()
        assert key == f"codex/{server.requests[-1].headers['thread-id']}"
        assert proxy.only().history()[-1].text == PONG
        assert files_with_keys(tmp_path, proxy) == []
