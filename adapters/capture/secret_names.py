"""What is secret by its place: all the rules of it, to be read in one go.

A member is secret by its name, in whatever spelling (`X-Api-Key`, `apiKey`, `AWS_SECRET_ACCESS_KEY`
alike); so is a parameter of an URL. What was said is the record, and no name in it is looked at.
"""

from __future__ import annotations

import re
from typing import Final

_TOLD: Final = ("description", "parameters", "output_schema", "input_schema", "format")
"""What a definition of a tool tells the model, in either of OpenAI's APIs."""

SAID: Final[dict[str, frozenset[str]]] = {
    "anthropic-messages": frozenset(
        {
            "/messages",
            "/system",
            "/tools/*/description",
            "/tools/*/input_schema",
            "/tools/*/input_examples",
            "/tools/*/configs",  # Its members are the names of tools.
            "/output_config",
            "/output_format",
        }
    ),
    "openai-chat": frozenset(
        {
            "/messages",
            "/response_format",
            "/prediction",
            "/stop",
            "/choices",  # Of an answer: log probabilities of what was said.
            *(f"/functions/*/{told}" for told in _TOLD),
            *(f"/tools/*/{kind}/{told}" for kind in ("function", "custom") for told in _TOLD),
        }
    ),
    "openai-responses": frozenset(
        {
            "/input",
            "/instructions",
            "/prompt/variables",
            "/text",
            "/tools/*/server_description",
            *(f"/tools/*/{told}" for told in _TOLD),
            *(f"/tools/*/tools/*/{told}" for told in _TOLD),  # Of a namespace.
        }
    ),
}
"""The parts of a request that tell the model something, by API: kept word for word.

As JSON pointers (RFC 6901); `*` is any element of a list.
"""

DEFINED: Final[dict[str, str]] = {"openai-responses": "/input/*/tools"}
"""Where definitions of tools stand amid what was said, by API: searched as those in `/tools`."""

HEADERS: Final = frozenset({"/tools/*/headers"})
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
