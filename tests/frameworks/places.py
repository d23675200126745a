"""The places that the stores of frameworks are tried at.

The suites that frameworks ship run at each. Our own rules leave out older servers of PostgreSQL: what a log does
on either is tried by tests/contract.
"""

from __future__ import annotations

from typing import Final

from tests.contract.places import WHERE_THE_LOG_IS
from tests.postgres_places import POSTGRES_PLACES

_OLDER: Final = tuple(POSTGRES_PLACES)[:-1]
PLACES_OF_RULES: Final = tuple(name for name in WHERE_THE_LOG_IS if name not in _OLDER)
