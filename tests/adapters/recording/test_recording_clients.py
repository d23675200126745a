"""OpenAI's clients are recorded as they are: any of them, whatever they were given."""

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import httpx2
import openai
import pytest

import onrecord
from onrecord.adapters.wire.clients.sending import account_in
from onrecord.domain.events import AttemptFailed
from tests.adapters.openai_clients import (
    ANSWERED,
    APIS,
    HELLO,
    KEY,
    KINDS,
    MODEL,
    Api,
    Clients,
    types,
)
from tests.adapters.openai_server import Fails, OpenAIServer, Redirects, Says
from tests.adapters.recorded_calls import known, requests_of

GREETING = Says("Hello! What can I do for you?")


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(lambda _: GREETING) as running:
        yield running


@pytest.fixture
def clients() -> Iterator[Clients]:
    with Clients() as made:
        yield made


@pytest.fixture
def store(tmp_path: Path) -> Iterator[onrecord.Store]:
    with onrecord.connect(f"sqlite:///{tmp_path / 'talks.db'}") as opened:
        yield opened


@pytest.fixture
def chat(store: onrecord.Store) -> onrecord.Conversation:
    return store.conversation("support/4711")


class Support(openai.OpenAI):
    """A client that somebody made their own."""


@pytest.mark.parametrize("kind", [*KINDS, Support])
def test_the_same_type_comes_back(
    chat: onrecord.Conversation, clients: Clients, server: OpenAIServer, kind: type[Any]
) -> None:
    client = clients.of(
        kind,
        server,
        max_retries=5,
        timeout=12.5,
        organization="org-1",
        project="proj-1",
        default_headers={"x-team": "support"},
    )
    wrapped = chat.record(client)
    assert type(wrapped) is kind
    assert (wrapped.max_retries, wrapped.timeout, wrapped.api_key) == (5, 12.5, KEY)
    assert (wrapped.organization, wrapped.project) == ("org-1", "proj-1")
    assert wrapped.default_headers["x-team"] == "support"
    assert wrapped.base_url == client.base_url


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_call_of_any_client_is_recorded(
    chat: onrecord.Conversation, clients: Clients, server: OpenAIServer, kind: type[Any], api: Api
) -> None:
    clients.ask(chat.record(clients.of(kind, server)), api)
    assert types(chat) == ANSWERED
    (sent,) = requests_of(chat)
    assert sent.api == api
    assert sent.endpoint == server.received[0].path + (
        f"?{server.received[0].query}" if server.received[0].query else ""
    )


@pytest.mark.parametrize("streamed", ["create", "stream"])
@pytest.mark.parametrize("api", APIS)
def test_a_streamed_answer_is_recorded_once_it_was_read(
    chat: onrecord.Conversation, clients: Clients, server: OpenAIServer, api: Api, streamed: str
) -> None:
    client = chat.record(clients.of(openai.OpenAI, server))
    if streamed == "create":
        for _ in clients.ask(client, api, stream=True):
            assert types(chat)[:2] == ANSWERED[:2]
    elif api == "openai-chat":
        with client.chat.completions.stream(model=MODEL, messages=HELLO) as completions:
            completions.until_done()
    else:
        with client.responses.stream(model=MODEL, input="Hello") as responses:
            responses.until_done()
    assert types(chat) == ANSWERED


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_call_that_cannot_be_recorded_is_refused_and_not_tried_again(
    chat: onrecord.Conversation, clients: Clients, server: OpenAIServer, kind: type[Any], api: Api
) -> None:
    chat.user("Hello")
    chat.end()
    client = chat.record(clients.of(kind, server, max_retries=3))
    with pytest.raises(onrecord.NotRecorded, match="the conversation is closed") as refused:
        clients.ask(client, api)
    assert isinstance(refused.value, openai.OpenAIError)
    assert not isinstance(refused.value, openai.APIConnectionError)
    assert server.received == []


def test_retries_are_attempts_of_one_request(chat: onrecord.Conversation, clients: Clients) -> None:
    with OpenAIServer([Fails(500), GREETING]) as server:
        clients.ask(chat.record(clients.of(openai.OpenAI, server, max_retries=1)))
        assert len(server.received) == 2
    assert types(chat) == [*ANSWERED[:2], "attempt.failed", *ANSWERED[2:]]


def test_a_redirected_request_is_one_request(
    chat: onrecord.Conversation, clients: Clients, server: OpenAIServer
) -> None:
    with OpenAIServer([Redirects(f"{server.url}/chat/completions")]) as gate:
        clients.ask(chat.record(clients.of(openai.OpenAI, gate)))
    assert types(chat) == [*ANSWERED[:2], "attempt.failed", *ANSWERED[2:]]


def test_a_request_that_is_redirected_to_an_unknown_place_goes_there(
    chat: onrecord.Conversation, clients: Clients, server: OpenAIServer
) -> None:
    with (
        OpenAIServer([Redirects(f"{server.origin}/maintenance")]) as gate,
        pytest.raises(openai.NotFoundError),
    ):
        clients.ask(chat.record(clients.of(openai.OpenAI, gate)))
    assert server.received[0].path == "/maintenance"
    failed = [known(recorded) for recorded in chat.events(after=3)]
    assert [event.status for event in failed if isinstance(event, AttemptFailed)] == [307, 404]


@pytest.mark.filterwarnings("ignore:an embedding is not recorded")
def test_other_endpoints_pass_through(
    chat: onrecord.Conversation, clients: Clients, server: OpenAIServer
) -> None:
    client = chat.record(clients.of(openai.OpenAI, server))
    with pytest.raises(openai.NotFoundError):
        client.models.list()
    with pytest.raises(openai.NotFoundError):
        client.embeddings.create(model="e", input="x")
    assert len(server.received) == 2
    assert chat.events(after=0) == []


def test_connections_hooks_and_timeouts_are_the_callers(
    chat: onrecord.Conversation, clients: Clients, server: OpenAIServer
) -> None:
    seen: list[str] = []

    def asked(request: httpx2.Request) -> None:
        seen.append(request.url.path)

    pool = httpx2.HTTPTransport()
    http = httpx2.Client(
        transport=pool, timeout=7.5, max_redirects=3, event_hooks={"request": [asked]}
    )
    with clients.of(openai.OpenAI, server, http_client=http) as client:
        wrapped = chat.record(client)
        clients.ask(client)
        clients.ask(wrapped)
        made = cast("httpx2.Client", vars(wrapped)["_client"])
        assert (made.timeout, made.max_redirects) == (http.timeout, 3)
        assert len(vars(pool)["_pool"].connections) == 1
    assert seen == ["/v1/chat/completions"] * 2
    with pytest.raises(RuntimeError, match="the client has been closed"):
        clients.ask(wrapped)
    assert types(chat) == ANSWERED


def test_proxies_are_kept_and_recorded(
    chat: onrecord.Conversation, clients: Clients, server: OpenAIServer
) -> None:
    through = httpx2.Client(proxy=server.origin)
    with openai.OpenAI(
        api_key=KEY, base_url="http://api.example/v1", http_client=through
    ) as client:
        clients.ask(chat.record(client))
    assert server.received[0].headers["host"] == "api.example"
    assert types(chat) == ANSWERED


def test_what_changes_the_meaning_of_a_request_is_kept_and_no_other_header(
    chat: onrecord.Conversation, clients: Clients, server: OpenAIServer
) -> None:
    client = chat.record(clients.of(openai.OpenAI, server, organization="org-1"))
    clients.ask(client, extra_headers={"OpenAI-Beta": "responses=v1", "x-team": "support"})
    assert dict(requests_of(chat)[0].headers) == {"openai-beta": "responses=v1"}


@pytest.mark.parametrize("kind", KINDS)
def test_the_key_is_nowhere_in_the_files(
    tmp_path: Path,
    chat: onrecord.Conversation,
    clients: Clients,
    server: OpenAIServer,
    kind: type[Any],
) -> None:
    clients.ask(chat.record(clients.of(kind, server)))
    assert KEY in str(server.received[0].headers)
    for file in tmp_path.iterdir():
        assert KEY.encode() not in (file.read_bytes() if file.is_file() else b"")


def test_each_organization_and_project_of_a_key_is_an_account_of_its_own(
    store: onrecord.Store, clients: Clients, server: OpenAIServer
) -> None:
    accounts = set[str | None]()
    for number, options in enumerate(
        ({}, {"organization": "org-1"}, {"organization": "org-2"}, {"project": "org-1"})
    ):
        chat = store.conversation(f"account/{number}")
        client = chat.record(clients.of(openai.OpenAI, server, **options))
        before = account_known(chat)
        clients.ask(client)
        (sent,) = requests_of(chat)
        assert before == sent.account
        accounts.add(sent.account)
    assert len(accounts) == 4


@pytest.mark.parametrize("kind", [openai.AzureOpenAI, openai.AsyncAzureOpenAI])
def test_azures_key_is_the_account(
    chat: onrecord.Conversation, clients: Clients, server: OpenAIServer, kind: type[Any]
) -> None:
    client = chat.record(clients.of(kind, server))
    before = account_known(chat)
    clients.ask(client)
    assert "api-key" in server.received[0].headers
    assert before is not None
    assert requests_of(chat)[0].account == before


def account_known(chat: onrecord.Conversation) -> str | None:
    """The account that a request would be made for now."""
    chat.annotate({"topic": "parcels"})
    chat.user("Hello")
    return chat.request("openai-chat").options.account


def test_a_token_that_is_renewed_by_the_hour_tells_no_account() -> None:
    assert account_in({"authorization": "Bearer eyJhbGciOi.eyJzdWIi.c2ln"}) is None
    assert account_in({"authorization": f"Bearer {KEY}"}) == KEY


def test_a_websocket_of_a_recorded_client_warns_once(
    chat: onrecord.Conversation, clients: Clients, server: OpenAIServer
) -> None:
    client = chat.record(clients.of(openai.OpenAI, server))
    with pytest.warns(onrecord.RecordingWarning, match="websocket is not recorded"):
        connect_in_vain(client)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        connect_in_vain(client)
        connect_in_vain(clients.of(openai.OpenAI, server))


def connect_in_vain(client: openai.OpenAI) -> None:
    """Open a websocket on a server that knows none."""
    with pytest.raises(Exception, match="404"), client.responses.connect():
        pass
