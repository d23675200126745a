"""What was verified, in words: how far a shard is sealed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from onrecord.adapters.presentation.verification import sealed_line
from onrecord.adapters.upkeep.verified import VerifiedSeal

SEAL = VerifiedSeal(
    shard=3,
    place="s3://seals",
    size=1200,
    sealed_at=None,
    pending=4,
    checkpoints=1,
    keys=(),
    is_pinned=False,
    is_checked=True,
)
NINE = 32_400_000_000
"""Nine o'clock on 1970-01-01, in microseconds."""


@pytest.mark.parametrize(
    ("seal", "line"),
    [
        (SEAL, "shard 3 is sealed to 1,200 at s3://seals, 4 not yet"),
        (
            replace(SEAL, sealed_at=NINE),
            "shard 3 is sealed to 1,200 at s3://seals (1970-01-01T09:00:00.000000Z), 4 not yet",
        ),
        (
            replace(SEAL, stamped=1000, stamped_at=NINE),
            (
                "shard 3 is sealed to 1,200 at s3://seals, 4 not yet; "
                "an authority saw 1,000 of them at 1970-01-01T09:00:00.000000Z"
            ),
        ),
        (replace(SEAL, is_checked=False), "shard 3 at s3://seals: not checked"),
        (
            replace(SEAL, largest=1500),
            "shard 3 holds up to 1,200 of 1,500 sealed at s3://seals",
        ),
    ],
)
def test_a_line_says_how_far_a_shard_is_sealed(seal: VerifiedSeal, line: str) -> None:
    assert sealed_line(seal) == line
