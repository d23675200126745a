"""The forms of `/v1/log`: what the verbs of a log take and give, as JSON that keeps each byte.

Bytes are base64url (RFC 4648, section 5). So are texts that callers or providers choose, by their
UTF-8 with half a surrogate pair passed (`text_bytes`): JSON readers refuse such a half.
"""

from __future__ import annotations

from typing import Annotated, Final
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from onrecord.domain.log import BEFORE_FIRST

MOST_EVENTS: Final = 1_000
"""How many events one answer holds at most."""

LONGEST_WAIT: Final = 30.0
"""How many seconds an answer is waited for at most where nothing follows in the log."""

_INT64: Final = 2**63 - 1

Count = Annotated[int, Field(ge=0, le=_INT64)]
VersionOrBefore = Annotated[int, Field(ge=BEFORE_FIRST, le=_INT64)]
TypeName = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f]{1,500}$")]
SchemaVersion = Annotated[int, Field(ge=0, le=2**31 - 1)]
Shard = Annotated[int, Field(ge=0, le=2**31 - 1)]
Limit = Annotated[int, Field(ge=0, le=MOST_EVENTS)]


class Form(BaseModel):
    """What comes or goes; a client passes over members that a newer service sends."""

    model_config = ConfigDict(
        frozen=True,
        extra="ignore",
        ser_json_bytes="base64",
        val_json_bytes="base64",
        use_attribute_docstrings=True,
    )


class Given(Form):
    """What the service takes: no member is unknown."""

    model_config = ConfigDict(extra="forbid")


def text_bytes(text: str) -> bytes:
    """Return the bytes that stand for a text."""
    return text.encode("utf-8", "surrogatepass")


def text_of(data: bytes) -> str:
    """Return the text that bytes stand for; ValueError where they are none."""
    return data.decode("utf-8", "surrogatepass")


# Small ones, of single verbs.


class Standing(Form):
    """Whose log this is for whoever asks, and what they may do with it."""

    tenant: UUID
    """The tenant."""
    role: str
    """What the key may do: read, write or operate."""
    all_tenants: bool
    """Whether the key may name any tenant."""
    incarnation: UUID
    """The incarnation of the log."""
    may_forget: bool
    """Whether the key and the service may erase."""


class ConversationIds(Given):
    """The ids of conversations."""

    conversation_ids: list[UUID]
    """The ids."""


class NewKey(Given):
    """A caller's name for a conversation, a text in bytes, and the id to give to it if it is new."""

    key: bytes
    """The name."""
    conversation_id: UUID | None = None
    """The id that a new conversation gets; null only looks for one."""


class Found(Form):
    """The id that was found: of a conversation, or of the tenant whose it is."""

    id: UUID | None
    """The id; null where there is none."""


class Number(Form):
    """A count, a version or a time in microseconds."""

    number: int
    """The number."""


class Bytes(Given):
    """Bytes: a text, a statement, or what was made of one."""

    data: bytes
    """The bytes."""


class Sentences(Form):
    """Texts for people, a sentence or a name each."""

    sentences: list[str]
    """The texts."""


class ActorForm(Given):
    """The name of an actor, and the keyed digest that stands for it."""

    digest: bytes
    """The keyed digest that stands for the name."""
    name: bytes
    """The name, a text in bytes."""


class StoredActorForm(Form):
    """A row of the directory of actors, as it is stored."""

    tenant: bytes
    """The tenant whose it is: the bytes of its id."""
    digest: bytes
    """The keyed digest that stands for the name."""
    actor_id: bytes
    """The id that the name is erased by, in bytes."""
    name: bytes
    """The name, as it is stored."""


class ActorsForm(Form):
    """Names of actors."""

    actors: list[ActorForm]
    """The names, with their digests."""

    @model_validator(mode="after")
    def _must_be_texts(self) -> ActorsForm:
        for actor in self.actors:
            text_of(actor.name)
        return self


class StoredActorsForm(Form):
    """The rows of the directory of actors."""

    actors: list[StoredActorForm]
    """The rows."""


class Digests(Given):
    """Keyed digests of names."""

    digests: list[bytes]
    """The digests."""
