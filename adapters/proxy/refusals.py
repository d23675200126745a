"""What the proxy answers in a provider's place: errors as that provider's SDK reads them."""

from __future__ import annotations

import json
from typing import Any, Final, NamedTuple

from onrecord.adapters.proxy.asgi import Header, Send, answer


class Refusal(Exception):
    """A request that is not sent to the provider, or that no answer came to."""

    def __init__(self, status: int, message: str, *headers: Header) -> None:
        """Refuse with an HTTP status; the message says what to do, and quotes nothing."""
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = headers


class _Kind(NamedTuple):
    """What each company calls an error of a status."""

    anthropic: str
    google: str
    aws: str


_KINDS: Final = {
    400: _Kind("invalid_request_error", "INVALID_ARGUMENT", "ValidationException"),
    401: _Kind("authentication_error", "UNAUTHENTICATED", "AccessDeniedException"),
    403: _Kind("permission_error", "PERMISSION_DENIED", "AccessDeniedException"),
    404: _Kind("not_found_error", "NOT_FOUND", "ResourceNotFoundException"),
    405: _Kind("invalid_request_error", "INVALID_ARGUMENT", "ValidationException"),
    408: _Kind("timeout_error", "DEADLINE_EXCEEDED", "RequestTimeoutException"),
    413: _Kind("request_too_large", "INVALID_ARGUMENT", "ValidationException"),
    426: _Kind("invalid_request_error", "FAILED_PRECONDITION", "ValidationException"),
    429: _Kind("rate_limit_error", "RESOURCE_EXHAUSTED", "ThrottlingException"),
    502: _Kind("api_error", "UNAVAILABLE", "ServiceUnavailableException"),
    503: _Kind("api_error", "UNAVAILABLE", "ServiceUnavailableException"),
    504: _Kind("api_error", "DEADLINE_EXCEEDED", "ServiceUnavailableException"),
}
_INTERNAL: Final = _Kind("api_error", "INTERNAL", "InternalServerException")
_JSON: Final = (b"content-type", b"application/json")


async def refuse(send: Send, refusal: Refusal, api: str) -> None:
    """Answer a request with a refusal, in the shape of an API."""
    kind = _KINDS.get(refusal.status, _INTERNAL)
    headers = [_JSON, *refusal.headers]
    if api == "bedrock-converse":
        headers.append((b"x-amzn-errortype", kind.aws.encode()))
    body = json.dumps(_body(api, refusal, kind)).encode()
    await answer(send, refusal.status, headers, body)


def _body(api: str, refusal: Refusal, kind: _Kind) -> dict[str, Any]:
    message = f"Onrecord: {refusal.message}"
    match api:
        case "anthropic-messages":
            return {"type": "error", "error": {"type": kind.anthropic, "message": message}}
        case "gemini":
            said = {"code": refusal.status, "message": message, "status": kind.google}
            return {"error": said}
        case "ollama":
            return {"error": message}
        case "bedrock-converse":
            return {"message": message}
        case _:
            said = {"message": message, "type": kind.anthropic, "param": None, "code": None}
            return {"error": said}
