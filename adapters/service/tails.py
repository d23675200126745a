"""The tails of a service: the hub that reads for them, and how many there may be."""

from __future__ import annotations

from dataclasses import dataclass

from onrecord.adapters.service.hub import Hub
from onrecord.adapters.service.quotas import Quota


@dataclass(frozen=True, slots=True)
class Tails:
    """What tails share. Each says after `seconds` without an event that it is there."""

    hub: Hub
    open_tails: Quota
    seconds: float
