"""What docs/proxy.md tells each program to set makes it a recorded one."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anthropic
import boto3  # type: ignore[import-untyped]  # it has no stubs
import ollama
import openai
import pytest
from google import genai

import onrecord
from onrecord.adapters.demo.services.scenes import Answer, JsonObject, PlainAnswer
from onrecord.adapters.demo.services.server import DemoServer
from onrecord.adapters.gateway.gateway import Proxying
from onrecord.adapters.proxy.signing import BedrockSigner
from tests.adapters.proxy.proxied import PROVIDER_KEY, at
from tests.adapters.service.served import served
from tests.patience import PATIENCE
from tests.test_docs import ROOT, fences

PAGE = ROOT / "docs" / "proxy.md"
ORIGIN = "http://127.0.0.1:4180"
ROW = re.compile(r"^\| ([^|]+) \| `(\w+)` \| `(http[^`]+)` \|$", re.MULTILINE)
SAID = "Good day."
CLAUDE, CODEX, CURL = (shutil.which(name) for name in ("claude", "codex", "curl"))
GEMINI, OPENCODE = (shutil.which(name) for name in ("gemini", "opencode"))
SETTINGS = {
    program.split(" (")[0].strip("`"): (variable, value)
    for program, variable, value in ROW.findall(PAGE.read_text("utf-8"))
}


class Lenient(DemoServer):
    """A model server that takes whatever an agent sends."""

    def complaints(self, request: JsonObject) -> Any:
        del request
        return iter(())


@dataclass(frozen=True)
class Gateway:
    """The server of the page, at another port, and its store."""

    origin: str
    url: str
    home: Path

    def put(self, text: str) -> str:
        """A text of the page with the port that the server has here."""
        assert ORIGIN in text
        return text.replace(ORIGIN, self.origin)

    def environment(self, program: str, **more: str) -> dict[str, str]:
        """The environment that the page has a program started in."""
        variable, value = SETTINGS[program]
        path = {"PATH": os.environ["PATH"], "HOME": str(self.home)}
        return {**path, variable: self.put(value), **more}

    def history(self) -> tuple[str, str]:
        """The key of the one conversation, and what was said in it at the end."""
        with onrecord.connect(self.url) as store:
            (listed,) = store.conversations()
            return listed.key or "", store.get(listed.conversation_id).history()[-1].text


@pytest.fixture
def gateway(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Gateway]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAOWN")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "own")
    url = f"sqlite:///{tmp_path / 'log.db'}"
    home = tmp_path / "home"
    home.mkdir()
    said: JsonObject = {"type": "text", "text": SAID}
    plain = PlainAnswer(text=SAID)
    with (
        Lenient(
            lambda _: Answer(content=(said,)),
            openai=lambda _, __: plain,
            others=lambda _, __: plain,
        ) as provider,
        served(
            url, proxying=Proxying(at(provider.url), signer=BedrockSigner("us-east-1"))
        ) as service,
    ):
        yield Gateway(service.url, url, home)


def ask_anthropic() -> None:
    with anthropic.Anthropic(api_key=PROVIDER_KEY) as client:
        client.messages.create(
            model="claude-sonnet-5",
            max_tokens=64,
            messages=[{"role": "user", "content": "Hello"}],
        )


def ask_openai() -> None:
    with openai.OpenAI(api_key=PROVIDER_KEY) as client:
        client.responses.create(model="gpt-5", input="Hello")


def ask_gemini() -> None:
    client: Any = genai.Client(api_key=PROVIDER_KEY)
    client.models.generate_content(model="gemini-3-pro", contents="Hello")
    client.close()


def ask_ollama() -> None:
    client: Any = ollama.Client()
    client.chat(model="qwen3", messages=[{"role": "user", "content": "Hello"}])
    client.close()


def ask_bedrock() -> None:
    make: Any = boto3
    client = make.client("bedrock-runtime", region_name="us-east-1")
    said = [{"role": "user", "content": [{"text": "Hello"}]}]
    client.converse(modelId="anthropic.claude-sonnet-5", messages=said)
    client.close()


SDKS: dict[str, Callable[[], None]] = {
    "anthropic": ask_anthropic,
    "openai": ask_openai,
    "google-genai": ask_gemini,
    "ollama": ask_ollama,
    "boto3": ask_bedrock,
}


def test_each_row_of_the_page_is_tried_here() -> None:
    assert SETTINGS.keys() == {*SDKS, "Claude Code", "Gemini CLI"}


@pytest.mark.parametrize("program", SDKS)
def test_an_sdk_is_recorded_by_the_variable_of_the_page(
    gateway: Gateway, program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    variable, value = SETTINGS[program]
    monkeypatch.setenv(variable, gateway.put(value))
    SDKS[program]()
    assert gateway.history()[1] == SAID


def ran(command: list[str], environment: dict[str, str], home: Path) -> str:
    run = subprocess.run(
        command,
        capture_output=True,
        check=True,
        cwd=home,
        env=environment,
        stdin=subprocess.DEVNULL,
        text=True,
        timeout=PATIENCE,
    )
    return run.stdout


def fence(language: str) -> str:
    return next(each.text for each in fences(PAGE) if each.language == language)


@pytest.mark.skipif(CURL is None, reason="there is no curl: apt-get install curl")
def test_curl_is_recorded_as_the_page_has_it(gateway: Gateway) -> None:
    environment = {"PATH": os.environ["PATH"], "ANTHROPIC_API_KEY": PROVIDER_KEY}
    told = ran(["sh", "-c", gateway.put(fence("bash"))], environment, gateway.home)
    assert SAID in told
    assert gateway.history()[1] == SAID


@pytest.mark.skipif(CLAUDE is None, reason="no claude: npm install -g @anthropic-ai/claude-code")
def test_claude_code_is_recorded_under_its_session(gateway: Gateway) -> None:
    environment = gateway.environment("Claude Code", ANTHROPIC_API_KEY=PROVIDER_KEY)
    told = ran(
        [str(CLAUDE), "-p", "Hello", "--model", "claude-sonnet-5"], environment, gateway.home
    )
    assert told.strip() == SAID
    key, said = gateway.history()
    assert key.startswith("claude-code/")
    assert said == SAID
    assert keys_in_files(gateway) == []


@pytest.mark.skipif(CODEX is None, reason="no codex: npm install -g @openai/codex")
@pytest.mark.parametrize("websockets", ["false", "true"])
def test_codex_is_recorded_under_its_thread(gateway: Gateway, websockets: str) -> None:
    off = "supports_websockets = false"
    config = gateway.put(fence("toml"))
    assert off in config
    folder = gateway.home / ".codex"
    folder.mkdir()
    config = config.replace(off, f"supports_websockets = {websockets}")
    (folder / "config.toml").write_text(f'model = "gpt-5"\n{config}', encoding="utf-8")
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(gateway.home),
        "OPENAI_API_KEY": PROVIDER_KEY,
    }
    command = [str(CODEX), "exec", "--skip-git-repo-check", "Hello"]
    assert ran(command, environment, gateway.home).strip() == SAID
    key, said = gateway.history()
    assert key.startswith("codex/")
    assert said == SAID
    assert keys_in_files(gateway) == []


@pytest.mark.skipif(GEMINI is None, reason="no gemini: npm install -g @google/gemini-cli")
def test_the_gemini_cli_is_recorded(gateway: Gateway) -> None:
    settings = gateway.home / ".gemini" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(fence("json"), encoding="utf-8")
    environment = gateway.environment("Gemini CLI", GEMINI_API_KEY=PROVIDER_KEY)
    command = [str(GEMINI), "-p", "Hello", "-m", "gemini-2.5-flash", "--skip-trust"]
    assert ran(command, environment, gateway.home).strip() == SAID
    key, said = gateway.history()
    assert key.startswith("unbound/")
    assert said == SAID
    assert keys_in_files(gateway) == []


@pytest.mark.skipif(OPENCODE is None, reason="no opencode: npm install -g opencode-ai")
def test_opencode_is_recorded_under_its_session(gateway: Gateway) -> None:
    config = gateway.put(fence("jsonc"))
    (gateway.home / "opencode.jsonc").write_text(config, encoding="utf-8")
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(gateway.home),
        "ANTHROPIC_API_KEY": PROVIDER_KEY,
    }
    command = [str(OPENCODE), "run", "--model", "anthropic/claude-sonnet-4-5"]
    for said in (["Hello"], ["--continue", "And then?"]):
        assert SAID in ran([*command, *said], environment, gateway.home)
    with onrecord.connect(gateway.url) as store:
        key, title = sorted(listed.key or "" for listed in store.conversations())
        texts = [turn.text for turn in store.get(key).history()]
    assert key.startswith("opencode/")
    assert title == f"{key}/title"
    assert [text.strip('"\n') for text in texts] == ["Hello", SAID, "And then?", SAID]
    assert keys_in_files(gateway) == []


def keys_in_files(gateway: Gateway) -> list[str]:
    """The files of the store that hold the provider's key; those of the agent's home are its own."""
    return [
        path.name
        for path in gateway.home.parent.iterdir()
        if path.is_file() and PROVIDER_KEY.encode() in path.read_bytes()
    ]
