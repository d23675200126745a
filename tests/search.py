"""Long searches: `make test` runs a twentieth of each, the same each time; `make soak` runs all.

Two kinds of tests search: those of hypothesis, by `examples`, and those of many cases under the
marker `search`. What a run leaves out follows from one number, so that a failure can be repeated;
`ONRECORD_TEST_SEED=7 make test` leaves out others.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from typing import Final

from hypothesis import HealthCheck, settings

SEED: Final = int(os.environ.get("ONRECORD_TEST_SEED", "20261121"))
"""The same in each run, unless another one is given to search with."""

SHARE: Final = 20
WHOLE: Final = "searching"
"""The profile of hypothesis under which nothing is left out."""

_FEWEST: Final = 5


def is_whole() -> bool:
    """Whether this run leaves nothing out."""
    return settings.get_current_profile_name() == WHOLE


def examples(count: int, suppressed: Sequence[HealthCheck] = (), steps: int = 50) -> settings:
    """Return what a test of hypothesis is decorated with: so many examples, or a twentieth."""
    return settings(
        max_examples=count if is_whole() else max(count // SHARE, _FEWEST),
        suppress_health_check=[HealthCheck.too_slow, *suppressed],
        stateful_step_count=steps,
    )


def is_drawn(name: str) -> bool:
    """Whether a case of a search, by its name, is among the twentieth."""
    drawn = hashlib.sha256(f"{SEED} {name}".encode()).digest()
    return int.from_bytes(drawn[:8]) % SHARE == 0
