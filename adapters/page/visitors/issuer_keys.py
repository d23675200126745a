"""The keys of an issuer, kept in the memory of the process, so that strangers have it asked for few."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from joserfc.jwk import KeySet

from onrecord.adapters.page.visitors.issuer import IssuerAway
from onrecord.adapters.page.visitors.tokens import key_set

PAUSE: Final = 10.0
"""How many seconds go by before strangers have the issuer asked once more."""

_MOST_WAITING: Final = 16
"""How many tokens wait at once for the issuer to answer; the others are refused."""


class IssuerKeys:
    """The keys that an issuer named last. For one thread: that of the event loop."""

    def __init__(
        self,
        fetch: Callable[[], Awaitable[Mapping[str, object]]],
        elapsed: Callable[[], float] = time.monotonic,
    ) -> None:
        """Know of no key yet; `fetch` returns the document that has them, `elapsed` is a clock in seconds."""
        self._fetch = fetch
        self._elapsed = elapsed
        self._keys: KeySet | None = None
        self._asking = asyncio.Lock()
        self._waiting = 0
        self._next_fetch: float | None = None

    async def newest(self) -> KeySet:
        """Return the keys of now, for what the issuer itself gave: it is asked. IssuerAway as it may be."""
        self._keys = key_set(await self._fetch())
        return self._keys

    async def having(self, kid: str | None) -> KeySet:
        """Return keys with the one of an id, for what strangers may have made up.

        Nothing is asked where the key is known. For others the issuer is asked once at a time, and once in
        `PAUSE` seconds; in between the known keys are returned, without that one. IssuerAway where none
        are known, or too many wait.
        """
        if self._keys is not None and _has(self._keys, kid):
            return self._keys
        if self._waiting >= _MOST_WAITING:
            raise IssuerAway("too many logout tokens wait for its keys")
        self._waiting += 1
        try:
            async with self._asking:
                return await self._asked_for(kid)
        finally:
            self._waiting -= 1

    async def _asked_for(self, kid: str | None) -> KeySet:
        # Whoever waited may find that the one before has brought the key.
        known = self._keys
        if known is not None and _has(known, kid):
            return known
        if self._next_fetch is None or self._elapsed() >= self._next_fetch:
            try:
                return await self.newest()
            finally:
                # From its end: the issuer may take longer to answer than the pause is.
                self._next_fetch = self._elapsed() + PAUSE
        if known is None:
            raise IssuerAway("it was asked for its keys a moment ago, and gave none")
        return known


def _has(keys: KeySet, kid: str | None) -> bool:
    return kid is not None and any(key.kid == kid for key in keys)
