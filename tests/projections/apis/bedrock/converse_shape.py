"""Whether botocore would send a Converse request: its own check of arguments, for tests."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from botocore.session import get_session  # type: ignore[import-untyped]  # It has no stubs.
from botocore.validate import ParamValidator  # type: ignore[import-untyped]  # It has no stubs.


@cache
def _shape() -> Any:
    session: Any = get_session()
    return session.get_service_model("bedrock-runtime").operation_model("Converse").input_shape


def objections(request: Mapping[str, Any]) -> str:
    """Return what botocore says of the arguments of a call; empty if it would send them."""
    validator: Any = ParamValidator()
    found = validator.validate({"modelId": "a.model", **request}, _shape())
    return str(found.generate_report())
