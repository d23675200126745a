"""Objects of SDKs as the JSON that they stand for, without an import of any SDK."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from pydantic import BaseModel

_PROTOBUF: Final = "DESCRIPTOR"
"""What every message of protobuf has."""


def plain(given: object) -> Any:
    """Return the JSON of a pydantic model or a protobuf message, anything else as it is.

    Members that are None are left out: in what MCP and A2A list, absent and None are the same.
    """
    match given:
        case BaseModel():
            return given.model_dump(mode="json", by_alias=True, exclude_none=True)
        case Mapping():
            return dict(cast("Mapping[str, Any]", given))
        case _ if hasattr(given, _PROTOBUF):
            from google.protobuf import (  # type: ignore[import-untyped]  # it has no stubs
                json_format,
            )

            return json_format.MessageToDict(cast("Any", given))
        case _:
            return given
