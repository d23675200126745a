"""Whether a provider would take a request: the SDK's types and the provider's own rules."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from onrecord.domain import jsontext
from onrecord.domain.errors import UnknownApi
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.rules import Violation, violations

_GEMINI: Final = "gemini"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a provider would say of a request."""

    api: str
    violations: tuple[Violation, ...]
    """Each breach of a rule, those of types first."""
    types: str | None
    """The SDK's release whose types the request was held against, or of Ollama its server's types;
    None: the SDK is not installed, so types were not checked."""

    @property
    def is_accepted(self) -> bool:
        """Whether no rule is known that the request breaks."""
        return not self.violations


def check_request(api: str, request: Mapping[str, Any]) -> Verdict:
    """Return what the provider would say of a request, before it is sent.

    `request` is what `talk.request` gave, the arguments of an SDK's call, or a whole body; what
    the messages do not depend on, such as `model`, may be absent. Raises UnknownApi for an API
    that has no rules here, MalformedJson for a request that is no JSON.
    """
    # These take a while to import, and most programs check nothing.
    from onrecord.adapters.gemini_types import body_of
    from onrecord.adapters.parameter_types import parameter_types
    from onrecord.adapters.type_violations import type_violations
    from onrecord.projections.api import known_rules
    from onrecord.projections.apis.request import Request

    rules = known_rules().get(api)
    if rules is None:
        raise UnknownApi(f"{api!r} cannot be checked: choose one of {', '.join(known_rules())}")
    # As it would be read from the wire: a tuple is a list there.
    given = dict(request.body if isinstance(request, Request) else request)
    body = jsontext.write(_without_bytes(body_of(given) if api == _GEMINI else given))
    plain = jsontext.read_object(body)
    broken = violations(rules, plain)
    types = parameter_types(api, stream=plain.get("stream") is True)
    if types is None:
        return Verdict(api, broken, None)
    mistyped = type_violations(api, plain, types.mismatches(body))
    return Verdict(api, (*mistyped, *broken), types.sdk)


def _without_bytes(value: Any) -> Any:
    """Return what an SDK would send of a value: bytes, as some take them, are base64 on the wire."""
    if isinstance(value, bytes | bytearray):
        return b64encode(value).decode()
    if isinstance(value, dict):
        return {name: _without_bytes(held) for name, held in cast("JsonObject", value).items()}
    if isinstance(value, list | tuple):
        return [_without_bytes(held) for held in cast("Sequence[Any]", value)]
    return value
