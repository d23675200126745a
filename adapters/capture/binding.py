"""Which conversation a call is recorded in: decided when it starts, from the most specific.

1. The header that `talk.headers` gives, in the call's `extra_headers`.
2. The conversation that the client was recorded for, with `talk.record(client)`.
3. The innermost scope around the call, `with talk.recording():`.

A call that none of them binds has a conversation of its own, or is refused.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from hansard.adapters.capture import scope
from hansard.adapters.journal import Journal
from hansard.adapters.journals import HEADER, Journals
from hansard.domain.errors import InvalidInput

Unbound: TypeAlias = Literal["record", "refuse"]
"""What becomes of calls that nothing binds: a conversation of their own, or an error."""

UNBOUND: Final = "record"


@dataclass(frozen=True, slots=True)
class Bound:
    """What binds one call: what its header says, else a journal, else nothing."""

    journals: Journals
    header: str | None
    journal: Journal | None
    unbound: Unbound

    def known(self) -> Journal | None:
        """Return the journal that the call is bound to; InvalidInput if its header is not ours."""
        return self.journal if self.header is None else self.journals.named(self.header)

    def own(self) -> Journal:
        """Return the journal of a conversation of its own; InvalidInput where that is refused."""
        if self.unbound == "refuse":
            raise InvalidInput(
                "it is bound to no conversation: use talk.record(client), "
                "extra_headers=talk.headers, or `with talk.recording():`"
            )
        return self.journals.unbound()


@dataclass(frozen=True, slots=True)
class Binding:
    """What binds the calls of one client: the store that records it, and the conversation, if one.

    A scope is such a binding too: of the calls of clients that nobody recorded. `after` is the
    version that the first request goes on from, where whoever makes it knows.
    """

    journals: Journals
    journal: Journal | None = None
    unbound: Unbound = UNBOUND
    after: int | None = None

    def of(self, headers: MutableMapping[str, str]) -> Bound:
        """Return what binds a call that starts here and now; takes our own header out of it."""
        header = headers.pop(HEADER, None)
        journal = self.journal
        if header is None and journal is None:
            around = scope.current()
            journal = None if around is None else around.binding.journal
        return Bound(self.journals, header, journal, self.unbound)

    def is_like(self, other: Binding) -> bool:
        """Whether both record the same calls in the same place."""
        if self.after is not None or other.after is not None:
            return False
        if self.journal is None or other.journal is None:
            return self == other
        mine, theirs = self.journal.talk, other.journal.talk
        return mine.backend is theirs.backend and mine.conversation_id == theirs.conversation_id
