"""What docs/recording.md shows is run, in its order, as one program."""

import gc
from pathlib import Path
from typing import Any

import pytest

import hansard
from tests.adapters.openai_server import OpenAIServer, Says
from tests.test_docs import ROOT, fences

PAGE = ROOT / "docs" / "recording.md"


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
def test_the_page_does_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program: dict[str, Any] = {}
    monkeypatch.chdir(tmp_path)
    with OpenAIServer(lambda _: Says("Hello!")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "not a key")
        for fence in fences(PAGE):
            if fence.language == "python":
                exec(compile(fence.text, PAGE.name, "exec"), program)  # noqa: S102 - it is ours
    store: hansard.Store = program["store"]
    found = {listed.key: listed.head.version for listed in store.conversations()}
    assert found == {f"support/{number}": 5 for number in (4711, 4712, 4713)}
    store.close()
    program.clear()
    gc.collect()  # The page's clients are nobody's to close.
