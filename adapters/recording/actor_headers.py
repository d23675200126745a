"""The headers of a request that say who acts, and for whom, by name: one rule for all that is asked by HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import unquote

from onrecord.domain.errors import InvalidInput

ACTOR: Final = "onrecord-actor"
ON_BEHALF_OF: Final = "onrecord-on-behalf-of"
"""The names are percent-encoded where they are not ASCII."""


def name_in(headers: Mapping[str, str], header: str) -> str | None:
    """Return the name in a header, which may be spelled with `x-` before it; None where there is none.

    InvalidInput where it is no UTF-8, or where both spellings say different names.
    """
    given = {headers[name] for name in (header, f"x-{header}") if name in headers}
    if not given:
        return None
    if len(given) > 1:
        raise InvalidInput(f"{header} and x-{header} say different names: send one of them")
    try:
        return unquote(given.pop(), errors="strict")
    except UnicodeDecodeError:
        raise InvalidInput(f"{header} is no UTF-8") from None
