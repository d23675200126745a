"""Files in which a caller says what tokens cost."""

from __future__ import annotations

import os
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from onrecord.adapters.settings import settings
from onrecord.adapters.toml_files import tables_in
from onrecord.domain.errors import InvalidInput

if TYPE_CHECKING:
    from onrecord.projections.views.usage import Prices


def prices_given(file: str | os.PathLike[str] | None) -> Prices:
    """Return the prices that a file says; without one, `$ONRECORD_PRICES`.

    No model has a price where neither names a file. InvalidInput where it cannot be read, or says
    what no such file may say: the message names the file, the entry and the reason.
    """
    from onrecord.projections.views.usage import Prices, prices_in

    found = settings().prices if file is None else Path(file)
    if found is None:
        return Prices()
    tables = tables_in(found, parse_float=Decimal)
    try:
        return prices_in(tables)
    except InvalidInput as exc:
        raise InvalidInput(f"{found}: {exc}") from exc
