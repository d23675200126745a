"""What is secret by its place: all the rules of it, to be read in one go.

A member is secret by its name, in whatever spelling (`X-Api-Key`, `apiKey`, `AWS_SECRET_ACCESS_KEY`
alike); so is a parameter of an URL. What was said is the record, and no name in it is looked at.
"""

from __future__ import annotations

import re
from typing import Final

HEADERS: Final = frozenset(
    {"/tools/*/headers", "/tools/*/mcpServers/*/streamableHttpTransport/headers"}
)
"""Where the headers stand that a request lends to a server: all of them are secret."""

_WORDS: Final = frozenset({"auth", "bearer", "jwt", "oauth", "passphrase", "pwd"})
"""The last word of a secret's name."""

_ENDINGS: Final = (
    *("token", "secret", "password", "passwd", "credential", "authorization", "cookie"),
    *("apikey", "accesskey", "authkey", "privatekey", "secretkey", "subscriptionkey"),
)
"""How the last word of a secret's name ends, in the singular."""

_QUALIFIED: Final = frozenset({"key", "pass"})
"""The last word of a secret's name that has more words, unless one of `_OPEN` is before it."""

_OPEN: Final = frozenset(
    {
        *("cache", "duplicate", "foreign", "group", "idempotency", "index", "invalid", "missing"),
        *("object", "partition", "primary", "public", "row", "sort", "unexpected", "unknown"),
    }
)
_TOKEN_HOLDERS: Final = frozenset({"access", "api", "auth", "bearer", "refresh", "session"})
"""Before `tokens`, which elsewhere are what a model counts."""

_PARAMETERS: Final = frozenset({"key", "sig", "signature"})

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def is_secret(name: str) -> bool:
    """Whether what is called so is secret."""
    words = [word.lower() for word in _WORD.findall(name)]
    while words and words[-1] == "string":  # Vertex AI's `apiKeyString`.
        words.pop()
    if not words:
        return False
    *before, last = words
    match last:
        case "tokens":
            return bool(before) and before[-1] in _TOKEN_HOLDERS
        case _ if last in _QUALIFIED or last == "keys":
            return bool(before) and before[-1] not in _OPEN
        case _:
            return last in _WORDS or last.removesuffix("s").endswith(_ENDINGS)


def is_secret_parameter(name: str) -> bool:
    """Whether a parameter of an URL that is called so is secret, a signature of it included."""
    words = [word.lower() for word in _WORD.findall(name)]
    # Azure's functions take their key as `code`, and OAuth what is worth a token.
    return is_secret(name) or words == ["code"] or (bool(words) and words[-1] in _PARAMETERS)
