"""Hints by Redis's PUBLISH, in a channel of the log's: who misses one finds out by polling."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, Final
from uuid import UUID

from onrecord.adapters.redis.breaker import BACK_OFF
from onrecord.adapters.redis.connection import FAILURES, PATIENT_SECONDS, Connection
from onrecord.adapters.storage.subscription import Telling

_IN_TIME: Final = 1.0
"""Seconds in which who listens has ended, but for a network that holds it up."""


class RedisHints:
    """Hints between the processes that use one log and one Redis."""

    def __init__(self, connection: Connection, incarnation: Callable[[], UUID]) -> None:
        """Tell and listen at a Redis; `incarnation` is the log's, asked for when it is needed."""
        self._connection = connection
        self._incarnation = incarnation
        # Which hints are this process's own: it has no need to hear them.
        self._name = secrets.token_hex(8).encode()
        self._telling = Telling(self._send)

    def tell(self) -> None:
        """Let others know, soon, that this process appended."""
        self._telling.tell()

    @contextmanager
    def listen(self, heard: Callable[[], None]) -> Generator[None]:
        """Call `heard` for each hint of others while the scope lasts."""
        ended = threading.Event()
        ear = threading.Thread(
            target=self._listen, args=(heard, ended), name="onrecord-listen", daemon=True
        )
        ear.start()
        try:
            yield
        finally:
            ended.set()
            # It may be looking for the server by its name; then it ends by itself when that is over.
            ear.join(_IN_TIME)

    def close(self) -> None:
        """Tell what is still to be told, and end the thread."""
        self._telling.close()

    def _send(self) -> bool:
        answers = self._connection.ask(("PUBLISH", self._channel(), self._name))
        return answers is not None and bool(answers[0])

    def _listen(self, heard: Callable[[], None], ended: threading.Event) -> None:
        while not ended.is_set():
            try:
                with self._connection.listening() as ear:
                    self._hear(ear, heard, ended)
            except FAILURES as error:
                self._connection.breaker.failed(error)
                ended.wait(BACK_OFF)

    def _hear(self, ear: Any, heard: Callable[[], None], ended: threading.Event) -> None:
        channel = self._channel()
        ear.subscribe(channel)
        # A log that was restored has another incarnation, hence another channel.
        while not ended.is_set() and channel == self._channel():
            message = ear.get_message(timeout=PATIENT_SECONDS)
            match message:
                case {"type": "subscribe"}:
                    heard()
                case {"type": "message", "data": bytes() as name} if name != self._name:
                    heard()
                case _:
                    pass

    def _channel(self) -> str:
        return f"onrecord:{self._incarnation()}:appended"
