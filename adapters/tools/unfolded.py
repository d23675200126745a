"""What a typed result says, once its own handler has told it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, cast

from pydantic import BaseModel


class Unfolded(NamedTuple):
    """A nesting of mappings, lists, texts, documents and other typed values.

    `at` is where that stands in the JSON of the result (a JSON pointer, RFC 6901).
    """

    value: object
    at: str = ""
    is_error: bool = False


# Objects of SDKs as the JSON that they stand for, without an import of any SDK.

_PROTOBUF: Final = "DESCRIPTOR"
"""What every message of protobuf has."""


def plain(value: object) -> Any:
    """Return the JSON of a pydantic model or a protobuf message, anything else as it is.

    Members that are None are left out: in what MCP and A2A list, absent and None are the same.
    """
    match value:
        case BaseModel():
            return value.model_dump(mode="json", by_alias=True, exclude_none=True)
        case Mapping():
            return dict(cast("Mapping[str, Any]", value))
        case _ if hasattr(value, _PROTOBUF):
            from google.protobuf import (  # type: ignore[import-untyped]  # it has no stubs
                json_format,
            )

            return json_format.MessageToDict(cast("Any", value))
        case _:
            return value
