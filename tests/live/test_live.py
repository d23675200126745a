"""The conversation with the real services, held with a server on this machine in their place.

The SDKs find it by their own variables. Its model reads: what it says, it took from the request.
"""

import base64
import json
import re
from collections.abc import Iterator

import pytest

from hansard.adapters.demo.live import names
from hansard.adapters.demo.sayings import Called, OpenAIApi, Said
from hansard.adapters.demo.scenes import Answer, JsonObject, Scene
from hansard.adapters.demo.server import DemoServer
from tests.adapters.command import Command, in_process

CALL = Called("track_parcel", {"parcel": "NW-20931"})


def seen(request: JsonObject) -> str:
    """All that a request shows to the model, its PDFs read."""
    text = json.dumps(request)
    pdfs = re.findall(r"JVBER[A-Za-z0-9+/=]+", text)
    return "".join([text, *(base64.b64decode(pdf).decode("latin-1") for pdf in pdfs)])


def answer_of(request: JsonObject) -> str | None:
    """What a model says that reads; None where it has to ask the tool first."""
    shown = seen(request)
    gate = re.search(r"gate (G\d+)", shown)
    reference = re.search(r"reference (NR\d+)", shown)
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


def on_openai(api: OpenAIApi, request: JsonObject) -> Said:
    said = answer_of(request)
    reasons = api == "openai-responses"
    return Said(calls=(CALL,), reasons=reasons) if said is None else Said(said, reasons=reasons)


def forgetful(api: OpenAIApi, request: JsonObject) -> Said:
    return Said("I cannot tell.")


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return in_process(monkeypatch, capsys)


def take_the_place(server: DemoServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_BASE_URL", server.openai_url)


@pytest.fixture
def services(monkeypatch: pytest.MonkeyPatch) -> Iterator[DemoServer]:
    with DemoServer(on_anthropic, openai=on_openai) as server:
        take_the_place(server, monkeypatch)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "not a key")
        monkeypatch.setenv("OPENAI_API_KEY", "not a key")
        yield server


def test_each_service_reads_the_pdf_uses_the_tool_and_knows_what_others_were_told(
    services: DemoServer, command: Command
) -> None:
    done = command("demo", "--live", "--json")
    assert done.code == 0
    assert list(done.document) == ["url", "checks"]
    told = [(check["api"], check["what"]) for check in done.document["checks"] if check["holds"]]
    chain = ["anthropic-messages", "openai-chat", "openai-responses"]
    for api, following in zip(chain, [*chain[1:], chain[0]], strict=True):
        assert (api, "names what stands in the PDF alone") in told
        assert (api, "names what the tool gave") in told
        assert (following, f"knows what {api} was told") in told
        assert (api, "every request is proven") in told
    assert len(told) == len(done.document["checks"]) == 12


def test_a_service_without_a_key_is_skipped_and_said_to_be(
    services: DemoServer, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    done = command("demo", "--live")
    assert done.code == 0
    assert "openai-chat: skipped, OPENAI_API_KEY is not set" in done.out
    assert "openai-responses: skipped, OPENAI_API_KEY is not set" in done.out
    assert {request.path for request in services.requests} == {"/v1/messages"}


def test_a_model_that_does_not_know_is_exit_code_1(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "not a key")
    with DemoServer([], openai=forgetful) as server:
        take_the_place(server, monkeypatch)
        done = command("demo", "--live")
    assert done.code == 1
    assert "names what stands in the PDF alone" in done.out


def test_a_service_that_refuses_does_not_keep_the_others_from_being_asked(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "not a key")
    monkeypatch.setenv("OPENAI_API_KEY", "not a key")
    with DemoServer([], openai=on_openai) as server:
        take_the_place(server, monkeypatch)
        done = command("demo", "--live", "--json")
    assert done.code == 1
    failed = {check["api"] for check in done.document["checks"] if not check["holds"]}
    held = {check["api"] for check in done.document["checks"] if check["holds"]}
    assert "anthropic-messages" in failed
    assert held == {"openai-chat", "openai-responses"}


@pytest.mark.parametrize("said", ["NR123456", "NR 123456", "`nr-123456`", "No. NR-123,456."])
def test_a_fact_is_named_however_it_is_spelled(said: str) -> None:
    assert names(said, "NR123456")
    assert not names("NR123457", "NR123456")
