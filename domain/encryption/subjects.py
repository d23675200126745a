"""Who an event is about: the subjects under whose keys its body is encrypted.

Where nobody is named, it is the conversation. Where several are, the body is readable only as long as
the keys of all of them are there.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple
from uuid import UUID, uuid5

from onrecord.domain.errors import InvalidInput

MOST_SUBJECTS: Final = 16
"""How many subjects an event has at most: their key ids stand in its header."""

_LONGEST_NAME: Final = 1024


class Subject(NamedTuple):
    """A person or whatever else a caller names in a tenant, or a conversation.

    `text` is what its keyed digest is of. The name stands nowhere else.
    """

    text: str

    def __repr__(self) -> str:
        """Say that it is one, and not whose."""
        return "Subject(…)"

    def digest(self, keyed: Callable[[str], bytes]) -> bytes:
        """Return what a key store finds its key by: `keyed` is the keyed digest of the log, 16 bytes."""
        return keyed(self.text)


def conversation_subject(tenant: UUID, conversation_id: UUID) -> Subject:
    """Return the subject that a conversation is, where nobody is named."""
    return Subject(f"conversation {tenant} {conversation_id}")


def named_subject(tenant: UUID, name: str) -> Subject:
    """Return the subject that a caller names; InvalidInput for a name that is blank or too long.

    Space around a name, and how an accent is encoded (NFC), make no other subject. Case does.
    """
    if not name.strip():
        raise InvalidInput("the name of a subject is blank: leave it out, or name the subject")
    if len(name) > _LONGEST_NAME:
        raise InvalidInput(
            f"the name of a subject has at most {_LONGEST_NAME:,} characters: give its id instead"
        )
    return Subject(f"subject {tenant} {unicodedata.normalize('NFC', name.strip())}")


def subjects_of(tenant: UUID, conversation_id: UUID, names: Iterable[str]) -> tuple[Subject, ...]:
    """Return the subjects of an event, each once: the conversation where no names are given.

    InvalidInput for a name that is none, and for too many.
    """
    subjects = tuple(dict.fromkeys(named_subject(tenant, name) for name in names))
    if len(subjects) > MOST_SUBJECTS:
        raise InvalidInput(f"an event has at most {MOST_SUBJECTS} subjects: name fewer")
    return subjects or (conversation_subject(tenant, conversation_id),)


def subject_id(tenant: UUID, digest: bytes) -> UUID:
    """Return the id that a tenant's subject is erased by, of the keyed digest of the subject.

    It is a UUID of version 5 (RFC 9562), as no conversation that is made here and no marked id is.
    """
    return uuid5(tenant, f"onrecord subject {digest.hex()}")
