"""Whether a provider would take a request: the SDK's types and the provider's own rules."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final, cast

from onrecord.adapters.check.service_types import Mismatch, Step
from onrecord.adapters.inputs.arguments import kind_of, text_given
from onrecord.adapters.wire.secrets import stand_ins
from onrecord.adapters.wire.wires import wire_of
from onrecord.domain import jsontext
from onrecord.domain.errors import InvalidContent, MalformedJson, UnknownApi
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.gemini.rules import snake
from onrecord.projections.apis.rules import Violation, bracketed, dotted, violations
from onrecord.projections.members import member

_GEMINI: Final = "gemini"


@dataclass(frozen=True, slots=True)
class RequestCheck:
    """What a provider would say of a request."""

    api: str
    violations: tuple[Violation, ...]
    """Each breach of a rule, those of types first."""
    types: str | None
    """The SDK's release whose types the request was held against, or of Ollama its server's types;
    None: no installed SDK has types for the API, so types were not checked."""

    @property
    def is_accepted(self) -> bool:
        """Whether no rule is known that the request breaks."""
        return not self.violations


def check_request(api: str, request: Mapping[str, Any]) -> RequestCheck:
    """Return what the provider would say of a request, before it is sent.

    `request` is what `conversation.request` gave, the arguments of an SDK's call, or a whole body; what
    the messages do not depend on, such as `model`, may be absent. Raises UnknownApi for an API
    that has no rules here, MalformedJson for a request that is no JSON.
    """
    # These take a while to import, and most programs check nothing.
    from onrecord.adapters.check.sdk_types import body_of, parameter_types
    from onrecord.projections.api import known_rules, rules_of
    from onrecord.projections.apis.request import Request

    rules = rules_of(text_given("an API's name", api))
    if rules is None:
        raise UnknownApi(f"{api!r} cannot be checked: choose one of {', '.join(known_rules())}")
    # As it would be read from the wire: a tuple is a list there.
    arguments = _arguments(request.body if isinstance(request, Request) else request)
    try:
        sent = _without_bytes(body_of(arguments) if api == _GEMINI else arguments)
    except RecursionError:
        raise MalformedJson("nested too deeply to be a request: flatten it") from None
    body = jsontext.write(sent)
    plain = jsontext.read_bounded_object(body)
    broken = (*_cut(api, plain), *violations(rules, plain))
    types = parameter_types(api, stream=plain.get("stream") is True)
    if types is None:
        return RequestCheck(api, broken, None)
    mistyped = type_violations(api, plain, types.mismatches(body))
    return RequestCheck(api, (*mistyped, *broken), types.sdk)


def _cut(api: str, request: JsonObject) -> tuple[Violation, ...]:
    """Return where a request holds the digest of a secret: no service knows that."""
    wire = wire_of(api)
    places = () if wire is None else stand_ins(request, wire)
    message = "the digest of a secret stands where the secret was cut"
    advice = "give the member as it is to be sent: chat.request(..., secrets={...})"
    return tuple(Violation(place, "secret", message, advice) for place in places)


def _arguments(request: object) -> JsonObject:
    if isinstance(request, Mapping):
        return dict(cast("JsonObject", request))
    raise InvalidContent(f"a request is a mapping, not {kind_of(request)}")


def _without_bytes(value: Any) -> Any:
    """Return what an SDK would send of a value: bytes, as some take them, are base64 on the wire."""
    if isinstance(value, bytes | bytearray):
        return b64encode(value).decode()
    if isinstance(value, dict):
        return {name: _without_bytes(held) for name, held in cast("JsonObject", value).items()}
    if isinstance(value, list | tuple):
        return [_without_bytes(held) for held in cast("Sequence[Any]", value)]
    return value


# Where a service is known to take, or itself sent, what its SDK's types of a request do not have.
#
# A place is spelled with the types of the objects in lists: `input.*.reasoning.id` is the id of
# an item of the input whose type is `reasoning`. A `*` is a place in a list, and any text as well;
# `[*]` is a place in a list alone, whatever type stands there: none.

_SENT: Final = "the service sends it in answers; that its own words go back is what it asks for"
_NULL: Final = "the service sends null; recorded: a null `status` was accepted"
_COMPATIBLE: Final = "recorded: accepted by"
_GROQ: Final = "console.groq.com, API Reference, Create chat completion"


@dataclass(frozen=True, slots=True)
class Deviation:
    """A mismatch that is none to the service."""

    api: str
    place: str
    source: str
    is_null: bool = False
    """Whether only null is let pass."""
    value: str | None = None
    """The only word that is let pass, if not any."""


_ANTHROPIC: Final = "anthropic-messages"
_CHAT: Final = "openai-chat"
_RESPONSES: Final = "openai-responses"
_BEDROCK: Final = "bedrock-converse"

DEVIATIONS: Final = (
    Deviation(_BEDROCK, "messages.*.content.*.toolUse.type", _SENT),
    Deviation(_ANTHROPIC, "messages.*.text.citations.*.file_id", _SENT),
    Deviation(
        _ANTHROPIC, "messages.*.code_execution_tool_result.content.abort_reason", _SENT, True
    ),
    Deviation(_CHAT, "messages.*.reasoning_content", f"{_COMPATIBLE} DeepSeek and z.ai"),
    Deviation(_CHAT, "messages.*.reasoning", f"{_COMPATIBLE} Cerebras, Crusoe and Ollama"),
    Deviation(_CHAT, "messages.*.reasoning_details", f"{_COMPATIBLE} Snowflake and OpenRouter"),
    Deviation(_CHAT, "messages.*.name", f"{_COMPATIBLE} Hugging Face", True),
    Deviation(_CHAT, "messages.*.tool_calls", f"{_COMPATIBLE} Hugging Face", True),
    Deviation(_CHAT, "tools.*.openrouter:*", f"{_COMPATIBLE} OpenRouter"),
    Deviation(_CHAT, "clear_thinking", f"{_COMPATIBLE} Cerebras"),
    Deviation(_CHAT, "reasoning", f"{_COMPATIBLE} OpenRouter and Snowflake"),
    Deviation(_CHAT, "reasoning_format", f"{_COMPATIBLE} Groq"),
    Deviation(_CHAT, "reasoning_effort", f"{_COMPATIBLE} Groq", value="default"),
    Deviation(_CHAT, "search_settings", f"{_COMPATIBLE} Groq"),
    Deviation(_CHAT, "include_reasoning", _GROQ),
    Deviation(_CHAT, "compound_custom", _GROQ),
    Deviation(_CHAT, "citation_options", _GROQ),
    Deviation(_CHAT, "disable_tool_validation", _GROQ),
    Deviation(_CHAT, "documents", _GROQ),
    Deviation(_CHAT, "messages.*.prefix", f"{_COMPATIBLE} Mistral"),
    Deviation(_CHAT, "messages.*.content.*.thinking.type", f"{_COMPATIBLE} Mistral"),
    Deviation(_CHAT, "messages.*.tool_calls.*.index", f"{_COMPATIBLE} Mistral"),
    Deviation(_CHAT, "tools.[*].type", f"{_COMPATIBLE} Mistral without it"),
    Deviation(_CHAT, "service_tier", f"{_COMPATIBLE} Groq (`on_demand`)"),
    Deviation(_CHAT, "thinking", f"{_COMPATIBLE} z.ai"),
    Deviation(_RESPONSES, "tools.*.function.strict", "recorded: accepted without it"),
    Deviation(_RESPONSES, "input.*.*.created_by", _SENT),
    Deviation(_RESPONSES, "input.*.*.output.*.created_by", _SENT),
    Deviation(_RESPONSES, "input.*.message.content.*.output_text.logprobs", _NULL, True),
    Deviation(_RESPONSES, "input.*.reasoning.content", _NULL, True),
    Deviation(_RESPONSES, "input.*.reasoning.status", _NULL, True),
    Deviation(_RESPONSES, "input.*.reasoning.id", "may be left out beside `encrypted_content`"),
    Deviation(_RESPONSES, "input.*.function_call.id", _NULL, True),
    Deviation(_RESPONSES, "input.*.function_call.status", _NULL, True),
    Deviation(_RESPONSES, "input.*.function_call.namespace", _NULL, True),
    Deviation(_RESPONSES, "input.*.function_call.async", _NULL, True),
    Deviation(_RESPONSES, "input.*.custom_tool_call.id", _NULL, True),
    Deviation(_RESPONSES, "input.*.custom_tool_call.async", _NULL, True),
    Deviation(_RESPONSES, "input.*.custom_tool_call_output.status", _SENT),
    Deviation(_RESPONSES, "input.*.web_search_call.action*", _SENT),
    Deviation(_RESPONSES, "input.*.file_search_call.results.*.vector_store_id", _SENT),
    Deviation(_RESPONSES, "input.*.image_generation_call.error", _NULL, True),
    Deviation(_RESPONSES, "input.*.image_generation_call.svg_usage", _NULL, True),
    Deviation(_RESPONSES, "input.*.image_generation_call.result", "recorded: its id is enough"),
    Deviation(_RESPONSES, "input.*.image_generation_call.status", "recorded: its id is enough"),
    Deviation(_RESPONSES, "input.*.mcp_call.status", _NULL, True),
    Deviation(_RESPONSES, "input.*.computer_call.action", _NULL, True),
    Deviation(_RESPONSES, "input.*.computer_call_output.output.file_id", _NULL, True),
    Deviation(_RESPONSES, "input.*.tool_search_output.tools.*", _NULL, True),
)


def is_tolerated(api: str, place: str, given: object) -> bool:
    """Whether a service is known to take what is given at a place."""
    return any(
        deviation.api == api
        and (given is None or not deviation.is_null)
        and deviation.value in (None, given)
        and fnmatchcase(place, deviation.place)
        for deviation in DEVIATIONS
    )


# What is not of its SDK's type in a request, as the provider would say it.

_ADVICE: Final = {"extra_forbidden": "leave the member out", "missing": "send the member"}
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
    return is_tolerated(api, place, mismatch.given)


def _violation(api: str, request: JsonObject, mismatch: Mismatch) -> Violation:
    message = _said(api, request, mismatch)
    advice = _ADVICE.get(mismatch.reason, "send it as the SDK's types have it")
    return Violation(jsontext.pointer(mismatch.path), "types", message, advice)


def _said(api: str, request: JsonObject, mismatch: Mismatch) -> str:
    match api:
        case "anthropic-messages":
            return f"{dotted(_tagged(request, mismatch))}: {mismatch.message}"
        case "gemini":
            return _by_google(mismatch)
        case "bedrock-converse" | "ollama":
            return mismatch.message
        case _:
            return _by_openai(mismatch)


def _by_google(mismatch: Mismatch) -> str:
    if mismatch.reason == "extra_forbidden":
        around = mismatch.path[:-1]
        where = f" at '{snake(bracketed(around))}'" if around else ""
        message = f'Unknown name "{mismatch.path[-1]}"{where}: Cannot find field.'
        return f"Invalid JSON payload received. {message}"
    kind = _KINDS.get(mismatch.reason, mismatch.message)
    return f"Invalid value at '{snake(bracketed(mismatch.path))}' ({kind}), {mismatch.given!r}"


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
    value: Any = request
    for step in mismatch.path:
        tagged.append(step)
        value = value[step] if isinstance(step, int) else member(value, step)
        if isinstance(step, int) and isinstance(tag := member(value, "type"), str):
            tagged.append(tag)
    return tuple(tagged)
