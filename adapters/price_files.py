"""Files in which a caller says what tokens cost."""

from __future__ import annotations

import os
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from hansard.adapters.settings import settings
from hansard.adapters.toml_files import tables_in
from hansard.domain.errors import InvalidInput

if TYPE_CHECKING:
    from hansard.projections.views.prices import Prices


def prices_given(file: str | os.PathLike[str] | None) -> Prices:
    """Return the prices that a file says; without one, `$HANSARD_PRICES`.

    No model has a price where neither names a file. InvalidInput where it cannot be read, or says
    what no such file may say: the message names the file, the entry and the reason.
    """
    from hansard.projections.views.prices import Prices, prices_in

    found = settings().prices if file is None else Path(file)
    if found is None:
        return Prices()
    tables = tables_in(found, parse_float=Decimal)
    try:
        return prices_in(tables)
    except InvalidInput as exc:
        raise InvalidInput(f"{found}: {exc}") from exc
