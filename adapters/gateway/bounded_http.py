"""HTTP/1.1 as uvicorn and httptools read it, with bounds on what is no body, and on clients that take nothing.

Both keep a head or a trailer however large it is, for as long as it takes, before anybody sees it. And
they wait for good for a client that takes nothing of its answer, which holds what the answer needs.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MOST_HEAD: Final = 64 << 10
"""How many bytes a path and headers may have, all together; also trailers, and chunks without bytes."""

MOST_UNWANTED: Final = 128 << 20
"""How many bytes of a body are read after its answer, which many programs look at only then."""

HEAD_SECONDS: Final = 30.0
"""How long a head may take to come."""

WRITE_SECONDS: Final = 60.0
"""How long a client may take nothing of its answer. Who takes a little is waited for."""

TAKES_SECONDS: Final = 2.0
"""How long a server that is to end waits for a client that takes nothing of its answer."""

_VERSIONS: Final = ("1.0", "1.1")


class BoundedHttp(HttpToolsProtocol):
    """One connection: a head that is too large, too slow or of another version ends it.

    So does a client that takes nothing of its answer, soon once the server is to end.

    What a callback raises is a malformed request to uvicorn: 400, and the connection is closed.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Expect a head."""
        super().__init__(*args, **kwargs)
        self._is_head = True
        self._unread = self._read = self._unwanted = 0
        self._has_come_on = False
        self._deadline: asyncio.TimerHandle | None = None
        self._next_look: asyncio.TimerHandle | None = None
        self._has_resumed = False
        self._is_ending = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first head."""
        super().connection_made(transport)
        self._deadline = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        self._have_head()
        if self._next_look is not None:
            self._next_look.cancel()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """Finish what is under way, as long as the client takes it."""
        super().shutdown()
        self._is_ending = True
        self._look_again()

    def pause_writing(self) -> None:
        """Wait until the client takes something, and not for good."""
        super().pause_writing()
        if self._next_look is None:
            self._look_again()

    def resume_writing(self) -> None:
        """Go on: the client took something."""
        self._has_resumed = True
        super().resume_writing()

    def data_received(self, data: bytes) -> None:
        """Take bytes: not too many that neither complete a head nor are of a body."""
        self._has_come_on = False
        super().data_received(data)
        self._unread = 0 if self._has_come_on else self._unread + len(data)
        if self._unread > MOST_HEAD and not self.transport.is_closing():
            self._refuse()

    def on_message_begin(self) -> None:
        """Begin a head."""
        self._is_head = True
        self._unread = self._read = self._unwanted = 0
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
        if name.lower() == b"transfer-encoding" and value.strip().lower() != b"chunked":
            raise ValueError("no coding but chunked is undone")  # RFC 9112, 6.1
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Begin to answer, if it is HTTP of a version that is known."""
        parser: Any = self.parser  # None once the connection is lost: then nothing is parsed.
        if parser.get_http_version() not in _VERSIONS:
            raise ValueError("the version of HTTP is not known")
        self._has_come_on = True
        self._is_head = False
        self._have_head()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take a piece of a body."""
        self._has_come_on = True
        if self.cycle.response_complete:
            self._drop(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Take the end of a request."""
        self._has_come_on = True
        super().on_message_complete()

    def _refuse(self) -> None:
        """End the connection; who still sends a head is told why."""
        if self._is_head:
            self.send_400_response("The head of the request is too large.")
        else:
            self.transport.close()

    def _drop(self, piece: bytes) -> None:
        """Drop what comes after the answer: so much that a program can read it, and not for ever."""
        self._unwanted += len(piece)
        if self._unwanted > MOST_UNWANTED:
            self.transport.close()

    def _take(self, part: bytes) -> None:
        self._read += len(part)
        if self._read > MOST_HEAD:
            raise ValueError("the head is too large")

    def _have_head(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _look_again(self) -> None:
        self._has_resumed = False
        if self._next_look is not None:
            self._next_look.cancel()
        left = self.transport.get_write_buffer_size()
        seconds = TAKES_SECONDS if self._is_ending else WRITE_SECONDS
        self._next_look = self.loop.call_later(seconds, self._must_have_taken, left)

    def _must_have_taken(self, left: int) -> None:
        """Cut the connection of a client that took nothing; of one that waits, nothing is known."""
        is_full = self.flow.write_paused and not self._has_resumed
        # Nothing is added to what is left of a connection that is full, or closed but for that.
        is_stuck = is_full or self.transport.is_closing()
        if is_stuck and 0 < left <= self.transport.get_write_buffer_size():
            self.transport.abort()
        elif is_stuck or self._is_ending or self.flow.write_paused:
            self._look_again()
        else:
            self._next_look = None

    def _give_up(self) -> None:
        self._deadline = None
        if not self.transport.is_closing():
            self.transport.close()
