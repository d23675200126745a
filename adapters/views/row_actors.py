"""The actors in rows of views: their digests, and their names as the log's directory has them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from onrecord.projections.views.view import Row

_DIGEST: Final = re.compile(r"(?:[0-9a-f]{2})+")


def digests_in(row: Row) -> Iterator[str]:
    """Yield the digests of actors that a row has; anybody may have written what is none."""
    for digest in (row.get("actor"), row.get("on_behalf_of"), *row.get("participants", ())):
        if isinstance(digest, str) and _DIGEST.fullmatch(digest):
            yield digest


def names_in(row: Row, names: Mapping[str, str]) -> Row:
    """Return the names of a row's actors, where it has any."""
    named: Row = {}
    for member in ("actor", "on_behalf_of"):
        if member in row:
            named[f"{member}_name"] = names.get(row[member] or "")
    if "participants" in row:
        named["participant_names"] = [names[each] for each in row["participants"] if each in names]
    return named
