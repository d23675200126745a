"""botocore sends what was recorded, and made again, as the bytes that the request's body says."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any

import pytest
from botocore.awsrequest import AWSResponse  # type: ignore[import-untyped]  # It has no stubs.
from botocore.session import get_session  # type: ignore[import-untyped]  # It has no stubs.

from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.request import Request
from tests.corpus.test_bedrock_rendering import FILES, Record, answered
from tests.corpus.wire import MISSING, is_there

pytestmark = pytest.mark.skipif(not is_there(), reason=MISSING)


class Raw(BytesIO):
    """A body as botocore reads it."""

    def stream(self, amount: int = 0) -> list[bytes]:
        return [self.read()]


class Client:
    """botocore's client for Bedrock, whose calls go nowhere."""

    def __init__(self) -> None:
        session: Any = get_session()
        self._client = session.create_client(
            "bedrock-runtime",
            region_name="us-east-1",
            aws_access_key_id="an-id",
            aws_secret_access_key="a-secret",
        )
        self._bodies: list[bytes] = []
        self._client.meta.events.register("before-send.bedrock-runtime.Converse", self._answer)

    def sent(self, request: Request) -> JsonObject:
        """The body of the call that the client makes of the arguments of a request."""
        self._client.converse(modelId="anthropic.claude-sonnet-4-5-20250929-v1:0", **request)
        told: JsonObject = json.loads(self._bodies.pop())
        return told

    def _answer(self, request: Any, **_: Any) -> Any:
        self._bodies.append(request.body)
        made: Any = AWSResponse
        return made(request.url, 200, {}, Raw(b"{}"))


def test_botocore_sends_what_the_body_says() -> None:
    """But for files that were cut when they were recorded: they are no base64 any more."""
    client = Client()
    for name in FILES:
        for exchange in answered(name):
            request = Record(exchange).request()
            if "<truncated" not in str(request.body):
                assert client.sent(request) == {**request.body}, name
