"""The driver's connection to a file, which may be handed over to statements that are not ours."""

from __future__ import annotations

import apsw

from onrecord.domain.errors import InvalidInput


class FileConnection(apsw.Connection):
    """A connection of apsw. While it is handed over, to a projection of one's own, it is not to be closed."""

    is_handed_over = False

    def close(self, force: bool = False) -> None:
        """Close it; InvalidInput from whom it was handed over to."""
        if self.is_handed_over:
            raise InvalidInput("the connection is not yours to close: the store goes on with it")
        super().close(force)
