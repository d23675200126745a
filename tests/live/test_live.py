"""The conversation with the real services, held with a server on this machine in their place.

The SDKs find it by their own variables. Its model reads: what it says, it took from the request.
"""

import base64
import json
import re
from collections.abc import Iterator
from itertools import chain

import pytest

from onrecord.adapters.demo.live import KEYS, names
from onrecord.adapters.demo.services.scenes import (
    Answer,
    FunctionCall,
    JsonObject,
    OpenAIApi,
    OtherApi,
    PlainAnswer,
    Scene,
)
from onrecord.adapters.demo.services.server import DemoServer
from tests.adapters.cli.command import Command, in_process

CREDENTIALS = (
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "GEMINI_API_KEY",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
)
CALL = FunctionCall("track_parcel", {"parcel": "NW-20931"})


def seen(request: JsonObject) -> str:
    """All that a request shows to the model, its PDFs read."""
    text = json.dumps(request)
    pdfs = re.findall(r"JVBER[A-Za-z0-9+/=]+", text)
    return "".join([text, *(base64.b64decode(pdf).decode("latin-1") for pdf in pdfs)])


def answer_of(request: JsonObject) -> str | None:
    """What a model says that reads; None where it has to ask the tool first."""
    shown = seen(request)
    gate = re.search(r"gate (G\d+)", shown)
    reference = re.search(r"\b(NR\d{6})\b", shown)
    return f"{reference and reference[1]} and {gate[1]}" if gate else None


def on_anthropic(request: JsonObject) -> Scene:
    said = answer_of(request)
    if said is not None:
        return Answer(({"type": "text", "text": said},))
    call: JsonObject = {
        "type": "tool_use",
        "id": "toolu_01",
        "name": CALL.name,
        "input": CALL.arguments,
    }
    return Answer((call,), stop_reason="tool_use")


def on_others(api: OpenAIApi | OtherApi, request: JsonObject) -> PlainAnswer:
    said = answer_of(request)
    reasons = api in ("openai-responses", "gemini")
    return (
        PlainAnswer(calls=(CALL,), reasons=reasons)
        if said is None
        else PlainAnswer(said, reasons=reasons)
    )


def forgetful(api: OpenAIApi | OtherApi, request: JsonObject) -> PlainAnswer:
    return PlainAnswer("I cannot tell.")


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return in_process(monkeypatch, capsys)


def take_the_place(server: DemoServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_BASE_URL", server.openai_url)
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", server.url)
    monkeypatch.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", server.url)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    for name in chain.from_iterable(KEYS.values()):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def services(monkeypatch: pytest.MonkeyPatch) -> Iterator[DemoServer]:
    with DemoServer(on_anthropic, openai=on_others, others=on_others) as server:
        take_the_place(server, monkeypatch)
        for name in CREDENTIALS:
            monkeypatch.setenv(name, "not a key")
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        yield server


def test_each_service_reads_the_pdf_uses_the_tool_and_knows_what_others_were_told(
    services: DemoServer, command: Command
) -> None:
    done = command("demo", "--live", "--json")
    assert done.code == 0
    assert list(done.document) == ["url", "checks"]
    told = [(check["api"], check["what"]) for check in done.document["checks"] if check["holds"]]
    apis = list(KEYS)
    for api, following in zip(apis, [*apis[1:], apis[0]], strict=True):
        # Ollama is shown pictures alone.
        assert ((api, "names what stands in the PDF alone") in told) == (api != "ollama")
        assert (api, "names what the tool gave") in told
        assert (following, f"knows what {api} was told") in told
        assert (api, "every request is proven") in told
    assert len(told) == len(done.document["checks"]) == 4 * len(apis) - 1


def test_a_service_without_a_key_is_skipped_and_said_to_be(
    services: DemoServer, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (*CREDENTIALS, "OLLAMA_HOST"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "not a key")
    done = command("demo", "--live")
    assert done.code == 0
    told = " ".join(done.out.split())
    assert "openai-chat: skipped, OPENAI_API_KEY is not set" in told
    assert "openai-responses: skipped, OPENAI_API_KEY is not set" in told
    assert "gemini: skipped, GEMINI_API_KEY or GOOGLE_API_KEY is not set" in told
    assert "ollama: skipped, OLLAMA_HOST is not set" in told
    assert {request.path for request in services.requests} == {"/v1/messages"}


def test_a_model_that_does_not_know_is_exit_code_1(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    with DemoServer([], openai=forgetful) as server:
        take_the_place(server, monkeypatch)
        monkeypatch.setenv("OPENAI_API_KEY", "not a key")
        done = command("demo", "--live")
    assert done.code == 1
    assert "names what stands in the PDF alone" in done.out


def test_a_service_that_refuses_does_not_keep_the_others_from_being_asked(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    with DemoServer([], openai=on_others, others=on_others) as server:
        take_the_place(server, monkeypatch)
        for name in CREDENTIALS:
            monkeypatch.setenv(name, "not a key")
        done = command("demo", "--live", "--json")
    assert done.code == 1
    failed = {check["api"] for check in done.document["checks"] if not check["holds"]}
    held = {check["api"] for check in done.document["checks"] if check["holds"]}
    assert "anthropic-messages" in failed
    assert held == {"openai-chat", "openai-responses", "gemini", "bedrock-converse"}


@pytest.mark.parametrize("said", ["NR123456", "NR 123456", "`nr-123456`", "No. NR-123,456."])
def test_a_fact_is_named_however_it_is_spelled(said: str) -> None:
    assert names(said, "NR123456")
    assert not names("NR123457", "NR123456")
