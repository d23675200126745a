"""The parameters in the paths of routes: each name means the same in all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Final
from uuid import UUID

from pydantic import Field, StringConstraints, TypeAdapter

from onrecord.projections.api import names


@dataclass(frozen=True, slots=True)
class PathParameter:
    """What a name in a path stands for: how it is read, and what the document says of it."""

    adapter: TypeAdapter[Any]
    description: str


Version = Annotated[int, Field(ge=1, le=2**63 - 1)]
Digest = Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")]
Key = Annotated[str, StringConstraints(min_length=1, max_length=1000)]
ExpectedVersion = Annotated[int, Field(ge=0, le=2**63 - 1)]
MessageId = Annotated[str, StringConstraints(min_length=1, max_length=500)]
CallId = Annotated[str, StringConstraints(min_length=1, max_length=1000)]
_Name = Annotated[str, StringConstraints(pattern="^[a-z][a-z0-9-]{0,63}$")]
_File = "[a-z][a-z0-9_-]{0,63}[.][a-z]{2,4}"
_Files = Annotated[str, StringConstraints(pattern=f"^{_File}(,{_File}){{0,7}}$")]
_Edition = Annotated[str, StringConstraints(pattern="^[0-9a-f]{16}$")]

PATH_PARAMETERS: Final[dict[str, PathParameter]] = {
    "key": PathParameter(
        TypeAdapter(Key), "The key of a conversation, percent-encoded: `support%2F4711`."
    ),
    "call_id": PathParameter(TypeAdapter(CallId), "The id of a call, percent-encoded."),
    "version": PathParameter(TypeAdapter(Version), "The version of an event, from 1."),
    "api": PathParameter(TypeAdapter(_Name), f"The name of an API: {', '.join(names())}."),
    "sha256": PathParameter(TypeAdapter(Digest), "The SHA-256 of a document, in hex digits."),
    "edition": PathParameter(TypeAdapter(_Edition), "Which release the files of the page are of."),
    "file": PathParameter(
        TypeAdapter(_Files),
        "The name of a file of the page; those of several style sheets, with commas.",
    ),
    "conversation_id": PathParameter(TypeAdapter(UUID), "The id of a conversation."),
    "problem": PathParameter(TypeAdapter(_Name), "The last part of a problem's type."),
}
