"""What was rendered goes out as it was rendered, where an SDK would spell it otherwise."""

import asyncio
import base64
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import boto3  # type: ignore[import-untyped]  # it has no stubs
import ollama
import pytest
from botocore.auth import SigV4Auth  # type: ignore[import-untyped]  # it has no stubs
from botocore.awsrequest import AWSRequest  # type: ignore[import-untyped]  # it has no stubs
from botocore.credentials import Credentials  # type: ignore[import-untyped]  # it has no stubs
from hypothesis import given
from hypothesis import strategies as st

import onrecord
from onrecord.adapters.conversation.rendering import replays
from onrecord.adapters.demo.services.connection import Reply
from onrecord.adapters.wire import respelling
from onrecord.domain import jsontext
from onrecord.domain.content import Native
from onrecord.projections.apis.request import Request
from tests import bedrock_wire, gemini_wire, ollama_wire
from tests.adapters.replaying_server import replaying
from tests.adapters.sdk_calls import BUSY, JSON, KEY, MODEL, genai_client, genai_through_httpx

JsonObject = dict[str, Any]
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class Aiohttp:DeprecationWarning")

SIGNATURE = base64.b64encode(b"\xfb\xff\xbe" * 9).decode()
"""Has letters that the URL-safe alphabet spells otherwise."""


@dataclass(frozen=True)
class Spelling:
    """An API whose SDK spells otherwise: what its service answers first, and how it is asked."""

    name: str
    api: str
    first: JsonObject
    last: JsonObject

    def __str__(self) -> str:
        return self.name

    def ask(self, url: str, chat: onrecord.Conversation, request: Request, **options: Any) -> None:
        asks = {"genai": _genai, "genai-aiohttp": _genai_async, "genai-httpx": _genai_httpx}
        asks |= {"ollama": _ollama, "ollama-async": _ollama_async, "boto3": _boto}
        asks[self.name](url, chat, request, **options)


def _genai(url: str, chat: onrecord.Conversation, request: Request, **options: Any) -> None:
    client: Any = chat.record(genai_client(url), **options)
    with client:
        client.models.generate_content(model=MODEL, **request)


def _genai_httpx(url: str, chat: onrecord.Conversation, request: Request, **options: Any) -> None:
    plain = genai_through_httpx(url)

    async def ask() -> None:
        client: Any = chat.record(plain, **options).aio
        await client.models.generate_content(model=MODEL, **request)
        http: Any = plain._api_client._http_options  # pyright: ignore[reportPrivateUsage]  # it leaves them open
        await http.httpx_async_client.aclose()
        http.httpx_client.close()

    asyncio.run(ask())


def _genai_async(url: str, chat: onrecord.Conversation, request: Request, **options: Any) -> None:
    async def ask() -> None:
        client: Any = chat.record(genai_client(url), **options).aio
        async with client:
            await client.models.generate_content(model=MODEL, **request)

    asyncio.run(ask())


def _ollama(url: str, chat: onrecord.Conversation, request: Request, **options: Any) -> None:
    client: Any = chat.record(ollama.Client(host=url), **options)
    with client:
        client.chat(model=MODEL, **request)


def _ollama_async(url: str, chat: onrecord.Conversation, request: Request, **options: Any) -> None:
    async def ask() -> None:
        client: Any = chat.record(ollama.AsyncClient(host=url), **options)
        await client.chat(model=MODEL, **request)
        await client.close()

    asyncio.run(ask())


def _boto(url: str, chat: onrecord.Conversation, request: Request, **options: Any) -> None:
    plain = cast("Any", boto3).client(
        "bedrock-runtime",
        region_name="us-east-1",
        endpoint_url=url,
        aws_access_key_id=KEY,
        aws_secret_access_key="secret",
    )
    client = chat.record(plain, **options)
    client.converse(modelId=MODEL, **request)
    client.close()


SAID: JsonObject = gemini_wire.said(
    gemini_wire.signed(gemini_wire.call(where="Genève"), SIGNATURE),
)
CHATTED = ollama_wire.last(
    {"content": "", "tool_calls": [ollama_wire.call("look", "call_1", where="Genève")]}
)
CONVERSED = bedrock_wire.body(bedrock_wire.call(1, where="Genève"), stop="tool_use")
SPELLINGS = [
    *(Spelling(f"genai{way}", "gemini", SAID, SAID) for way in ("", "-aiohttp", "-httpx")),
    *(Spelling(f"ollama{way}", "ollama", CHATTED, CHATTED) for way in ("", "-async")),
    Spelling("boto3", "bedrock-converse", CONVERSED, CONVERSED),
]
LOOK: JsonObject = {
    "name": "look",
    "description": "Looks.",
    "input_schema": {"type": "object", "properties": {"where": {"type": "string"}}},
}


@pytest.fixture(params=SPELLINGS, ids=str)
def spelling(request: pytest.FixtureRequest) -> Spelling:
    assert isinstance(request.param, Spelling)
    return request.param


@pytest.fixture
def chat(tmp_path: Path) -> Iterator[onrecord.Conversation]:
    with onrecord.connect(f"sqlite:///{tmp_path / 'talks.db'}") as store:
        chat = store.conversation("talk")
        chat.instruct("Be brief.")
        chat.tools.declare([LOOK])
        chat.user("What is there?")
        yield chat


def answered(body: JsonObject) -> Reply:
    return Reply(200, JSON, json.dumps(body).encode())


def two_calls(
    spelling: Spelling, chat: onrecord.Conversation, **options: Any
) -> tuple[bytes, Request]:
    """Ask, give the result of the call, ask again; return what was sent then, and rendered."""
    with replaying(answered(spelling.first), answered(spelling.last)) as server:
        url = server.url.removesuffix("/v1")
        spelling.ask(url, chat, chat.request(spelling.api), **options)
        for call in chat.open_calls():
            chat.tool_result(call.id, "a lake")
        request = chat.request(spelling.api)
        spelling.ask(url, chat, request, **options)
    return server.requests[-1].body, request


def test_what_was_rendered_is_sent_byte_for_byte(
    chat: onrecord.Conversation, spelling: Spelling
) -> None:
    body, request = two_calls(spelling, chat, splice=True)
    for name, part in request.body_parts().items():
        assert b'"%s":%s' % (name.encode(), part) in body
    assert json.loads(body).keys() >= request.body.keys()


def test_what_is_spliced_is_recorded_and_rendered_again(
    chat: onrecord.Conversation, spelling: Spelling
) -> None:
    two_calls(spelling, chat, splice=True)
    outcomes = list(replays(chat))
    assert [outcome.is_rendered for outcome in outcomes] == [True, True]
    assert {outcome.is_whole for outcome in outcomes} == {True}


def test_without_it_the_replay_says_who_spelled_it_otherwise(
    chat: onrecord.Conversation, spelling: Spelling
) -> None:
    body, request = two_calls(spelling, chat)
    parts = request.body_parts().items()
    assert not all(b'"%s":%s' % (name.encode(), part) in body for name, part in parts)
    last = list(replays(chat))[-1]
    assert (last.is_whole, last.is_rendered, last.is_proven) == (True, None, True)
    assert last.remark is not None
    assert "SDK spelled it otherwise" in last.remark


def test_either_way_nothing_is_recorded_twice(
    chat: onrecord.Conversation, spelling: Spelling
) -> None:
    for splice in (False, True):
        branch = chat.fork(f"fork-{splice}")
        two_calls(spelling, branch, splice=splice)
        types = [event.type for event in branch.events(after=2)]
        asked = ["request.sent", "tool_call.recorded", "response.completed"]
        said = ["message.recorded"] if spelling.api == "ollama" else []
        asked[1:1] = said
        assert types == [*asked, "tool_result.recorded", *asked]


def test_the_signature_is_of_what_was_spliced_in(chat: onrecord.Conversation) -> None:
    with replaying(answered(CONVERSED)) as server:
        _boto(server.url.removesuffix("/v1"), chat, chat.request("bedrock-converse"), splice=True)
    [received] = server.requests
    claimed = received.headers["authorization"]
    names = re.findall(r"SignedHeaders=([^,]+)", claimed)[0].split(";")
    request: Any = AWSRequest(
        method="POST",
        url=server.url.removesuffix("/v1") + received.path,
        headers={name: received.headers[name] for name in names},
        data=received.body,
    )
    request.context["timestamp"] = received.headers["x-amz-date"]
    auth: Any = SigV4Auth(Credentials(KEY, "secret"), "bedrock", "us-east-1")
    canonical = auth.canonical_request(request)
    assert claimed.endswith(auth.signature(auth.string_to_sign(request, canonical), request))


@pytest.mark.parametrize("spelling", [SPELLINGS[0], SPELLINGS[1], SPELLINGS[2], SPELLINGS[5]])
def test_what_is_tried_again_is_spliced_again(
    chat: onrecord.Conversation, spelling: Spelling
) -> None:
    with replaying(BUSY, answered(spelling.first)) as server:
        url = server.url.removesuffix("/v1")
        spelling.ask(url, chat, chat.request(spelling.api), splice=True)
    first, second = (received.body for received in server.requests)
    assert first == second
    assert {outcome.is_rendered for outcome in replays(chat)} == {True}


def test_what_was_not_rendered_goes_as_it_is(chat: onrecord.Conversation) -> None:
    spelling = SPELLINGS[0]
    request = chat.request("gemini")
    searching: list[JsonObject] = [{"google_search": {}}]
    config: JsonObject = {**request["config"], "tools": searching}
    with replaying(answered(spelling.first)) as server:
        client: Any = chat.record(genai_client(server.url.removesuffix("/v1")), splice=True)
        client.models.generate_content(model=MODEL, contents="Something else", config=config)
    sent = json.loads(server.requests[0].body)
    assert sent["contents"] == [{"parts": [{"text": "Something else"}], "role": "user"}]
    assert "googleSearch" in json.dumps(sent["tools"]) or "google_search" in json.dumps(
        sent["tools"]
    )


def test_what_a_caller_puts_beside_the_tools_stays(chat: onrecord.Conversation) -> None:
    request = chat.request("bedrock-converse")
    choice: JsonObject = {"auto": {}}
    asked: Any = {**request, "toolConfig": {**request["toolConfig"], "toolChoice": choice}}
    with replaying(answered(CONVERSED)) as server:
        _boto(server.url.removesuffix("/v1"), chat, asked, splice=True)
    sent = json.loads(server.requests[0].body)
    assert sent["toolConfig"] == {**request.body["toolConfig"], "toolChoice": choice}
    [outcome] = replays(chat)
    assert outcome.is_proven


def test_tools_are_spliced_whatever_order_the_sdk_sends_them_in(
    chat: onrecord.Conversation,
) -> None:
    tool: JsonObject = {"googleSearch": {}}
    chat.tools.declare([LOOK, Native(api="gemini", value=tool)])
    request = chat.request("gemini")
    with replaying(answered(SAID), answered(SAID)) as server:
        for splice in (False, True):
            _genai(server.url.removesuffix("/v1"), chat, request, splice=splice)
    respelled, spliced = (json.loads(received.body)["tools"] for received in server.requests)
    assert spliced == request.body["tools"]
    assert respelled != spliced
    assert {outcome.is_proven for outcome in replays(chat)} == {True}


@pytest.mark.parametrize("splice", [True, False])
def test_tools_that_could_not_travel_stay_in_force(
    chat: onrecord.Conversation, spelling: Spelling, splice: bool
) -> None:
    search: JsonObject = {"type": "web_search_20250305", "name": "web_search"}
    chat.tools.declare([LOOK, Native(api="anthropic-messages", value=search)])
    two_calls(spelling, chat, splice=splice)
    assert [event.type for event in chat.log.read()].count("tools.declared") == 2


JSON_VALUES: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(messages=st.lists(JSON_VALUES, min_size=1, max_size=3), other=JSON_VALUES)
def test_what_says_the_same_is_spelled_as_it_was_rendered(messages: list[Any], other: Any) -> None:
    parts = {"messages": jsontext.write(messages)}
    body = {"model": MODEL, "messages": messages, "options": other}
    assert respelling.is_respelled("ollama", body, parts)
    spliced = respelling.restored(body, parts)
    assert json.loads(spliced) == body
    assert b'"messages":' + parts["messages"] in spliced


@given(sent=st.lists(st.text(), max_size=3), rendered=st.lists(st.text(), max_size=3))
def test_what_says_something_else_is_never_taken_for_it(
    sent: list[str], rendered: list[str]
) -> None:
    parts = {"messages": json.dumps(rendered).encode()}
    says = respelling.is_respelled("ollama", {"messages": sent}, parts)
    assert says == (sent == rendered)
