"""A request to OpenAI's Responses API while it is made: items that know where they come from."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, NamedTuple

from onrecord.domain import jsontext
from onrecord.domain.content import Document, Text
from onrecord.domain.documents import Modality, modality_of
from onrecord.domain.errors import MalformedJson
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.answers import FAILURE, failed, words_for_nothing
from onrecord.projections.apis.documents import Behind, tag_of
from onrecord.projections.apis.draft import Draft, RuleNames
from onrecord.projections.apis.foreign import goes_on
from onrecord.projections.apis.openai_responses.items import OUTPUTS, kind_of, link_of
from onrecord.projections.apis.openai_responses.read import NAME
from onrecord.projections.history.held_documents import bytes_of, is_remote, told_in
from onrecord.projections.history.history import Block
from onrecord.projections.members import list_of, objects

# Documents as OpenAI's Responses API reads them: images, PDFs, office files and texts.
#
# In messages and in the outputs of functions alike: platform.openai.com, "Images and vision" and
# "File inputs"; lengths: OpenAI's OpenAPI document, 2.3.0. Audio is refused: "got unsupported
# MIME type 'audio/mpeg'".

_IMAGES: Final = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
_OFFICE: Final = "application/vnd.openxmlformats-officedocument."
_FILES: Final[Mapping[str, str]] = {
    "application/pdf": "document.pdf",
    "application/msword": "document.doc",
    "application/rtf": "document.rtf",
    "application/vnd.ms-excel": "document.xls",
    "application/vnd.ms-powerpoint": "document.ppt",
    "application/vnd.oasis.opendocument.text": "document.odt",
    f"{_OFFICE}wordprocessingml.document": "document.docx",
    f"{_OFFICE}presentationml.presentation": "document.pptx",
    f"{_OFFICE}spreadsheetml.sheet": "document.xlsx",
}
"""Files that are read, and the name of one that has none: the service wants to know its kind."""

_TEXT: Final = "text/plain"
_TEXT_NAME: Final = "document.txt"
_LONGEST_IMAGE: Final = 20_971_520
_LONGEST_FILE: Final = 73_400_320


def encode_document(document: Document, blobs: Mapping[str, bytes]) -> JsonObject | None:
    """Return the part that holds a document; None where the service reads no such thing.

    Raises CorruptRecord where its bytes are not among `blobs`.
    """
    media_type = document.media_type.partition(";")[0].strip().lower()
    if modality_of(media_type) == "image":
        return _image(document, media_type, blobs)
    name = _name_of(document, media_type)
    if name is None:
        return None
    if is_remote(document):
        return {"type": "input_file", "file_url": document.url}
    data = _data_url(document, media_type if media_type in _FILES else _TEXT, blobs)
    if data is None or len(data) > _LONGEST_FILE:
        return None
    return {"type": "input_file", "filename": name, "file_data": data}


def _image(document: Document, media_type: str, blobs: Mapping[str, bytes]) -> JsonObject | None:
    url = document.url
    if not is_remote(document):
        url = _data_url(document, media_type, blobs) if media_type in _IMAGES else None
    if url is None or len(url) > _LONGEST_IMAGE:
        return None
    return {"type": "input_image", "detail": "auto", "image_url": url}


def _name_of(document: Document, media_type: str) -> str | None:
    """Return the name of a file that the service reads; None for any other."""
    if media_type in _FILES:
        return document.name or _FILES[media_type]
    return (document.name or _TEXT_NAME) if modality_of(media_type) == "text" else None


def _data_url(document: Document, media_type: str, blobs: Mapping[str, bytes]) -> str | None:
    """Return a document's bytes as a `data:` URL (RFC 2397); None where there are none."""
    if document.url is not None:
        about, _, data = document.url.partition(",")
        return f"data:{media_type};base64,{data}" if about.endswith(";base64") and data else None
    content = bytes_of(document, blobs)
    return f"data:{media_type};base64,{b64encode(content).decode()}" if content else None


class Piece(NamedTuple):
    """An item as it will be sent, the block of the history that it stands for, and its type.

    `item` is the one that words stand for: the pictures that it holds come behind them.
    """

    value: JsonObject
    block: Block
    kind: str = "message"
    item: JsonObject | None = None


def text_part(text: str) -> JsonObject:
    """Return a text as a part of a message."""
    return {"type": "input_text", "text": text}


def piece_of(value: JsonObject, block: Block) -> Piece:
    """Return an item with its type."""
    return Piece(value, block, kind_of(value))


@dataclass(slots=True)
class ResponsesDraft(Draft):
    """A request to OpenAI's Responses API while it is made: the items so far.

    `types` are the types of the items that were encoded, but for plain messages: a rule has nothing
    to do where what it looks for never occurs. `broken` are the responses of which an item does not
    go as it came, and why: their reasoning cannot go either. `has_unfit_ids` says that an item has an
    id that OpenAI did not give it.
    """

    API: ClassVar[str] = NAME
    RULES: ClassVar[RuleNames] = RuleNames("O7", "O7", "O15", "O1", "O2", "O13")

    pieces: list[Piece] = field(default_factory=list[Piece])
    types: set[Any] = field(default_factory=set[Any])
    broken: dict[str, str] = field(default_factory=dict[str, str])
    has_unfit_ids: bool = False

    def add(self, value: JsonObject, block: Block) -> None:
        """Add an item."""
        piece = piece_of(value, block)
        self.types.add(piece.kind)
        self.pieces.append(piece)

    def say(self, text: str, block: Block) -> None:
        """Add a text of the assistant's that this API did not make; pieces of one are joined."""
        if self.goes_on(block):
            text = f"{self.pieces.pop().value['content']}{text}"
        self.pieces.append(Piece({"role": "assistant", "content": text}, block))
        self.types.add("message")

    def goes_on(self, block: Block) -> bool:
        """Whether a text is the next piece of the last one."""
        return bool(self.pieces) and goes_on(self.pieces[-1].block, block)

    def encode(self, document: Document) -> JsonObject | None:
        """Return a document as a part of a message; None where the service reads no such thing."""
        return self._part(document, self.router.reads)

    def encode_in_output(self, document: Document) -> JsonObject | None:
        """Return a document as a part of a function's output; None where that cannot hold it."""
        return self._part(document, self.router.reads_in_results)

    def _part(self, document: Document, reads: Callable[[Modality], bool]) -> JsonObject | None:
        """Return the part of a document; of a text, where no files are read, a text."""
        if modality_of(document.media_type) != "text" or reads("document"):
            return encode_document(document, self.blobs)
        text = told_in(document, self.blobs)
        return None if text is None else text_part(text)

    def break_up(self, block: Block, why: str) -> None:
        """Note that an item of a response does not go as it came."""
        if block.response is not None:
            self.broken.setdefault(block.response, why)


# Outputs of calls, each in the item that its kind of call wants, from neutral content (O1, O13).

_HOLDING: Final = frozenset({"function_call", "custom_tool_call"})
"""Calls whose output may hold images and files."""

_APPROVALS: Final = frozenset({"approve", "approved", "true", "yes"})


class Held:
    """What the output of one call holds, and which documents of it follow the round."""

    def __init__(self, draft: ResponsesDraft, block: Block, call: JsonObject) -> None:
        """Take the result, and the call as it goes."""
        self._draft = draft
        self._block = block
        self._kind = kind_of(call)
        self._following: list[tuple[Document, JsonObject]] = []
        self._has_screenshot = False

    def part(self, part: Text | Document) -> JsonObject:
        """Return a part of the result as the output holds it: itself, its tag, or words."""
        if isinstance(part, Text):
            return text_part(part.text)
        draft, block = self._draft, self._block
        where, encoded = draft.router.in_result(block, part, self._fitting, draft.encode)
        if encoded is None:
            return text_part(draft.words(block, part))
        if where == "inline":
            return encoded
        self._following.append((part, encoded))
        return text_part(tag_of(draft.as_sent(block), part, draft.options.tags))

    def follow(self, behind: Behind[JsonObject]) -> None:
        """Put the documents that the output cannot hold behind the round."""
        block = self._block
        for document, encoded in self._following:
            why = "the output does not hold the document: it follows the round"
            self._draft.note("moved", "O13", block.version, why)
            behind.add(block, document, encoded)

    def _fitting(self, document: Document) -> JsonObject | None:
        """Return a document as the output of such a call holds it; None where it does not."""
        if self._kind in _HOLDING:
            return self._draft.encode_in_output(document)
        is_picture = modality_of(document.media_type) == "image"
        if self._kind != "computer_call" or self._has_screenshot or not is_picture:
            return None
        encoded = self._draft.encode(document)
        self._has_screenshot = encoded is not None
        return encoded


def output_of(
    call: JsonObject, parts: Sequence[JsonObject], *, is_error: bool
) -> JsonObject | None:
    """Return the item that answers a call with parts of a message; None where they cannot.

    It names the program that made the call, as the call does. The API has no mark for an error, so
    words tell of it. A computer wants a screenshot; an approval is given by "approved" or the like
    alone; a tool search takes definitions of tools.
    """
    kind = kind_of(call)
    answer: JsonObject = {
        "type": OUTPUTS.get(kind, "function_call_output"),
        "call_id": link_of(call),
    }
    if call.get("caller") is not None:
        answer["caller"] = call["caller"]
    text = _text_of(parts, is_error=is_error)
    match kind:
        case "computer_call":
            return _screenshot(answer, parts)
        case "local_shell_call":
            return {"type": answer["type"], "id": link_of(call), "output": text}
        case "shell_call":
            return {**answer, "output": [_run(parts, is_error=is_error)]}
        case "apply_patch_call":
            status = "failed" if is_error else "completed"
            return {**answer, "status": status, "output": text}
        case "mcp_approval_request":
            return _approval(link_of(call), text, is_error=is_error)
        case "tool_search_call":
            members = {"execution": "client", "status": "completed", "tools": _tools_in(text) or []}
            return {**answer, **members}
        case _:
            return {**answer, "output": _held(parts, text, is_error=is_error)}


def _held(parts: Sequence[JsonObject], text: str, *, is_error: bool) -> str | list[JsonObject]:
    """Return what an output holds: the text if there is nothing else, or the parts."""
    if all(part["type"] == "input_text" for part in parts) and len(parts) <= 1:
        return text
    return [{"type": "input_text", "text": FAILURE}, *parts] if is_error else list(parts)


def is_blank(parts: Sequence[JsonObject]) -> bool:
    """Whether the parts of an output are texts, and all of them blank; not where there are none."""
    texts = [part["text"] for part in parts if part["type"] == "input_text"]
    return len(texts) == len(parts) > 0 and not "".join(texts).strip()


def _text_of(parts: Sequence[JsonObject], *, is_error: bool) -> str:
    text = "\n".join(part["text"] for part in parts if part["type"] == "input_text")
    if not text.strip():
        return words_for_nothing(is_error=is_error)
    return failed(text) if is_error else text


def _run(parts: Sequence[JsonObject], *, is_error: bool) -> JsonObject:
    text = "\n".join(part["text"] for part in parts if part["type"] == "input_text")
    written, failed = ("", text) if is_error else (text, "")
    outcome = {"type": "exit", "exit_code": int(is_error)}
    return {"stdout": written, "stderr": failed, "outcome": outcome}


def _screenshot(answer: JsonObject, parts: Sequence[JsonObject]) -> JsonObject | None:
    image = next((part["image_url"] for part in parts if part["type"] == "input_image"), None)
    if image is None:
        return None
    return {**answer, "output": {"type": "computer_screenshot", "image_url": image}}


def _approval(request_id: str | None, text: str, *, is_error: bool) -> JsonObject:
    approved = not is_error and text.strip().lower() in _APPROVALS
    answer: JsonObject = {
        "type": "mcp_approval_response",
        "approval_request_id": request_id,
        "approve": approved,
    }
    return answer if approved else {**answer, "reason": text}


def text_beside_tools(
    call: JsonObject, parts: Sequence[JsonObject], *, is_error: bool
) -> str | None:
    """Return the text of a search for tools that is no list of them; None where nothing is lost."""
    if kind_of(call) != "tool_search_call" or not any(part.get("text") for part in parts):
        return None
    text = _text_of(parts, is_error=is_error)
    return text if _tools_in(text) is None else None


def _tools_in(text: str) -> list[Any] | None:
    """Return the definitions that a text is a list of; None where it is none."""
    try:
        value = jsontext.read(text)
    except MalformedJson:
        return None
    tools = list_of(value)
    return tools if isinstance(value, list) and objects(tools) == tools else None
