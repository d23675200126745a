"""The other official SDKs, and curl, go through the proxy unchanged and are recorded."""

import asyncio
import json
import re
import shutil
import subprocess
from collections.abc import Generator
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from botocore.auth import SigV4Auth  # type: ignore[import-untyped]  # it has no stubs
from botocore.awsrequest import AWSRequest  # type: ignore[import-untyped]  # as above
from botocore.credentials import Credentials  # type: ignore[import-untyped]  # as above

import onrecord
from onrecord import Store
from onrecord.adapters.demo.services.connection import Received
from onrecord.adapters.demo.services.server import DemoServer
from onrecord.adapters.proxy.signing import BedrockSigner
from onrecord.adapters.proxy.upstreams import Upstream
from tests.adapters.demo.demo_client import GREETING, HELLO, MODEL
from tests.adapters.proxy.proxied import KEY, PROVIDER_KEY, at, proxied
from tests.adapters.proxy.raw_provider import raw_provider, replied
from tests.adapters.replaying_server import Replaying, replaying
from tests.adapters.sdk_calls import SDKS, Asked, Sdk
from tests.patience import PATIENCE

pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class Aiohttp:DeprecationWarning")
SIGNING = [sdk for sdk in SDKS if re.match("bedrock|boto|aws", sdk.name)]
OTHERS = [sdk for sdk in SDKS if sdk not in SIGNING]
OWN_KEY, OWN_SECRET = "AKIAOWN0123456789", "own-secret-0123456789"


def provider_at(server: Replaying) -> dict[str, Upstream]:
    return {"any": Upstream("any", server.url.removesuffix("/v1"))}


def asked(sdk: Sdk, url: str, *, streams: bool) -> list[str]:
    with asyncio.Runner() as runner:
        client = sdk.made(url)
        try:
            return sdk.asks(client, runner, Asked(streams))
        finally:
            sdk.closes(client, runner)


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("sdk", OTHERS, ids=str)
def test_each_sdk_is_recorded_and_hears_what_it_would_hear(
    store: Store, sdk: Sdk, *, streams: bool
) -> None:
    reply = sdk.streamed if streams else sdk.whole
    with replaying(reply, reply) as server, proxied(store, provider_at(server)) as proxy:
        direct = asked(sdk, server.url.removesuffix("/v1"), streams=streams)
        assert asked(sdk, proxy.base("any"), streams=streams) == direct
        assert "".join(direct) == "Hello!"
        assert [turn.text for turn in proxy.only().history()] == ["Hello", "Hello!"]
        plain, through = server.requests
        assert (through.path, through.query) == (plain.path, plain.query)
        assert through.body == plain.body
        assert of_program(through) == of_program(plain)


def of_program(received: Received) -> dict[str, str]:
    """The headers that a program chose, and that do not change from call to call."""
    varying = {"host", "connection", "amz-sdk-invocation-id", "x-amz-date", "authorization"}
    return {name: value for name, value in received.headers.items() if name not in varying}


@pytest.mark.parametrize("sdk", SIGNING, ids=str)
def test_what_is_signed_for_the_proxy_is_refused_in_one_line(store: Store, sdk: Sdk) -> None:
    with replaying() as server, proxied(store, provider_at(server)) as proxy:
        with pytest.raises(Exception, match="signed for this address"):
            asked(sdk, proxy.base("any"), streams=False)
        assert server.requests == []


@pytest.fixture
def signer(monkeypatch: pytest.MonkeyPatch) -> Generator[BedrockSigner]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", OWN_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", OWN_SECRET)
    yield BedrockSigner("eu-central-1")


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("sdk", SIGNING, ids=str)
def test_it_is_signed_anew_where_the_server_may(
    store: Store, signer: BedrockSigner, sdk: Sdk, *, streams: bool
) -> None:
    reply = sdk.streamed if streams else sdk.whole
    with (
        replaying(reply) as server,
        proxied(store, provider_at(server), signer=signer) as proxy,
    ):
        assert "".join(asked(sdk, proxy.base("any"), streams=streams)) == "Hello!"
        (received,) = server.requests
        assert received.headers["authorization"] == signature(server.url, received)
        assert [turn.text for turn in proxy.only().history()] == ["Hello", "Hello!"]


def signature(url: str, received: Received) -> str:
    """What AWS would compute of a request that it received."""
    parts = urlsplit(url)
    there = f"{parts.scheme}://{parts.netloc}{received.path}"
    request: Any = AWSRequest(method=received.method, url=there, data=received.body)
    request.context["timestamp"] = received.headers["x-amz-date"]
    request.headers["X-Amz-Date"] = received.headers["x-amz-date"]
    auth: Any = SigV4Auth(Credentials(OWN_KEY, OWN_SECRET), "bedrock", "eu-central-1")
    to_sign = auth.string_to_sign(request, auth.canonical_request(request))
    signed = auth.headers_to_sign(request)
    scope = f"{OWN_KEY}/{auth.credential_scope(request)}"
    names = auth.signed_headers(signed)
    made = auth.signature(to_sign, request)
    return f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders={names}, Signature={made}"


def test_a_bearer_token_for_bedrock_passes(store: Store) -> None:
    answer = replied(b'{"output":{"message":{"role":"assistant","content":[{"text":"Hi"}]}}}')
    said = {"messages": [{"role": "user", "content": [{"text": "Hello"}]}]}
    with raw_provider((answer,)) as there, proxied(store, at(there.url)) as proxy:
        url = proxy.base("bedrock", "/model/us.x%3A0/converse")
        httpx2.post(url, headers={"authorization": f"Bearer {PROVIDER_KEY}"}, json=said)
        (request,) = there.requests
        assert request.startswith(b"POST /model/us.x%3A0/converse HTTP/1.1\r\n")
        assert f"bearer {PROVIDER_KEY}".encode() in request.lower()
        assert proxy.only().history()[0].text == "Hello"


def test_a_server_without_credentials_signs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    with pytest.raises(onrecord.InvalidInput, match="no credentials"):
        BedrockSigner()


CURL = shutil.which("curl")


@pytest.mark.skipif(CURL is None, reason="there is no curl: apt-get install curl")
def test_curl_is_recorded(store: Store) -> None:
    body = json.dumps({"model": MODEL, "max_tokens": 64, "stream": True, "messages": HELLO})
    with DemoServer([GREETING]) as server, proxied(store, at(server.url)) as proxy:
        run = subprocess.run(
            [
                *(str(CURL), "--silent", "--no-buffer", "--fail-with-body"),
                *("-H", f"x-api-key: {PROVIDER_KEY}", "-H", "anthropic-version: 2023-06-01"),
                *("-H", "content-type: application/json", "-d", body),
                proxy.base("anthropic", "/v1/messages"),
            ],
            capture_output=True,
            check=True,
            text=True,
            timeout=PATIENCE,
        )
        assert run.stdout.endswith('data: {"type":"message_stop"}\n\n')
        assert proxy.only().history()[-1].text == GREETING.content[0]["text"]
        assert KEY not in run.stdout
