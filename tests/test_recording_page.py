"""What docs/recording.md shows is run, in its order, as one program."""

import gc
from pathlib import Path
from typing import Any

import pytest

import onrecord
from onrecord.adapters.conversation.rendering import replays
from onrecord.adapters.demo.services.scenes import PlainAnswer
from onrecord.adapters.demo.services.server import DemoServer
from tests.test_docs import ROOT, fences

PAGE = ROOT / "docs" / "recording.md"


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
def test_the_page_does_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program: dict[str, Any] = {}
    monkeypatch.chdir(tmp_path)
    hello = PlainAnswer("Hello!")
    with DemoServer(
        [], openai=lambda _api, _body: hello, others=lambda _api, _body: hello
    ) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.openai_url)
        for name in ("GOOGLE_GEMINI_BASE_URL", "OLLAMA_HOST", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME"):
            monkeypatch.setenv(name, server.url)
        for name in ("OPENAI_API_KEY", "GEMINI_API_KEY", "AWS_ACCESS_KEY_ID"):
            monkeypatch.setenv(name, "not a key")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "not a key")
        monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        for fence in fences(PAGE):
            if fence.language == "python":
                exec(compile(fence.text, PAGE.name, "exec"), program)  # noqa: S102 - it is ours
    store: onrecord.Store = program["store"]
    found = {listed.key: listed.head.version for listed in store.conversations()}
    versions = {"4711": 5, "4712": 5, "4713": 5, "4714": 13, "4715": 10, "4716": 2, "4717": 5}
    assert found == {f"support/{name}": version for name, version in versions.items()}
    outcomes = list(replays(program["chat"]))
    assert [outcome.is_rendered for outcome in outcomes] == [True, True, True]
    store.close()
    program.clear()
    gc.collect()  # The page's clients are nobody's to close.
