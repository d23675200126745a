"""Events to stored body bytes and back.

A body is compact UTF-8 JSON: fields in the order of their shape, fields at their default left out,
native JSON exactly as it came. docs/format.md is the specification.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, cast
from uuid import UUID

from pydantic import BaseModel, ValidationError

from onrecord.domain import jsontext
from onrecord.domain.content import Native
from onrecord.domain.errors import CorruptRecord, MalformedJson
from onrecord.domain.events import Event
from onrecord.domain.registry import NAMES, VERSIONS, Unrecognised, upcast


def encode(event: Event) -> bytes:
    """Return the body bytes of an event; MalformedJson where a value has no JSON form."""
    return jsontext.write(_plain(event))


def decode(name: str, schema_version: int, body: bytes) -> Event | Unrecognised:
    """Return the event that body bytes hold, in its present shape, or the raw bytes unrecognised.

    Raises CorruptRecord for a known name whose bytes do not have its shape.
    """
    shape = NAMES.get(name)
    if shape is None or not 1 <= schema_version <= VERSIONS[name]:
        return Unrecognised(name, schema_version, body)
    try:
        if schema_version == VERSIONS[name]:
            return _decode_present(shape, body)
        return shape.model_validate_json(
            jsontext.write(upcast(name, schema_version, jsontext.read_object(body)))
        )
    except (ValidationError, MalformedJson):
        # The cause may tell what was said.
        raise CorruptRecord(
            f"the body of a {name} event does not have the shape of version {schema_version}: "
            "run `onrecord verify` and restore it from a backup"
        ) from None


def _decode_present(shape: type[Event], body: bytes) -> Event:
    try:
        return cast("Event", shape.__pydantic_validator__.validate_json(body))
    except ValidationError as exc:
        if exc.errors(include_url=False, include_input=False)[0]["type"] != "json_invalid":
            raise
        # A lone surrogate is legal JSON, but not for the fast reader.
        return shape.model_validate(jsontext.read_object(body))


@cache
def _defaults(shape: type[BaseModel]) -> Mapping[str, object]:
    fields = shape.model_fields.items()
    return {name: field.get_default(call_default_factory=True) for name, field in fields}


def _plain(value: object) -> Any:
    # By type, not by class pattern: those ask the metaclass of the models, which takes its time.
    kind = type(value)
    if kind is str or value is None:
        return value
    if kind is tuple:
        return [_plain(item) for item in cast("tuple[object, ...]", value)]
    if kind is Native:
        native = cast("Native", value)
        return {"kind": native.kind, "api": native.api, "value": native.value}
    if kind is UUID:
        return str(value)
    if issubclass(kind, BaseModel):
        defaults = _defaults(kind)
        return {
            name: _plain(held)
            for name, held in vars(value).items()
            if name == "kind" or held != defaults[name]
        }
    return value
