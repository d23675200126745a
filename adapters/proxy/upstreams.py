"""The providers that the proxy reaches, and no other host: a name each, its URL, and its APIs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final
from urllib.parse import urlsplit

from onrecord.adapters.proxy.address import CONVERSATION, has_odd_segment
from onrecord.domain.errors import InvalidInput
from onrecord.projections.api import names

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_SCHEMES: Final = ("http", "https")


@dataclass(frozen=True, slots=True)
class Upstream:
    """A provider: its name in paths, its base URL without a slash at the end, and its APIs.

    Without any, all APIs are looked for. What has the path of none is refused as the first one does.
    """

    name: str
    url: str
    apis: tuple[str, ...] = ()

    def speaks(self, api: str) -> bool:
        """Whether requests of an API are answered here."""
        return bool(api) and (not self.apis or api in self.apis)


BUILT_IN: Final[Mapping[str, Upstream]] = MappingProxyType(
    {
        upstream.name: upstream
        for upstream in (
            Upstream("anthropic", "https://api.anthropic.com", ("anthropic-messages",)),
            Upstream("openai", "https://api.openai.com", ("openai-chat", "openai-responses")),
            Upstream(
                "gemini",
                "https://generativelanguage.googleapis.com",
                ("gemini", "openai-chat"),
            ),
            Upstream(
                "ollama",
                "http://127.0.0.1:11434",
                ("ollama", "openai-chat", "openai-responses", "anthropic-messages"),
            ),
            Upstream(
                "bedrock",
                "https://bedrock-runtime.us-east-1.amazonaws.com",
                ("bedrock-converse", "anthropic-messages"),
            ),
        )
    }
)
"""The providers that are there without being named; any may be put at another URL."""


def upstreams_given(texts: Iterable[str]) -> Mapping[str, Upstream]:
    """Return the providers with those that somebody names, as `name=https://host`.

    After the name, `name:api,api=https://host` says which APIs are spoken there. InvalidInput for
    anything else.
    """
    table = dict(BUILT_IN)
    for text in texts:
        upstream = _given(text)
        known = table.get(upstream.name)
        if known is not None and not upstream.apis:
            upstream = replace(upstream, apis=known.apis)
        table[upstream.name] = upstream
    return MappingProxyType(table)


def _given(text: str) -> Upstream:
    left, _, url = text.partition("=")
    name, _, apis = left.partition(":")
    if not _NAME.fullmatch(name) or name == CONVERSATION:
        raise InvalidInput(
            f"{name!r} is no name of a provider: write name=https://host, the name in small letters"
        )
    spoken = tuple(filter(None, apis.split(",")))
    for api in spoken:
        if api not in names():
            raise InvalidInput(f"{api!r} is no API: write one of {', '.join(names())}")
    return Upstream(name, _base_url(url), spoken)


def _base_url(url: str) -> str:
    """Return a base URL; InvalidInput for one that would send keys or paths astray."""
    why = "a provider's URL is https://host, with a port and a path where it has them"
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as exc:
        raise InvalidInput(why) from exc
    if parts.scheme not in _SCHEMES or not parts.hostname or "@" in parts.netloc:
        raise InvalidInput(why)
    path = parts.path.rstrip("/")
    if parts.query or parts.fragment or has_odd_segment(path.removeprefix("/")):
        raise InvalidInput(why)
    return f"{parts.scheme}://{parts.netloc}{path}"
