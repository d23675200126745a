"""Whether a provider would take a request: the SDK's types and the provider's own rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from hansard.adapters.parameter_types import Mismatch, Step, parameter_types
from hansard.adapters.type_deviations import is_tolerated
from hansard.domain import jsontext
from hansard.domain.errors import UnknownApi
from hansard.domain.jsontext import JsonObject
from hansard.projections.referee.rules import RULES
from hansard.projections.referee.violation import (
    Violation,
    bracketed,
    dotted,
    pointer,
    violations,
)

_ADVICE: Final = {
    "extra_forbidden": "leave the member out",
    "missing": "send the member",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a provider would say of a request."""

    api: str
    violations: tuple[Violation, ...]
    """Each breach of a rule, those of types first."""
    types: str | None
    """The SDK's release whose types the request was held against; None: it is not installed, so
    types were not checked."""

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
    rules = RULES.get(api)
    if rules is None:
        raise UnknownApi(f"{api!r} cannot be checked: choose one of {', '.join(RULES)}")
    # As it would be read from the wire: tuples are lists, and nothing is shared.
    body = jsontext.write(dict(request))
    plain = jsontext.read_object(body)
    types = parameter_types(api, stream=plain.get("stream") is True)
    mistyped = () if types is None else types.mismatches(body)
    found = [
        _violation(api, plain, mismatch)
        for mismatch in mistyped
        if not _is_let_pass(api, plain, mismatch)
    ]
    return Verdict(api, (*found, *violations(rules, plain)), None if types is None else types.sdk)


def _is_let_pass(api: str, request: JsonObject, mismatch: Mismatch) -> bool:
    """Whether a mismatch is none: the caller adds the member, or the service takes it as it is."""
    if len(mismatch.path) == 1 and mismatch.reason == "missing":
        return True
    place = ".".join("*" if isinstance(step, int) else step for step in _tagged(request, mismatch))
    return is_tolerated(api, place, is_null=mismatch.given is None)


def _violation(api: str, request: JsonObject, mismatch: Mismatch) -> Violation:
    is_anthropic = api == "anthropic-messages"
    said = _by_anthropic(request, mismatch) if is_anthropic else _by_openai(mismatch)
    advice = _ADVICE.get(mismatch.reason, "send it as the SDK's types have it")
    return Violation(pointer(mismatch.path), "types", said, advice)


def _by_anthropic(request: JsonObject, mismatch: Mismatch) -> str:
    return f"{dotted(_tagged(request, mismatch))}: {mismatch.message}"


def _by_openai(mismatch: Mismatch) -> str:
    name = bracketed(mismatch.path)
    match mismatch.reason:
        case "extra_forbidden":
            return f"Unknown parameter: '{name}'."
        case "missing":
            return f"Missing required parameter: '{name}'."
        case "literal_error":
            given, values = mismatch.given, mismatch.expected
            return f"Invalid value: '{given}'. Supported values are: {values}. ('{name}')"
        case _:
            return f"Invalid type for '{name}': {mismatch.message}."


def _tagged(request: JsonObject, mismatch: Mismatch) -> tuple[Step, ...]:
    """Return a path with the type of each object in a list after its place."""
    tagged: list[Step] = []
    held: Any = request
    for step in mismatch.path:
        tagged.append(step)
        held = _member(held, step)
        if isinstance(step, int) and isinstance(tag := _member(held, "type"), str):
            tagged.append(tag)
    return tuple(tagged)


def _member(held: Any, step: Step) -> Any:
    try:
        return held[step]
    except (LookupError, TypeError):
        return None
