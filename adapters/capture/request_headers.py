"""What of a request's headers the record keeps, and what of them tells whose account it is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from onrecord.adapters.capture.wires import WIRES
from onrecord.domain import jsontext

_KEYS: Final = ("x-api-key", "api-key", "x-goog-api-key")
_PARTS: Final = ("openai-organization", "openai-project")
_SIGNED: Final = re.compile(r"AWS4-\S+ Credential=([^/,\s]+)")
"""How a signature of AWS begins: the id of the key that made it follows ("Signature Version 4")."""

_FLEETING: Final = ("eyJ", "ya29.", "bedrock-api-key-", "ASIA")
"""How keys begin that are other ones within the hour, or the day: a JSON object in base64 (RFC
7519), an access token of Google's, a short-term key of Bedrock's, a key id of AWS's token service.
"""

_RETRIES: Final = "x-stainless-retry-count"
_ATTEMPTS: Final = "amz-sdk-request"
_ATTEMPT: Final = re.compile(r"\battempt=(\d+)")


def kept(api: str, headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers that are recorded with a request of an API."""
    return {name: headers[name] for name in WIRES[api].headers if name in headers}


def account_in(headers: Mapping[str, str], target: str = "") -> str | None:
    """Return what tells the account that a request goes out under: a secret, to be digested.

    Its key stands in `x-api-key` (Anthropic), `api-key` (Azure), `x-goog-api-key` (Gemini), in the
    query of its target (`key=`), else in `authorization`; there a signature of AWS names it. OpenAI's
    organization and project, where they are given, say which account of that key. A token that is
    another one soon tells none.
    """
    keys = (headers[name] for name in _KEYS if name in headers)
    key = next(keys, None) or _asked_with(target) or _authorized(headers.get("authorization", ""))
    if not key or key.startswith(_FLEETING):
        return None
    parts = [headers.get(name) for name in _PARTS]
    return jsontext.write([key, *parts]).decode() if any(parts) else key


def retry_count(headers: Mapping[str, str]) -> int:
    """Return which retry of the SDK's a request is; 0 is the first attempt."""
    count = headers.get(_RETRIES, "")
    if count.isdecimal():
        return int(count)
    attempt = _ATTEMPT.search(headers.get(_ATTEMPTS, ""))
    return 0 if attempt is None else max(int(attempt[1]) - 1, 0)


def _asked_with(target: str) -> str | None:
    """Return the key in the query of a request's target."""
    return next((value for name, value in parse_qsl(urlsplit(target).query) if name == "key"), None)


def _authorized(value: str) -> str:
    signed = _SIGNED.match(value)
    return value.removeprefix("Bearer ") if signed is None else signed[1]
