"""Secrets are cut out of what is stored; a keyed digest stays, so that equal ones stay equal.

What people and models say is the record and is kept as it is. All else of a request, and all of an
error, is searched for members whose name says that they are secret, and for URLs that carry a key.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from onrecord.domain import jsontext
from onrecord.domain.jsontext import JsonObject

if TYPE_CHECKING:
    from onrecord.adapters.wire.api import Wire


# What is secret by its place: all the rules of it, to be read in one go.
#
# A member is secret by its name, in whatever spelling (`X-Api-Key`, `apiKey`,
# `AWS_SECRET_ACCESS_KEY` alike); so is a parameter of an URL. What was said is the record, and no
# name in it is looked at.

_HEADERS: Final = frozenset(
    {"/tools/*/headers", "/tools/*/mcpservers/*/streamablehttptransport/headers"}
)
"""Where the headers stand that a request lends to a server: all of them are secret.

In lower case and without `_`: google-genai sends `mcpServers` and `streamable_http_transport`.
"""

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


Digest: TypeAlias = Callable[[str], bytes]
"""The store's keyed digest of a text."""

PLACEHOLDER: Final = "$onrecord.cut:"

_PARAMETER: Final = re.compile(r"(?P<lead>[?&;#](?P<name>[^=?&;#\s]+)=)(?P<value>[^&;#\s\"<>]+)")
_USER_INFO: Final = re.compile(r"(?P<lead>://)(?P<value>[^/?#\s@]+)(?=@)")
_NAMED: Final = re.compile(
    r"(?P<lead>(?<![\w-])(?P<name>[A-Za-z][\w-]*)\\?[\"']?\s*[:=]\s*\\?[\"']?"
    r"(?:(?:Bearer|Basic|Token)\s+)?)(?P<value>[^\s\"'&;,<>\\(){}\[\]]{6,})",
    re.IGNORECASE,
)
_SCHEME: Final = re.compile(
    r"(?P<lead>\b(?:Bearer|Basic)\s+)(?P<value>[A-Za-z0-9._~+/=-]{6,})", re.IGNORECASE
)
_SCHEMES: Final = ("bearer", "basic")
_MEMBER: Final = re.compile(r"\"(?P<name>[^\"\\]+)\"\s*:")
_MARK: Final = re.compile(re.escape(PLACEHOLDER) + "[0-9a-f]*")
"""What stands where a secret was cut, or is to be given; a secret behind the mark is none."""

_STAND_IN: Final = re.compile(re.escape(PLACEHOLDER).encode() + rb"[0-9a-f]*")
_LONGEST_WORD: Final = 16

_Path: TypeAlias = tuple[str, ...]
_TOOL: Final[_Path] = ("", "tools", "*")


def cut(request: JsonObject, wire: Wire, digest: Digest) -> tuple[JsonObject, tuple[str, ...]]:
    """Return a request of an API without its secrets, and the JSON pointers (RFC 6901) of those cut.

    The request itself is not changed; without a secret it is returned as it is.
    """
    cutting = _Cutting(digest, cut_url, wire.content_paths)
    clean = cutting.request(request, wire)
    return (clean, tuple(cutting.places)) if cutting.places else (request, ())


def secrets_of(request: JsonObject, wire: Wire) -> list[str]:
    """Return the texts that are cut out of a request."""
    texts: list[str] = []

    def digest(secret: str) -> bytes:
        texts.append(secret)
        return b""

    cutting = _Cutting(digest, cut_url, wire.content_paths)
    cutting.request(request, wire)
    return texts + cutting.leaves


def stand_ins(request: JsonObject, wire: Wire) -> dict[str, str]:
    """Return the members of a request that say where a secret was cut, by their JSON pointers."""
    cutting = _Cutting(lambda _: b"", lambda text, _: text, wire.content_paths)
    cutting.request(request, wire)
    return cutting.stand_ins


def why_uncut(
    request: JsonObject, filled: JsonObject, place: str, member: object, wire: Wire
) -> str | None:
    """Return why a member would be recorded in clear; None where it would be cut.

    `filled` is the request with the member filled in at its place.
    """
    if not isinstance(member, str | int | float | list | dict | None):
        return "it is no text"
    clean, cut_places = cut(filled, wire, lambda _: b"")
    before, after = (without_digests(jsontext.write(body), {}) for body in (request, clean))
    if before == after:
        return None
    if member is None or member in ("", [], {}):
        return "it is empty"
    if not isinstance(member, str):
        return "it is no text"
    if place not in cut_places:
        return "it has no secret in it (a URL has one in a parameter such as key=, or before its @)"
    return "it has more in it than its secret"


def secrets_of_tool(tool: JsonObject, wire: Wire) -> tuple[str, ...]:
    """Return the JSON pointers of the secrets in the JSON of a tool of an API."""
    cutting = _Cutting(lambda _: b"", cut_url, wire.content_paths)
    within = (path.split("/") for path in wire.content_paths)
    path = next((path[: path.index("tools") + 2] for path in within if "tools" in path), _TOOL)
    cutting.walk(tool, "", tuple(path))
    return tuple(cutting.places)


def secrets_in(value: JsonObject) -> tuple[str, ...]:
    """Return the JSON pointers of the secrets in JSON that no API has a rule for."""
    cutting = _Cutting(lambda _: b"", cut_url)
    cutting.walk(value)
    return tuple(cutting.places)


def without_digests(body: bytes, parts: Mapping[str, bytes]) -> tuple[bytes, Mapping[str, bytes]]:
    """Return a body and its parts with all secrets alike that were cut: one may be renewed."""
    alike = {name: _STAND_IN.sub(PLACEHOLDER.encode(), part) for name, part in parts.items()}
    return _STAND_IN.sub(PLACEHOLDER.encode(), body), alike


def cut_url(text: str, digest: Digest) -> str:
    """Return a text with the keys that URLs in it carry replaced by their digests."""
    if "=" not in text and "@" not in text:
        return text
    parameters = _replaced(_PARAMETER, text, digest, lambda it: is_secret_parameter(it["name"]))
    return _replaced(_USER_INFO, parameters, digest, lambda _: True)


def cut_text(text: str, digest: Digest) -> str:
    """Return a text that is an error with what it calls a secret replaced, and keys in URLs."""
    named = text
    if ":" in text or "=" in text:  # Looked for first: the expressions take seconds for megabytes.
        named = _replaced(
            _NAMED,
            cut_url(text, digest),
            digest,
            lambda it: is_secret(it["name"]) and _is_no_word(it["value"]),
        )
    lowered = text.lower()
    if not any(scheme in lowered for scheme in _SCHEMES):
        return named
    return _replaced(_SCHEME, named, digest, lambda it: _is_no_word(it["value"]))


def cut_broken(text: str, digest: Digest) -> str:
    """Return an error's JSON that broke off, up to its first secret: nobody knows where that ends.

    What is no JSON is cut as `cut_text` does.
    """
    if text.lstrip().startswith("{"):
        for member in _MEMBER.finditer(text):
            if is_secret(member["name"]):
                text = text[: member.end()] + stand_in(text[member.end() :], digest)
                break
    return cut_text(text, digest)


def cut_all(value: Any, digest: Digest) -> Any:
    """Return a value, such as the body of an error, with secrets cut wherever they stand."""
    return _Cutting(digest, cut_text).walk(value)


class _Cutting:
    """One walk through a value: `places` and `leaves` are what was cut, as pointers and texts.

    `stand_ins` are what stood for a secret before, by their pointers.
    """

    def __init__(
        self,
        digest: Digest,
        clean: Callable[[str, Digest], str],
        content_paths: frozenset[str] = frozenset(),
    ) -> None:
        self._digest = digest
        self._clean = clean
        self._content_paths = _steps(frozenset(content_paths))
        self.places: list[str] = []
        self.leaves: list[str] = []
        self.stand_ins: dict[str, str] = {}

    def request(self, request: JsonObject, wire: Wire) -> JsonObject:
        """Return a request without its secrets."""
        clean: JsonObject = self.walk(request)
        if wire.tools_path is not None:
            clean = self._defined(clean, "", wire.tools_path.split("/")[1:])
        return clean

    def walk(self, value: Any, place: str = "", path: _Path = ("",)) -> Any:
        """Return a value without its secrets; `path` is its place with `*` for any index."""
        match value:
            case _ if path in self._content_paths:
                return value
            case str():
                if PLACEHOLDER in value:
                    self.stand_ins[place] = value
                clean = self._clean(value, self._digest)
                if clean != value:
                    self.places.append(place)
                return clean
            case dict():
                return self._object(cast("JsonObject", value), place, path)
            case list():
                items = enumerate(cast("list[Any]", value))
                return [self.walk(item, f"{place}/{at}", (*path, "*")) for at, item in items]
            case _:
                return value

    def _defined(self, value: Any, place: str, path: Sequence[str]) -> Any:
        """Return a value with the definitions of tools cut that stand at a path below it."""
        if not path:
            return self.walk(value, place, ("", "tools"))
        name, *below = path
        match value:
            case list() if name == "*":
                items = enumerate(cast("list[Any]", value))
                return [self._defined(item, f"{place}/{at}", below) for at, item in items]
            case dict() if name in value:
                members = cast("JsonObject", value)
                return {
                    **members,
                    name: self._defined(
                        members[name], f"{place}{jsontext.pointer_step(name)}", below
                    ),
                }
            case _:
                return value

    def _object(self, members: JsonObject, place: str, path: _Path) -> JsonObject:
        names_its_value = _is_named_secret(members)
        are_headers = "/".join(path).replace("_", "").lower() in _HEADERS
        clean: JsonObject = {}
        for name, value in members.items():
            at, within = f"{place}{jsontext.pointer_step(name)}", (*path, name)
            secret = are_headers or is_secret(name) or (name == "value" and names_its_value)
            if secret and within not in self._content_paths:
                clean[name] = self._secret(value, at)
            else:
                clean[name] = self.walk(value, at, within)
        return clean

    def _secret(self, value: Any, place: str) -> Any:
        """Return what stands for a secret, all of it; nothing, yes and no are none."""
        if value is None or isinstance(value, bool) or value in ("", [], {}):
            return value
        if isinstance(value, str) and _MARK.fullmatch(value):
            self.stand_ins[place] = value
            return value
        self.places.append(place)
        self.leaves += _leaves(value)
        spelled = value if isinstance(value, str) else jsontext.write(value).decode()
        return stand_in(spelled, self._digest)


@cache
def _steps(paths: frozenset[str]) -> frozenset[_Path]:
    """Return the paths step by step: a wire's are always the same ones."""
    return frozenset(tuple(path.split("/")) for path in paths)


def _is_named_secret(members: JsonObject) -> bool:
    """Whether an object is a header or a variable spelled as a pair, and a secret one."""
    names = (members.get(member) for member in ("name", "key"))
    return "value" in members and any(isinstance(name, str) and is_secret(name) for name in names)


def _leaves(value: Any) -> list[str]:
    """Return the texts and numbers in a value."""
    match value:
        case dict():
            members = cast("JsonObject", value).values()
            return [leaf for member in members for leaf in _leaves(member)]
        case list():
            return [leaf for item in cast("list[Any]", value) for leaf in _leaves(item)]
        case None | bool():
            return []
        case _:
            return [str(value)]


def _replaced(
    pattern: re.Pattern[str], text: str, digest: Digest, is_meant: Callable[[re.Match[str]], bool]
) -> str:
    def replacement(match: re.Match[str]) -> str:
        return match["lead"] + stand_in(match["value"], digest) if is_meant(match) else match[0]

    return pattern.sub(replacement, text)


def _is_no_word(value: str) -> bool:
    """Tell a secret from the next word of a sentence."""
    return any(letter.isdigit() for letter in value) or len(value) >= _LONGEST_WORD


def stand_in(secret: str, digest: Digest) -> str:
    """Return what is stored in place of a secret; what stands for one already stays."""
    return secret if _MARK.fullmatch(secret) else PLACEHOLDER + digest(secret).hex()
