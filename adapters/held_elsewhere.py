"""What a request names that the provider holds and the record does not: said, not followed."""

from __future__ import annotations

import contextlib
import logging
import warnings
from typing import Final

from onrecord.adapters.capture.sent import Sent
from onrecord.adapters.capture.spool import RecordingWarning
from onrecord.adapters.capture.wires import WIRES
from onrecord.adapters.recording import Related

logger = logging.getLogger("onrecord")

_UNKNOWN: Final = (
    "a request goes on from what the provider holds and this conversation does not: its history "
    "lacks what came before; record the client from the first request on, or say all of it again"
)
_HELD: Final = "a request names {}, which the provider holds: what that says is not recorded"


class HeldElsewhere:
    """Says it once a conversation each; one thread at a time."""

    def __init__(self) -> None:
        """Begin with nothing said."""
        self._said: set[str] = set()

    def say(self, related: Related, asked: Sent) -> None:
        """Say what of a request the provider holds and nobody recorded."""
        if related.is_unknown:
            self._say(_UNKNOWN)
        for member, what in WIRES[asked.api].held.items():
            if asked.body.get(member) is not None:
                self._say(_HELD.format(what))

    def _say(self, what: str) -> None:
        if what in self._said:
            return
        self._said.add(what)
        logger.warning(what)
        with contextlib.suppress(RecordingWarning):  # The request is recorded, so it is sent.
            warnings.warn(what, RecordingWarning, stacklevel=2)
