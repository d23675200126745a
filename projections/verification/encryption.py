"""What must hold of the bodies of a log that is marked as encrypted, whoever wrote them."""

from __future__ import annotations

from collections.abc import Iterator

from onrecord.domain.encryption.bodies import is_unencrypted, key_name_in
from onrecord.domain.errors import counted
from onrecord.domain.log import RecordedEvent
from onrecord.projections.verification.verification import Fault


class BodyCodecs:
    """Which events of conversations are encrypted, and which are in clear, as far as they were taken."""

    def __init__(self) -> None:
        """Take none yet."""
        self._encrypted = self._clear = 0
        self._first_encrypted: RecordedEvent | None = None
        self._first_clear: RecordedEvent | None = None

    def take(self, event: RecordedEvent) -> None:
        """Take the next event; those of operators and of other applications tell nothing."""
        if is_unencrypted(event.type, event.header):
            self._clear += 1
            self._first_clear = self._first_clear or event
        elif key_name_in(event.header) is not None:
            self._encrypted += 1
            self._first_encrypted = self._first_encrypted or event

    def faults(self, *, is_marked: bool) -> Iterator[Fault]:
        """Yield what does not hold: a line for all events in clear, and one where the mark is gone."""
        encrypted, clear = self._first_encrypted, self._first_clear
        if encrypted is not None and not is_marked:
            yield Fault(
                None,
                0,
                f"{_some(self._encrypted)} encrypted, the first at {_place(encrypted)}, and the mark that the "
                "log is encrypted is gone",
            )
        if clear is not None and (is_marked or encrypted is not None):
            yield Fault(
                clear.conversation_id,
                clear.version,
                f"the log is encrypted, and {_some(self._clear)} in clear, the first at {_place(clear)}",
            )


def _some(events: int) -> str:
    return f"{counted(events, 'event')} of conversations {'is' if events == 1 else 'are'}"


def _place(event: RecordedEvent) -> str:
    return f"position {event.position} of shard {event.shard}"
