"""Logins that people started at an issuer and have not finished, kept in the memory of the process."""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from onrecord.adapters.caches.newest import Newest

LONGEST_SECONDS: Final = 600
"""A login has to be finished within so long."""

MOST: Final = 4_096
"""How many logins there are at most; of too many the oldest goes."""

_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class PendingLogin:
    """A login that one browser started, and what nobody else knows of it.

    `state` comes back with the browser, `nonce` in the ID token, and `verifier` proves to the issuer that
    the code is ours. The browser comes back to `redirect_uri`, and goes on to `next_path`.
    """

    state: str = field(repr=False)
    nonce: str = field(repr=False)
    verifier: str = field(repr=False)
    redirect_uri: str
    next_path: str
    started: float


class PendingLogins:
    """The logins of a process, by the id that a cookie has. For one thread: that of the event loop."""

    def __init__(self, elapsed: Callable[[], float] = time.monotonic, *, most: int = MOST) -> None:
        """Have no login yet; `elapsed` is a clock in seconds."""
        self._elapsed = elapsed
        self._logins: Newest[str, PendingLogin] = Newest(most)

    def start(self, redirect_uri: str, next_path: str) -> tuple[str, PendingLogin]:
        """Start a login; return its id, and it."""
        state, nonce, verifier = (secrets.token_urlsafe(_BYTES) for _ in range(3))
        login = PendingLogin(state, nonce, verifier, redirect_uri, next_path, self._elapsed())
        id_ = secrets.token_urlsafe(_BYTES)
        self._logins[id_] = login
        return id_, login

    def take(self, id_: str, state: str) -> PendingLogin | None:
        """Return a login for good; None where there is none, it took too long, or the state is another."""
        login = self._logins.get(id_)
        if login is None or not hmac.compare_digest(login.state.encode(), state.encode()):
            return None
        del self._logins[id_]
        is_over = self._elapsed() - login.started >= LONGEST_SECONDS
        return None if is_over else login
