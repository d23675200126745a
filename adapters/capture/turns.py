"""The turns of a conversation on an SDK's wire: recorded before they go out, tried until answered."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, MutableMapping
from functools import partial
from typing import Any, Final

from hansard.adapters.capture import secrets
from hansard.adapters.capture.attempt import Attempt
from hansard.adapters.capture.credentials import Credentials, credentials_of
from hansard.adapters.capture.endpoints import endpoint_of
from hansard.adapters.capture.nesting import read_object
from hansard.adapters.capture.place import Recording
from hansard.adapters.capture.wire import Wire
from hansard.adapters.capture.wires import WIRES
from hansard.adapters.journal import Journal
from hansard.adapters.recording import Outgoing
from hansard.adapters.standing import Begun
from hansard.domain import jsontext
from hansard.domain.errors import NotRecorded

Refusal = Callable[[str], NotRecorded]
"""Makes the error that refuses a call, in the SDK's own family."""

_KEPT_HEADERS: Final = ("anthropic-version", "anthropic-beta")
_RETRIES: Final = "x-stainless-retry-count"
_MARK: Final = "hansard.request"
_FAILED_AT_MOST: Final = 256


def is_turn(method: str, path: str, extensions: Mapping[str, Any]) -> bool:
    """Return whether a request is a turn of a conversation, or goes on for one, redirected."""
    return _MARK in extensions or endpoint_of(method, path).kind == "turn"


class Turns:
    """Opens an attempt for each request that is a turn; knows which failed ones a retry repeats."""

    def __init__(self, journal: Journal, refusal: Refusal) -> None:
        """Record into a journal; a call that cannot be recorded is refused."""
        self.journal = journal
        self._refusal = refusal
        self._lock = threading.Lock()
        self._failed: OrderedDict[tuple[bytes, int], list[Begun]] = OrderedDict()

    def open(
        self,
        path: str,
        target: str,
        headers: Mapping[str, str],
        body: bytes,
        extensions: MutableMapping[str, Any],
    ) -> Attempt:
        """Record a turn's request that is about to be sent to a target (path and query).

        `extensions` travel with the request through redirects and renewed authentication. Raises
        the refusal where it cannot be made durable.
        """
        tried = (hashlib.sha256(body).digest(), _count(headers))
        begun = extensions.get(_MARK) or self._retried(tried)
        api = endpoint_of("POST", path).api
        if begun is None:
            begun = self._begin(api, target, headers, body)
        else:
            self.journal.resume(begun)
        extensions[_MARK] = begun
        digest = self.journal.digest
        # Copied: they are set anew for the next attempt.
        credentials = partial(credentials_of, dict(headers), target, body, api, digest)
        return self._attempt(WIRES[api], begun, tried, credentials)

    def _begin(self, api: str, target: str, headers: Mapping[str, str], body: bytes) -> Begun:
        try:
            return self.journal.begin(self._outgoing(api, target, headers, body))
        except Exception as exc:
            raise self._refusal(
                f"the request was not sent, for it could not be recorded first: {exc}"
            ) from exc

    def _outgoing(self, api: str, target: str, headers: Mapping[str, str], body: bytes) -> Outgoing:
        digest = self.journal.digest
        request = read_object(body)
        clean, places = secrets.cut(request, api, digest)
        key = headers.get("x-api-key") or headers.get("authorization", "").removeprefix("Bearer ")
        return Outgoing(
            api=api,
            endpoint=secrets.cut_url(target, digest),
            body=jsontext.write(clean) if places else body,
            cut=places,
            account=digest(key).hex() if key else None,
            headers={name: headers[name] for name in _KEPT_HEADERS if name in headers},
        )

    def _attempt(
        self,
        wire: Wire,
        begun: Begun,
        tried: tuple[bytes, int],
        credentials: Callable[[], Credentials],
    ) -> Attempt:
        def close(recording: Recording, failed: bool) -> None:
            if failed:
                self._may_be_retried(begun, tried)
            self.journal.conclude(begun, recording)

        return Attempt(wire, begun.request, begun.line, credentials, close)

    def _may_be_retried(self, begun: Begun, tried: tuple[bytes, int]) -> None:
        body, count = tried
        with self._lock:
            self._failed.setdefault((body, count + 1), []).append(begun)
            while len(self._failed) > _FAILED_AT_MOST:
                self._failed.popitem(last=False)

    def _retried(self, tried: tuple[bytes, int]) -> Begun | None:
        """Return the request that this is another attempt of: same body, next in count."""
        with self._lock:
            waiting = self._failed.pop(tried, [])
            # The newest: an older one may be an attempt that the SDK never made again.
            begun = waiting.pop() if waiting else None
            if waiting:
                self._failed[tried] = waiting
        return begun


def _count(headers: Mapping[str, str]) -> int:
    """Return which retry of the SDK's this is; 0 is the first attempt."""
    count = headers.get(_RETRIES, "")
    return int(count) if count.isdecimal() else 0
