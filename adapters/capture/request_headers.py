"""What of a request's headers the record keeps, and what of them tells whose account it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hansard.adapters.capture.wires import WIRES
from hansard.domain import jsontext

_KEYS: Final = ("x-api-key", "api-key")
_PARTS: Final = ("openai-organization", "openai-project")
_JWT: Final = "eyJ"
"""How a JSON object begins in base64 (RFC 7519)."""

_RETRIES: Final = "x-stainless-retry-count"


def kept(api: str, headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers that are recorded with a request of an API."""
    return {name: headers[name] for name in WIRES[api].headers if name in headers}


def account_in(headers: Mapping[str, str]) -> str | None:
    """Return what tells the account that a request goes out under: a secret, to be digested.

    Its key stands in `x-api-key` (Anthropic), `api-key` (Azure), else in `authorization`; OpenAI's
    organization and project, where they are given, say which account of that key. A JSON web token
    tells none: it is another one within the hour.
    """
    keys = (headers[name] for name in _KEYS if name in headers)
    key = next(keys, None) or headers.get("authorization", "").removeprefix("Bearer ")
    if not key or key.startswith(_JWT):
        return None
    parts = [headers.get(name) for name in _PARTS]
    return jsontext.write([key, *parts]).decode() if any(parts) else key


def retry_count(headers: Mapping[str, str]) -> int:
    """Return which retry of the SDK's a request is; 0 is the first attempt."""
    count = headers.get(_RETRIES, "")
    return int(count) if count.isdecimal() else 0
