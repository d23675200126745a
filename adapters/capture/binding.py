"""Which conversation a call is recorded in: decided when it starts, from the most specific.

1. The header that `talk.headers` gives, in the call's `extra_headers`.
2. The conversation that the client was recorded for, with `talk.record(client)`.
3. The innermost scope around the call, `with talk.recording():`.

A call that none of them binds has a conversation of its own, or is refused.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Final, Literal, Protocol, TypeAlias

from onrecord.adapters.capture import requirement, scope
from onrecord.adapters.recording.recorder import Journal
from onrecord.adapters.recording.recorders import HEADER, Conversation, Journals
from onrecord.domain.errors import InvalidInput

Unbound: TypeAlias = Literal["record", "refuse"]
"""What becomes of calls that nothing binds: a conversation of their own, or an error."""

UNBOUND: Final = "record"


class Recorded(Protocol):
    """A conversation that clients are recorded for."""

    @property
    def talk(self) -> Conversation:
        """The conversation itself."""
        ...

    def journal(self) -> Journal:
        """Return its journal; begins the conversation's row in the catalogue if there is none."""
        ...

    def expect(self, api: str, key: str) -> None:
        """Take note of the key under which a client sends requests of an API."""
        ...


@dataclass(frozen=True, slots=True)
class Bound:
    """What binds one call: what its header says, else a conversation, else nothing."""

    journals: Journals
    header: str | None
    recorded: Recorded | None
    unbound: Unbound

    def known(self) -> Journal | None:
        """Return the journal that the call is bound to; InvalidInput if its header is not ours."""
        if self.header is not None:
            return self.journals.named(self.header)
        return None if self.recorded is None else self.recorded.journal()

    def own(self) -> Journal:
        """Return the journal of a conversation of its own; InvalidInput where that is refused."""
        on_missing = requirement.required()
        if self.unbound == "refuse" or on_missing == "raise":
            raise InvalidInput(requirement.why_refused())
        if on_missing == "warn":
            requirement.say_missing()
        return self.journals.unbound()


@dataclass(frozen=True, slots=True)
class Binding:
    """What binds the calls of one client: the store that records it, and the conversation, if one.

    A scope is such a binding too: of the calls of clients that nobody recorded. `after` is the
    version that the first request goes on from, where whoever makes it knows. `splice` has what was
    rendered sent as it was rendered, though the SDK spells it otherwise.
    """

    journals: Journals
    recorded: Recorded | None = None
    unbound: Unbound = UNBOUND
    after: int | None = None
    splice: bool = False

    def of(self, headers: MutableMapping[str, str], taken_out: str | None = None) -> Bound:
        """Return what binds a call that starts here and now; takes our own header out of it.

        `taken_out` is that header where it was taken out before.
        """
        header = headers.pop(HEADER, None) or taken_out
        recorded = self.recorded
        if header is None and recorded is None:
            around = scope.current()
            recorded = None if around is None else around.binding.recorded
        return Bound(self.journals, header, recorded, self.unbound)

    def is_like(self, other: Binding) -> bool:
        """Whether both record the same calls in the same place."""
        if self.after is not None or other.after is not None:
            return False
        if self.recorded is None or other.recorded is None:
            return self == other
        return self.recorded.talk is other.recorded.talk and self.splice == other.splice
