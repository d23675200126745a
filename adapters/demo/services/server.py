"""A model server on this machine that speaks Anthropic's Messages API, and others if asked to.

It answers what its script says, refuses what the real service refuses, and keeps every request as
it came. It listens on 127.0.0.1 only.
"""

import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from threading import Event, Lock, Thread
from typing import Protocol, Self, assert_never, cast

from onrecord.adapters.demo.services import anthropic
from onrecord.adapters.demo.services.anthropic import Signer
from onrecord.adapters.demo.services.bedrock import BedrockService
from onrecord.adapters.demo.services.connection import SSE, Listener, Received, Reply, at_once
from onrecord.adapters.demo.services.gemini import GeminiService
from onrecord.adapters.demo.services.ollama import OllamaService
from onrecord.adapters.demo.services.openai import OpenAIService
from onrecord.adapters.demo.services.scenes import (
    Answer,
    HangUp,
    HttpError,
    JsonObject,
    OpenAIScript,
    OtherScript,
    Playback,
    Rewritten,
    Scene,
    Script,
    invalid_request,
    unauthorized,
)
from onrecord.projections.apis.anthropic import rules
from onrecord.projections.apis.rules import violations

ORGANIZATION = "5f1c7a3e-2b94-4d0c-9a6e-0d3b8c41e7f2"

_MESSAGES = "/v1/messages"
_REQUIRED = ("model", "max_tokens", "messages")
_COUNT_TOKENS = "/v1/messages/count_tokens"
_SSE = f"{SSE}; charset=utf-8"
_POLL = 0.02


class Service(Protocol):
    """What speaks another company's APIs."""

    def reply(self, received: Received, request: JsonObject | None, own_id: str) -> Reply | None:
        """Return the answer to a request (None: it is no JSON); its ids are made of `own_id`.

        None for a path that is none of theirs.
        """
        ...


class DemoServer:
    """`with DemoServer(script) as server:` answers at `server.url` until the block ends.

    The script is a list of scenes, played in order, or a function from the request to its scene.
    A request that the real service would refuse gets its 400 and uses up no scene. `key` stands for
    the account: a server with another key refuses the thinking that this one signed. With `openai`
    it speaks OpenAI's APIs as well, at `openai_url`; with `others` Gemini's, Ollama's and Bedrock's
    Converse, at `url`.
    """

    def __init__(
        self,
        script: Script,
        *,
        openai: OpenAIScript | None = None,
        others: OtherScript | None = None,
        key: bytes = b"demonstration account",
    ) -> None:
        """Take a port; entering the block starts to answer on it."""
        self._script = script
        self._services = _services(openai, others, key)
        self._signer = Signer(key)
        self._nonce = secrets.token_hex(8)
        self._received: list[Received] = []
        self._played = 0
        self._lock = Lock()
        self._closing = Event()
        self._listener = Listener(self._reply, self._closing)
        self._thread = Thread(target=self._listener.serve_forever, args=(_POLL,))

    def __enter__(self) -> Self:
        """Start to answer."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop to answer, break what is still open, and wait for every thread."""
        self._closing.set()
        self._listener.shutdown()
        self._thread.join()
        self._listener.server_close()

    @property
    def url(self) -> str:
        """The base URL to give to a client, as `http://127.0.0.1:40123`."""
        return f"http://127.0.0.1:{self._listener.server_port}"

    @property
    def openai_url(self) -> str:
        """The base URL to give to a client of OpenAI's SDK."""
        return f"{self.url}/v1"

    @property
    def requests(self) -> tuple[Received, ...]:
        """Every request so far, refused ones too, in order of arrival."""
        with self._lock:
            return tuple(self._received)

    def _reply(self, received: Received) -> Reply | None:
        with self._lock:
            self._received.append(received)
            number = len(self._received)
        request = _parsed(received.body)
        for service in self._services:
            reply = service.reply(received, request, self._digest("", number))
            if reply is not None:
                return reply
        request_id = self._id("req", number)
        headers = {"request-id": request_id, "anthropic-organization-id": ORGANIZATION}
        refusal = _refusal(received)
        if refusal is not None:
            return _error(refusal, headers)
        if request is None:
            return _error(invalid_request("The request body is not valid JSON"), headers)
        if received.path == _COUNT_TOKENS:
            return at_once(200, {"input_tokens": len(received.body) // 4 + 1}, headers)
        whole = self.whole(request)
        if isinstance(whole, HttpError):
            return _error(whole, headers)
        return self._played_to(whole, self._id("msg", number), headers)

    def whole(self, request: JsonObject) -> JsonObject | HttpError:
        """Return a request with all that the service holds before it: here, nothing."""
        return request

    def keep(self, whole: JsonObject, message_id: str, content: Sequence[JsonObject]) -> None:
        """Take note of an answer to a whole request: here, not at all."""

    def _played_to(
        self, request: JsonObject, message_id: str, headers: dict[str, str]
    ) -> Reply | None:
        """Return the answer to a whole request."""
        why = next(self.complaints(request), None)
        scene = invalid_request(why) if why else self._next(request)
        match scene:
            case Answer():
                return self._answer(scene, request, message_id, headers)
            case HttpError():
                return _error(scene, headers)
            case Playback(body, content_type, status, faults):
                headers["content-type"] = content_type
                return Reply(status, headers, body, content_type.startswith("text/"), faults)
            case HangUp():
                return None
            case _:
                assert_never(scene)

    def complaints(self, request: JsonObject) -> Iterator[str]:
        """Yield what the service would refuse a whole request for."""
        for name in _REQUIRED:
            if name not in request:
                yield f"{name}: Field required"
        for violation in violations(rules.RULES, request):
            yield violation.said
        yield from self._signer.problems(request)

    def _id(self, kind: str, number: int) -> str:
        return f"{kind}_01{self._digest(kind, number)}"

    def _digest(self, kind: str, number: int) -> str:
        return sha256(f"{self._nonce} {kind} {number}".encode()).hexdigest()[:22]

    def _next(self, request: JsonObject) -> Scene:
        with self._lock:
            if callable(self._script):
                return self._script(request)
            if self._played == len(self._script):
                return invalid_request("The demo server's script has no scene left.")
            self._played += 1
            return self._script[self._played - 1]

    def _answer(
        self, answer: Answer, request: JsonObject, message_id: str, headers: Mapping[str, str]
    ) -> Reply:
        content = self._signer.signed(answer.content, request)
        self.keep(request, message_id, content)
        whole = anthropic.message(answer, content, message_id, request)
        if not request.get("stream"):
            return at_once(200, whole, headers, answer.faults)
        events = [*anthropic.frames(whole)]
        for fault in answer.faults:
            if isinstance(fault, Rewritten):
                events = fault.change(events)
        sse = {"content-type": _SSE, "cache-control": "no-cache"}
        return Reply(200, {**headers, **sse}, b"".join(events), chunked=True, faults=answer.faults)


def _services(
    openai: OpenAIScript | None, others: OtherScript | None, key: bytes
) -> tuple[Service, ...]:
    theirs: list[Service] = [] if openai is None else [OpenAIService(openai, key)]
    if others is not None:
        theirs += [GeminiService(others, key), OllamaService(others), BedrockService(others)]
    return tuple(theirs)


def _parsed(body: bytes) -> JsonObject | None:
    try:
        parsed: object = json.loads(body)
    except ValueError:
        return None
    return cast("JsonObject", parsed) if isinstance(parsed, dict) else None


def _refusal(received: Received) -> HttpError | None:
    """Return what the service says before it looks at the messages."""
    if received.method != "POST" or received.path not in {_MESSAGES, _COUNT_TOKENS}:
        return HttpError(404, "not_found_error", "Not Found")
    if not {"x-api-key", "authorization"} & received.headers.keys():
        return unauthorized("x-api-key header is required")
    if "anthropic-version" not in received.headers:
        return invalid_request("anthropic-version: header is required")
    return None


def _error(error: HttpError, headers: Mapping[str, str]) -> Reply:
    body = anthropic.error_body(error, headers["request-id"])
    if error.retry_after is not None:
        headers = {**headers, "retry-after": f"{error.retry_after:g}"}
    return at_once(error.status, body, headers)
