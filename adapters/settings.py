"""The environment, read once."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

DEFAULT_URL: Final = "sqlite:///hansard.db"


@dataclass(frozen=True, slots=True)
class Settings:
    """What the environment says.

    `url` is where the store is (`HANSARD_URL`), `actor` who acts (`HANSARD_ACTOR`; only a keyed
    digest of it is stored).
    """

    url: str = DEFAULT_URL
    actor: str | None = None


def settings(environment: Mapping[str, str] = os.environ) -> Settings:
    """Return the settings that an environment holds; what it does not name is at its default."""
    return Settings(
        url=environment.get("HANSARD_URL") or DEFAULT_URL,
        actor=environment.get("HANSARD_ACTOR") or None,
    )
