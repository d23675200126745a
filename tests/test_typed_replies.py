"""A type checker knows what a call returns that is made with a request of a conversation.

pyright takes the values of a mapping for any argument, `stream` too, and so for none of the SDK's
overloads: a call that says `stream` itself leaves one.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROGRAM = """
import anthropic
import ollama
import openai
from google import genai

import onrecord

chat = onrecord.connect("memory://").conversation("support/4711")
claude = chat.record(anthropic.Anthropic())
gpt = chat.record(openai.OpenAI())
gemini = chat.record(genai.Client())
local = chat.record(ollama.Client())
reveal_type(
    claude.messages.create(
        model="m", max_tokens=1, stream=False, **chat.request("anthropic-messages")
    )
)
reveal_type(gpt.responses.create(model="m", stream=False, **chat.request("openai-responses")))
reveal_type(gpt.chat.completions.create(model="m", stream=False, **chat.request("openai-chat")))
reveal_type(gemini.models.generate_content(model="m", **chat.request("gemini")))
reveal_type(local.chat(model="m", stream=False, **chat.request("ollama")))
"""
REPLIES = ["Message", "Response", "ChatCompletion", "GenerateContentResponse", "ChatResponse"]


def test_pyright_knows_the_reply_of_a_call_that_says_whether_it_streams(tmp_path: Path) -> None:
    pytest.importorskip("pyright")
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    settings = {"typeCheckingMode": "basic", "extraPaths": [str(ROOT / "src")]}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable]
    done = subprocess.run(
        [*command, "program.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    found = json.loads(done.stdout)["generalDiagnostics"]
    revealed = [each["message"] for each in found if each["severity"] == "information"]
    assert [message.rsplit(" is ", 1)[1].strip('"') for message in revealed] == REPLIES
    assert [each["message"] for each in found if each["severity"] == "error"] == []
