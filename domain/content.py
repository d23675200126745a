"""Content blocks: what one side of a conversation said, did or handed over.

A block that a provider made is kept as a `Native`: the provider's own JSON, as it came. A block
that the caller made is kept in its neutral form. Values here carry no identity and no place;
those belong to the events that hold them.
"""

from typing import TYPE_CHECKING, Annotated, Any, Final, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Discriminator, Field, ValidationError

from onrecord.domain.errors import InvalidInput
from onrecord.domain.jsontext import JsonObject


class Value(BaseModel):
    """A frozen value that refuses fields it does not know; what it holds is in no error."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", defer_build=True, hide_input_in_errors=True
    )


class OnLine(Value):
    """What every event has: the line it is on (absent: the main branch)."""

    line: UUID | None = None


_EXPECTED: Final = {"tuple_type": "must be a list", "dict_type": "must be a table"}
"""What TOML calls what Python has other words for, by pydantic's types of errors."""


def wrong_member(kind: type[Value], where: str, exc: ValidationError) -> InvalidInput:
    """Return the error that names the first member of a value that is wrong, and says why it is."""
    first = exc.errors(include_url=False, include_input=False)[0]
    place = ".".join(map(str, (where, *first["loc"])))
    if first["type"] == "extra_forbidden":
        return InvalidInput(f"{place}: is not one of {', '.join(kind.model_fields)}")
    return InvalidInput(f"{place}: {_EXPECTED.get(first['type'], first['msg'])}")


class CallerValue(Value):
    """A value that callers make: a member that is wrong is InvalidInput, which names it."""

    if not TYPE_CHECKING:  # Type checkers know the members of each kind without it.

        def __init__(self, **members: object) -> None:
            """Take the members by their names."""
            try:
                super().__init__(**members)
            except ValidationError as exc:
                raise wrong_member(type(self), type(self).__name__, exc) from None


def build_models(root: type[Value] = Value) -> None:
    """Build the validators of every kind of value that is loaded, as their first use would.

    They are built late, for importing to be quick. That takes a lock of pydantic's, which a forked
    child would find held for ever if another thread was building at that moment.
    """
    for kind in root.__subclasses__():
        kind.model_rebuild()
        build_models(kind)


class Native(Value):
    """A block in the spelling of the API that made it: same keys, same order, null is not absent.

    `value` is not to be changed in place. Its long strings may stand in it as references to blobs
    (domain/blobs.py says how).
    """

    kind: Literal["native"] = "native"
    api: str
    value: JsonObject


class Text(Value):
    """Plain text."""

    kind: Literal["text"] = "text"
    text: str


class Blob(Value):
    """A reference to bytes that are stored beside the log, in the conversation that owns them."""

    sha256: str
    size: int


class KeyedBlob(Value):
    """Where a blob stands that is stored encrypted: a keyed digest in hex, and the bytes as stored.

    It stands in no body: a body, which is encrypted too, refers to the blob by a `Blob`.
    """

    hmac: str
    size: int


class Document(Value):
    """A file or an image: bytes in a blob, or a URL that the provider is to read.

    Exactly one of `blob` and `url` is set.
    """

    kind: Literal["document"] = "document"
    media_type: str
    name: str | None = None
    blob: Blob | None = None
    url: str | None = None


class Reasoning(Value):
    """What a model thought, as far as it was shown; a signature lives in the native block only."""

    kind: Literal["reasoning"] = "reasoning"
    text: str


class ToolCall(Value):
    """A call of one of the caller's tools."""

    kind: Literal["tool_call"] = "tool_call"
    id: str
    name: str
    arguments: Any


class ToolResult(Value):
    """What a tool of the caller gave back, or why it did not.

    `is_json` says that the first text is the JSON of a value that is no text: an object, a list, a
    number, a boolean.
    """

    kind: Literal["tool_result"] = "tool_result"
    call_id: str
    content: tuple[Annotated[Text | Document, Discriminator("kind")], ...]
    is_error: bool = False
    is_json: bool = False


class ServerToolCall(Value):
    """A call of a tool that the provider itself runs."""

    kind: Literal["server_tool_call"] = "server_tool_call"
    id: str
    name: str
    arguments: Any


class Url(Value):
    """A page that a provider's own tool found or read; `about` is what else it says of it."""

    kind: Literal["url"] = "url"
    url: str
    title: str | None = None
    about: JsonObject = Field(default_factory=dict)


class HeldFile(Value):
    """A file that a provider's own tool made and that only the provider holds, by its id."""

    kind: Literal["held_file"] = "held_file"
    file_id: str


class ServerToolResult(Value):
    """What the provider's own tool gave, in a form that does not depend on the API.

    `metadata` is what it says of its doing beside that: a return code, how many pages were found.
    """

    kind: Literal["server_tool_result"] = "server_tool_result"
    call_id: str
    name: str
    content: tuple[Annotated[Text | Url | Document | HeldFile, Discriminator("kind")], ...]
    is_error: bool = False
    metadata: JsonObject = Field(default_factory=dict)


class Opaque(Value):
    """A block of a kind that Onrecord does not know; only the API that made it can read it."""

    kind: Literal["opaque"] = "opaque"
    api: str
    type: str


NeutralBlock = (
    Text | Document | Reasoning | ToolCall | ToolResult | ServerToolCall | ServerToolResult | Opaque
)
"""A block in neutral form."""

Said = Annotated[Text | Document | Native, Discriminator("kind")]
"""What a message holds."""

Role = Literal["user", "assistant", "system"]
"""Who speaks: `system` here is a note of the operator amid the turns, not the instructions."""
