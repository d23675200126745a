"""Documents that another server holds: Onrecord never asks for them."""

import socket

import pytest

import onrecord
from onrecord.projections.api import FOLDERS
from onrecord.projections.apis.documents import Form
from tests.adapters.tools.conversations import call_tools

URL = onrecord.Document(media_type="application/pdf", url="https://files.example/report.pdf")


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The addresses that anything tried to reach."""
    tried: list[object] = []

    def refuse(*given: object, **_: object) -> None:
        tried.append(given)
        raise OSError("no network in this test")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    return tried


@pytest.mark.parametrize("tags", ["short-id", "doc-reference"])
def test_a_document_at_an_address_is_recorded_and_rendered_without_a_connection(
    connections: list[object], tags: Form
) -> None:
    chat = onrecord.connect("memory://").conversation("support/4711")
    call_tools(chat, ("find", {}))
    chat.tool_result("call_1", {"files": [URL]})
    for api in FOLDERS:
        chat.request(api, tags=tags)
    chat.signal({"more": URL})
    chat.request("anthropic-messages", tags=tags)
    assert [document.document.url for document in chat.documents()] == [URL.url, URL.url]
    assert connections == []


@pytest.mark.parametrize("api", ["bedrock-converse", "ollama"])
def test_an_api_that_takes_no_addresses_says_so_of_a_picture_at_one(api: str) -> None:
    chat = onrecord.connect("memory://").conversation("support/4711")
    picture = onrecord.Document(media_type="image/png", url="https://files.example/a.png")
    chat.user("What is it?", documents=[picture])
    takes = onrecord.CapabilityOverride(user=("image", "text"))
    with pytest.raises(
        onrecord.UnsupportedDocument, match="given by an address, and only its"
    ) as told:
        chat.request(api, capability_override=takes)
    assert ": give its bytes, ask another model" in str(told.value)
