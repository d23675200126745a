"""The headers of a request that say who acts and under which rules: one rule for all that is asked by HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import unquote

from onrecord.adapters.recording.actor_names import AttributionNames
from onrecord.domain.errors import InvalidInput

ACTOR: Final = "onrecord-actor"
ON_BEHALF_OF: Final = "onrecord-on-behalf-of"
"""The names are percent-encoded where they are not ASCII."""

POLICY: Final = "onrecord-policy"
DEPLOYMENT: Final = "onrecord-deployment"


def names_in(headers: Mapping[str, str], actor: str | None = None) -> AttributionNames:
    """Return who acts and under which rules by headers; the `actor` where they do not say who.

    InvalidInput as `name_in` has it.
    """
    return {
        "actor": name_in(headers, ACTOR) or actor,
        "on_behalf_of": name_in(headers, ON_BEHALF_OF),
        "policy": name_in(headers, POLICY),
        "deployment": name_in(headers, DEPLOYMENT),
    }


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
