"""What is not of its SDK's type in a request, as the provider would say it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from hansard.adapters.parameter_types import Mismatch, Step
from hansard.adapters.type_deviations import is_tolerated
from hansard.domain.jsontext import JsonObject
from hansard.projections.referee.members import member
from hansard.projections.referee.violation import Violation, bracketed, dotted, pointer

_ADVICE: Final = {
    "extra_forbidden": "leave the member out",
    "missing": "send the member",
}


def type_violations(
    api: str, request: JsonObject, mismatches: Iterable[Mismatch]
) -> tuple[Violation, ...]:
    """Return the mismatches that a provider would refuse a request for."""
    return tuple(
        _violation(api, request, mismatch)
        for mismatch in mismatches
        if not _is_let_pass(api, request, mismatch)
    )


def _is_let_pass(api: str, request: JsonObject, mismatch: Mismatch) -> bool:
    """Whether a mismatch is none: the caller adds the member, or the service takes it as it is."""
    if len(mismatch.path) == 1 and mismatch.reason == "missing":
        # Who names the model sends a whole body. Recorded words: "max_tokens: Field required".
        return mismatch.path != ("max_tokens",) or "model" not in request
    steps = _tagged(request, mismatch)
    place = ".".join("*" if isinstance(step, int) else step for step in steps)
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
        held = held[step] if isinstance(step, int) else member(held, step)
        if isinstance(step, int) and isinstance(tag := member(held, "type"), str):
            tagged.append(tag)
    return tuple(tagged)
