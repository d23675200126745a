"""Headers that bind a call are this store's own: nobody makes one out of what he may see."""

import hmac
import json
import re
from collections.abc import Iterator
from pathlib import Path

import openai
import pytest

import onrecord
from onrecord.adapters.store import backend_of
from tests.adapters.openai_clients import Clients
from tests.adapters.openai_server import OpenAIServer, Says

HEADER = "onrecord-conversation"


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(lambda _: Says("Hello!")) as running:
        yield running


@pytest.fixture
def clients() -> Iterator[Clients]:
    with Clients() as made:
        yield made


@pytest.fixture
def store(tmp_path: Path) -> Iterator[onrecord.Store]:
    with onrecord.connect(f"sqlite:///{tmp_path / 'talks.db'}", actor="support-bot") as opened:
        yield opened


def test_an_actor_put_into_anothers_header_is_refused(
    store: onrecord.Store, server: OpenAIServer, clients: Clients
) -> None:
    client = store.record(clients.of(openai.OpenAI, server))
    of_ana = store.conversation("talk", actor="ana").headers[HEADER]
    of_bob = store.conversation("talk", actor="bob").headers[HEADER]
    of_nobody = store.conversation("talk").headers[HEADER]
    forged = [
        of_ana.partition(".")[0] + "." + of_bob.partition(".")[2],
        of_ana.partition(".")[0] + "." + of_nobody.partition(".")[2],
        of_nobody.replace(".", ";" + backend_of(store).digest("ana").hex() + ";."),
    ]
    for header in forged:
        with pytest.raises(onrecord.NotRecorded):
            clients.ask(client, extra_headers={HEADER: header})
    assert server.received == []
    assert store.conversation("talk").events() == []


def test_a_digest_of_what_is_no_text_proves_nothing(
    store: onrecord.Store, server: OpenAIServer, clients: Clients
) -> None:
    """A secret that is cut out of a request is shown by its digest, and may be any string of JSON."""
    chat = store.conversation("talk")
    chat.user("Hello")
    spelled = json.dumps(f"\ud800{HEADER} {store.tenant}")
    mine = store.conversation("mine")
    mine.record_request(
        b'{"model":"m","messages":[{"role":"user","content":"x"}],"api_key":%s}' % spelled.encode(),
        api="openai-chat",
    )
    texts = b"".join(event.body or b"" for event in mine.events())
    (shown,) = set(re.findall(rb"onrecord.cut:([0-9a-f]{32})", texts))
    name = str(chat.conversation_id)
    proof = hmac.digest(bytes.fromhex(shown.decode()), name.encode(), "sha256")[:16].hex()
    client = store.record(clients.of(openai.OpenAI, server))
    with pytest.raises(onrecord.NotRecorded):
        clients.ask(client, extra_headers={HEADER: f"{name}.{proof}"})
    assert server.received == []


def test_a_name_that_spells_what_a_proof_is_of_proves_nothing(
    store: onrecord.Store, server: OpenAIServer, clients: Clients
) -> None:
    chat = store.conversation("talk")
    chat.user("Hello")
    boss = store.conversation("talk", actor="boss").headers[HEADER].split(";")[1]
    name = f"{chat.conversation_id};{boss};"
    client = store.record(clients.of(openai.OpenAI, server))
    for spelled in (f"{HEADER} {store.tenant} {name}", f"{HEADER} {store.tenant}", name):
        digest = store.conversation("other", actor=spelled).headers[HEADER].split(";")[1]
        with pytest.raises(onrecord.NotRecorded):
            clients.ask(client, extra_headers={HEADER: f"{name}.{digest}"})
    assert server.received == []
