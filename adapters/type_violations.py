"""What is not of its SDK's type in a request, as the provider would say it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from onrecord.adapters.mismatch import Mismatch, Step
from onrecord.adapters.type_deviations import is_tolerated
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.members import member
from onrecord.projections.apis.rules import Violation, bracketed, dotted, pointer

_ADVICE: Final = {
    "extra_forbidden": "leave the member out",
    "missing": "send the member",
}


_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_KINDS: Final = {
    "dict_type": "type.googleapis.com/google.protobuf.Struct",
    "string_type": "TYPE_STRING",
    "string_pattern_mismatch": "TYPE_BYTES",
    "bool_type": "TYPE_BOOL",
    "bool_parsing": "TYPE_BOOL",
    "int_type": "TYPE_INT32",
    "int_parsing": "TYPE_INT32",
    "float_type": "TYPE_FLOAT",
    "float_parsing": "TYPE_FLOAT",
}
"""What Google's service calls a type that a value is not of."""


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
    said = _said(api, request, mismatch)
    advice = _ADVICE.get(mismatch.reason, "send it as the SDK's types have it")
    return Violation(pointer(mismatch.path), "types", said, advice)


def _said(api: str, request: JsonObject, mismatch: Mismatch) -> str:
    match api:
        case "anthropic-messages":
            return _by_anthropic(request, mismatch)
        case "gemini":
            return _by_google(mismatch)
        case "bedrock-converse" | "ollama":
            return mismatch.message
        case _:
            return _by_openai(mismatch)


def _by_google(mismatch: Mismatch) -> str:
    steps = [
        _HUMP.sub("_", step).lower() if isinstance(step, str) else step for step in mismatch.path
    ]
    if mismatch.reason == "extra_forbidden":
        where = f" at '{bracketed(tuple(steps[:-1]))}'" if steps[1:] else ""
        said = f'Unknown name "{mismatch.path[-1]}"{where}: Cannot find field.'
        return f"Invalid JSON payload received. {said}"
    kind = _KINDS.get(mismatch.reason, mismatch.message)
    return f"Invalid value at '{bracketed(tuple(steps))}' ({kind}), {mismatch.given!r}"


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
