"""A Chat Completions request while it is made: whom it is for, and what was done to get there."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar, Final

from onrecord.domain.content import Document
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.draft import CallIds, Draft, IdForm, RuleNames
from onrecord.projections.apis.openai_chat.read import NAME, SOUNDS
from onrecord.projections.apis.request import Options
from onrecord.projections.history.held_documents import bytes_of, is_remote, told_in
from onrecord.projections.history.history import Block, History

# What differs between the models that read a Chat Completions request, by their names.
#
# Compatible servers take the same request and disagree on details; a name such as
# `deepseek/deepseek-chat` or `ft:gpt-4o:...` says whose model it is.

_FAMILY: Final = re.compile(r"gpt-oss|[a-z]+")
_OPENAI: Final = frozenset({"gpt", "o", "chatgpt", "codex"})
_MISTRAL: Final = frozenset(
    {"mistral", "mixtral", "ministral", "magistral", "codestral", "devstral", "pixtral", "voxtral"}
)

_ROLES: Final[tuple[tuple[re.Pattern[str], Mapping[str, str]], ...]] = (
    # "Unsupported value: 'messages[0].role' does not support 'system' with this model.", and the
    # same of 'developer'.
    (re.compile(r"o1-(mini|preview)"), {"system": "user", "developer": "user"}),
    # "unknown variant `developer`, expected one of `system`, `user`, `assistant`, `tool`"
    (re.compile(r"deepseek"), {"developer": "system"}),
    # Mistral's own API knows the same four (docs.mistral.ai, "Chat completion").
    (re.compile("|".join(sorted(_MISTRAL))), {"developer": "system"}),
)
"""Roles that models refuse, each with the one to speak in."""

_MEMBERS: Final = frozenset({"role", "content", "name"})

_THINKING_ALOUD: Final = frozenset({"deepseek", "kimi", "moonshot"})
"""Families that want to see what they thought before they called a tool."""

# "Invalid 'messages[36].tool_calls[0].id': string too long. Expected a string with maximum length
# 40, but got a string with length 51"; Mistral: "Tool call id was ... but must be a-z, A-Z, 0-9,
# with a length of 9." (C5)
_IDS: Final = IdForm(re.compile(r"[a-zA-Z0-9_-]{1,40}\Z"), "call_")
_MISTRALS_IDS: Final = IdForm(re.compile(r"[a-zA-Z0-9]{9}\Z"), "", 9)
_LONGEST_ID: Final = 40


@dataclass(frozen=True, slots=True)
class Reader:
    """The model that a request is for, as far as it is known."""

    model: str | None = None

    @property
    def name(self) -> str:
        """The model's own name: without its vendor, in lower case; empty if it is not known."""
        return (self.model or "").rpartition("/")[2].lower().removeprefix("ft:")

    @property
    def is_openai(self) -> bool:
        """Whether OpenAI's own service is the one to read the request."""
        return family_of(self.model) in _OPENAI

    @property
    def is_mistral(self) -> bool:
        """Whether it is a model of Mistral's, whoever serves it."""
        return family_of(self.model) in _MISTRAL

    @property
    def is_compatible(self) -> bool:
        """Whether it is known that another service than OpenAI's is to read the request."""
        return self.model is not None and not self.is_openai

    @property
    def members(self) -> frozenset[str] | None:
        """The members that a user's message may have; None where that is not known."""
        if self.is_openai:
            return _MEMBERS
        return _MEMBERS - {"name"} if self.is_mistral else None

    @property
    def wants_reasoning(self) -> bool:
        """Whether an answer that calls tools is refused where it tells no reasoning."""
        return family_of(self.model) in _THINKING_ALOUD

    @property
    def wants_a_word(self) -> bool:
        """Whether the user may speak only after the assistant did, once a tool gave its result."""
        return self.is_mistral

    def role(self, role: str) -> str:
        """Return the role to speak in for one that the model may refuse."""
        name = self.name
        for pattern, roles in _ROLES:
            if pattern.match(name):
                return roles.get(role, role)
        return role

    def is_kin(self, model: str | None) -> bool:
        """Whether one of its family made an answer; of an unknown one that is taken for granted.

        OpenAI's service takes no members that it does not list, whoever made them.
        """
        own, other = family_of(self.model), family_of(model)
        return not self.is_openai and (own is None or other is None or own == other)

    @property
    def ids(self) -> IdForm:
        """What the ids of calls look like."""
        return _MISTRALS_IDS if self.is_mistral else _IDS

    def takes_id(self, call_id: str, *, is_kin: bool = False) -> bool:
        """Whether the id of a call may go as it is; `is_kin`: a server made it that is asked again.

        Servers other than OpenAI's and Mistral's take what they made: some put a signature into it.
        """
        if is_kin and call_id and self.ids is not _MISTRALS_IDS:
            return self.model is not None or len(call_id) <= _LONGEST_ID
        return bool(self.ids.fits.match(call_id))


@lru_cache(maxsize=64)
def family_of(model: str | None) -> str | None:
    """Return whose model a name is of: its first word; None where that says nothing."""
    match = _FAMILY.match(Reader(model).name) if model else None
    return match.group() if match else None


# Documents as parts of a Chat Completions message; what no part can hold, in words.
#
# What parts there are: platform.openai.com, "Images and vision", "PDF files" and "Audio".

_IMAGES: Final = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
_ANY_IMAGE: Final = "image/*"
_PDF: Final = "application/pdf"
_FORMATS: Final = {media_type: kind for kind, media_type in SOUNDS.items()} | {
    "audio/x-wav": "wav",
    "audio/mp3": "mp3",
}


def encode_document(document: Document, blobs: Mapping[str, bytes]) -> JsonObject | None:
    """Return the part of a document; None where no part can hold it.

    Only images may be given by address. Raises CorruptRecord where the document's bytes are not
    among `blobs`.
    """
    media_type = document.media_type.partition(";")[0].strip().lower()
    if is_remote(document):
        is_image = media_type in {*_IMAGES, _ANY_IMAGE}
        return _image(document.url or "") if is_image else None
    data = bytes_of(document, blobs)
    if not data:
        return None
    if media_type in _IMAGES:
        return _image(_inline(media_type, data))
    if media_type == _PDF:
        file = {"filename": document.name or "document.pdf", "file_data": _inline(_PDF, data)}
        return {"type": "file", "file": file}
    if media_type in _FORMATS:
        sound = {"data": b64encode(data).decode(), "format": _FORMATS[media_type]}
        return {"type": "input_audio", "input_audio": sound}
    text = told_in(document, blobs)
    return None if text is None else {"type": "text", "text": text}


def _image(url: str) -> JsonObject:
    return {"type": "image_url", "image_url": {"url": url}}


def _inline(media_type: str, data: bytes) -> str:
    return f"data:{media_type};base64,{b64encode(data).decode()}"


_MICRO: Final = 1_000_000


@dataclass(slots=True)
class ChatDraft(Draft):
    """A request to Chat Completions while it is made.

    `reader` is the model that the request is for. A result answers a call of the message before it,
    so an id may come again in a later message, as servers give it that count calls from 0 in each
    answer.
    `is_elsewhere`: the model is known to be none of OpenAI's own service; `is_groq`: Groq is to read
    it. `has_decoys` says that members of answers which say nothing, and which a request does not
    have, were left out: one note tells of them all.
    """

    API: ClassVar[str] = NAME
    RULES: ClassVar[RuleNames] = RuleNames("C13", "C10", "C4", "C1", "C2", "C3")

    reader: Reader
    ids: CallIds = field(init=False)
    is_elsewhere: bool
    is_groq: bool = False
    has_decoys: bool = False

    def __post_init__(self) -> None:
        """Let calls have ids as the model takes them."""
        Draft.__post_init__(self)
        self.ids = CallIds(self.reader.ids, self.call_ids)

    def is_kin(self, block: Block) -> bool:
        """Whether what a compatible server added to an answer may go back.

        It may go to the family of models that made it (Reader.is_kin), and to the name that was
        asked for it: routers answer in the name of another.
        """
        reader, responses = self.reader, self.history.responses
        if reader.is_openai or block.response is None:
            return not reader.is_openai
        answered = responses.model_of(block.response)
        if answered is not None and reader.is_kin(answered):
            return True
        model_asked = responses.model_asked(block.asked)
        return reader.is_kin(model_asked) if answered is None else model_asked == reader.model

    def is_routed_kin(self, block: Block) -> bool:
        """Whether a router told what a model of OpenAI's thought, and the same family is asked there.

        OpenAI's own service puts no vendor before a name, tells no reasoning here, and takes none.
        """
        model, responses = self.reader.model or "", self.history.responses
        if "/" not in model or block.response is None:
            return False
        models = (responses.model_of(block.response), responses.model_asked(block.asked))
        return any(one and "/" in one and family_of(one) == family_of(model) for one in models)

    def holds_sound(self, expires_at: object) -> bool:
        """Whether a model of OpenAI's hears the sound of an answer, and the service still has it.

        The time is that of the last event.
        """
        as_of = self.history.as_of
        is_over = isinstance(expires_at, int) and as_of is not None and expires_at * _MICRO <= as_of
        reader = self.reader
        is_heard = reader.is_openai and self.router.reads("audio")
        return not is_over and (reader.model is None or is_heard)


def draft_of(history: History, options: Options, blobs: Mapping[str, bytes]) -> ChatDraft:
    """Return the draft of a request for the model that is wished, or that answered last."""
    reader = Reader(options.model or history.responses.last_model(NAME))
    is_groq = not reader.is_openai and _is_groq(history, options)
    return ChatDraft(history, options, blobs, reader, reader.is_compatible, is_groq=is_groq)


def _is_groq(history: History, options: Options) -> bool:
    """Whether Groq answered last, by the member that none but its answers have.

    The first chunk of a stream has it, so an answer tells it that broke off, where no other is.
    """
    closing = history.responses.last_completed(NAME) or history.responses.last_of(NAME)
    if closing is None or "x_groq" not in closing.envelope:
        return False
    sent = history.responses.of(str(closing.response), 0).sent
    return options.model in (None, closing.model, sent.model if sent else None)
