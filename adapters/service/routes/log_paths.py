"""The paths of the log, and what stands in them."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from onrecord.adapters.service.problems import MALFORMED, Problem
from onrecord.adapters.service.route import Call
from onrecord.adapters.storage.http.forms import text_of

LOG: Final = "/v1/log"
OF_ONE: Final = f"{LOG}/conversations/{{conversation_id}}"


def text_in(data: bytes) -> str:
    """Return the text that stands in a body as bytes; Problem where it is none."""
    try:
        return text_of(data)
    except UnicodeDecodeError:
        raise Problem(MALFORMED, "bytes of a text are no UTF-8") from None


def conversation_id_of(call: Call[Any, Any]) -> UUID:
    """Return the id that a path names."""
    conversation_id: UUID = call.path["conversation_id"]
    return conversation_id
