"""The environment, read once."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from uuid import UUID

from onrecord.domain.errors import InvalidInput

DEFAULT_URL: Final = "sqlite:///onrecord.db"
NO_TENANT: Final = UUID(int=0)
"""The tenant of a store that serves one party only."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What the environment says.

    `url` is where the store is (`ONRECORD_URL`), `actor` who acts (`ONRECORD_ACTOR`; only a keyed
    digest of it is stored), `tenant` whose conversations these are (`ONRECORD_TENANT`, a UUID),
    `capabilities` a file that says what models take (`ONRECORD_CAPABILITIES`), `redis` where a Redis
    is that makes things quick (`ONRECORD_REDIS`), `prices` a file that says what tokens cost
    (`ONRECORD_PRICES`), `listen` the database's own URL where `url` is a pooler's
    (`ONRECORD_LISTEN_URL`). URLs hold passwords: `repr` does not show them.
    """

    url: str = field(default=DEFAULT_URL, repr=False)
    actor: str | None = None
    tenant: UUID = NO_TENANT
    capabilities: Path | None = None
    redis: str | None = field(default=None, repr=False)
    prices: Path | None = None
    listen: str | None = field(default=None, repr=False)


def settings(environment: Mapping[str, str] = os.environ) -> Settings:
    """Return the settings that an environment holds; what it does not name is at its default.

    InvalidInput where `ONRECORD_TENANT` is no UUID.
    """
    return Settings(
        url=environment.get("ONRECORD_URL") or DEFAULT_URL,
        actor=environment.get("ONRECORD_ACTOR") or None,
        tenant=_tenant(environment.get("ONRECORD_TENANT")),
        capabilities=_path(environment.get("ONRECORD_CAPABILITIES")),
        redis=environment.get("ONRECORD_REDIS") or None,
        prices=_path(environment.get("ONRECORD_PRICES")),
        listen=environment.get("ONRECORD_LISTEN_URL") or None,
    )


def _path(text: str | None) -> Path | None:
    return Path(text) if text else None


def _tenant(text: str | None) -> UUID:
    try:
        return UUID(text) if text else NO_TENANT
    except ValueError:
        raise InvalidInput("ONRECORD_TENANT is no UUID: write it as 8-4-4-4-12 digits") from None
