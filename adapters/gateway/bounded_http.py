"""HTTP/1.1 as uvicorn and httptools read it, with a bound on what comes before a body.

Both keep a head however large it is, for as long as it takes, before anybody sees a request.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MOST_HEAD: Final = 64 << 10
"""How many bytes a path and the headers may have, all together."""

HEAD_SECONDS: Final = 30.0
"""How long a head may take to come."""

_VERSIONS: Final = ("1.0", "1.1")


class BoundedHttp(HttpToolsProtocol):
    """One connection: a head that is too large, too slow or of another version ends it.

    What a callback raises is a malformed request to uvicorn: 400, and the connection is closed.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Expect a head."""
        super().__init__(*args, **kwargs)
        self._is_head = True
        self._unread = self._read = 0
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first head."""
        super().connection_made(transport)
        self._deadline = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        self._have_head()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take bytes: of a head that is not complete, not too many."""
        super().data_received(data)
        if not self._is_head:
            return
        self._unread += len(data)
        if self._unread > MOST_HEAD and not self.transport.is_closing():
            self.send_400_response("The head of the request is too large.")

    def on_message_begin(self) -> None:
        """Begin a head."""
        self._is_head, self._unread, self._read = True, 0, 0
        if self._deadline is None:
            self._deadline = self.loop.call_later(HEAD_SECONDS, self._give_up)
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Take a piece of the path."""
        self._take(url)
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header, or a trailer."""
        self._take(name + value)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Begin to answer, if it is HTTP of a version that is known."""
        parser: Any = self.parser  # None once the connection is lost: then nothing is parsed.
        if parser.get_http_version() not in _VERSIONS:
            raise ValueError("the version of HTTP is not known")
        self._is_head = False
        self._have_head()
        super().on_headers_complete()

    def _take(self, part: bytes) -> None:
        self._read += len(part)
        if self._read > MOST_HEAD:
            raise ValueError("the head is too large")

    def _have_head(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        self._deadline = None
        if not self.transport.is_closing():
            self.transport.close()
