"""Blocks of a history as Bedrock's Converse API has them: its own as they came, others anew.

What is repaired here concerns one block: ids, names, blank texts, what a model cannot read.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any, Final

from onrecord.domain.content import Document, Native, Reasoning, Role, Text, ToolCall
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.answers import FAILURE, words_for_nothing
from onrecord.projections.apis.anthropic.draft import Message
from onrecord.projections.apis.bedrock.draft import MARK, MEDIA, BedrockDraft, Media
from onrecord.projections.apis.bedrock.read import NAME, Part, document, held, kind_of
from onrecord.projections.apis.documents import Behind, words_for
from onrecord.projections.apis.foreign import arguments_of
from onrecord.projections.apis.request import Where
from onrecord.projections.apis.user_messages import RESULTS, UserParts, results_in
from onrecord.projections.history.history import Block, Content, Turn
from onrecord.projections.members import objects

# Results of tools, and the files that follow them.

_FILES: Final = MEDIA | {"searchResult"}


class Results:
    """Encodes the results of one request, in order."""

    def __init__(self, draft: BedrockDraft, media: Media) -> None:
        """Encode into a draft."""
        self._draft = draft
        self._media = media
        self._behind = self._none()

    def encode(self, block: Block) -> JsonObject:
        """Return a result."""
        self._draft.note_missing(block)
        members: JsonObject = {"toolUseId": self._draft.ids.of_result(block)}
        if (own := self._draft.own(block)) is not None:
            members = {**held(own), **members}
            value = held(own).get("content")
            content = [part for each in objects(value) for part in self._kept(block, each)]
            is_bare = value == []
        else:
            parts = self._draft.result_parts(block)
            content = [encoded for part in parts for encoded in self._part(block, part)]
            content[:1] = [self._as_json(block, part) for part in content[:1]]
            is_bare = False
        if not content and not is_bare:
            content = [{"text": words_for_nothing(is_error=block.is_error)}]
        return {"toolResult": self._ended(block, {**members, "content": content})}

    def following(self) -> list[tuple[Block, JsonObject]]:
        """Return what follows the results of the round that is spelled, and begin the next."""
        behind, self._behind = self._behind, self._none()
        return list(zip(behind.blocks, behind.parts, strict=True))

    def _ended(self, block: Block, members: JsonObject) -> JsonObject:
        """Return a result that says whether it failed, as the model takes it (B12)."""
        model = self._draft.model
        if model.reads_status:
            return {**members, "status": "error"} if block.is_error else members
        if "status" in members and not model.takes_status:
            self._draft.leave_out("B12", block, "the model takes no status of a result")
            members = {name: value for name, value in members.items() if name != "status"}
        if block.is_error and block.mark != "missing":
            return {**members, "content": [{"text": FAILURE}, *members["content"]]}
        return members

    def _none(self) -> Behind[JsonObject]:
        return Behind(self._draft.options.tags, _text, self._draft.as_sent)

    def _kept(self, block: Block, value: JsonObject) -> list[JsonObject]:
        """Return a part of a result of this API."""
        text: Any = value.get("text")
        if isinstance(text, str) and not text.strip():
            self._draft.leave_out_blank(block, "blank text in a result")
            return []
        if kind_of(value) not in _FILES:
            return [value]
        where, encoded = self._media.own_in_result(block, value)
        return [self._placed(block, document(value), where, encoded)]

    def _part(self, block: Block, part: Text | Document) -> list[JsonObject]:
        """Return a part of a result that another API or the caller spelled."""
        if isinstance(part, Text):
            return self._kept(block, _text(part.text))
        where, encoded = self._media.in_result(block, part)
        return [self._placed(block, part, where, encoded)]

    def _as_json(self, block: Block, part: JsonObject) -> JsonObject:
        """Return the text of a JSON object as `json`, in which AWS's own examples put objects."""
        text: Any = part.get("text")
        value = self._draft.value_of(block, text) if isinstance(text, str) else None
        return {"json": value} if isinstance(value, dict) else part

    def _placed(
        self, block: Block, file: Part | None, where: Where, encoded: JsonObject
    ) -> JsonObject:
        """Return a file of a result, or the tag of one that follows it."""
        if where != "behind" or not isinstance(file, Document):
            self._draft.kinds.add(kind_of(encoded))
            return encoded
        why = "a file of a result follows it: the model does not read it there"
        self._draft.note("moved", "B8", block.version, why)
        return _text(self._behind.add(block, file, encoded))


def _text(text: str) -> JsonObject:
    return {"text": text}


_ALWAYS: Final = frozenset({"text", "toolUse", "reasoningContent"})
"""Kinds of an answer's blocks that models of another vendor read as well, or that B10 is about."""


class Encoder(UserParts[BedrockDraft]):
    """Encodes the turns of one request, in order."""

    def __init__(self, draft: BedrockDraft) -> None:
        """Encode into a draft."""
        super().__init__(draft)
        self._media = Media(draft)
        self._results = Results(draft, self._media)

    def encode_turn(self, turn: Turn, after: Turn | None) -> Message:
        """Return the message of a turn; `after` holds the results of its calls."""
        role: Role = "assistant" if turn.role == "assistant" else "user"
        blocks = turn.blocks
        if len(blocks) == 1 and turn.role != "system" and (value := _plain_text(blocks[0])):
            return Message(role, [value], blocks)
        answered = results_in(after) if role == "assistant" else {}
        content: list[JsonObject] = []
        encoded: list[Block] = []
        for block, value in self._encoded(turn, answered):
            content.append(value)
            encoded.append(block)
            self.draft.kinds.add(kind_of(value))
        if not content:
            self.draft.has_gaps = True
        return Message(role, content, encoded)

    def _encoded(
        self, turn: Turn, answered: Container[int | None]
    ) -> list[tuple[Block, JsonObject]]:
        """Return the blocks of a turn; what follows the results stands before all else."""
        encoded: list[tuple[Block, JsonObject]] = []
        stray: list[tuple[Block, JsonObject]] = []
        before: Block | None = None
        for block in turn.blocks:
            if block.mark in ("call", "unawaited"):
                encoded += [*self._results.following(), *stray]
                stray = []
                encoded += [(block, value) for value in self._call(block, answered)]
            elif block.mark not in RESULTS:
                encoded += [*self._results.following(), *stray]
                stray = []
                encoded += [(block, value) for value in self.parts(block, turn.role, before)]
            elif self.draft.ids.of_result(block) is None:
                stray += [(block, value) for value in self.stray(block)]
            else:
                encoded.append((block, self._results.encode(block)))
            before = block
        return [*encoded, *self._results.following(), *stray]

    def text(self, text: str) -> JsonObject:
        """Return a block of text."""
        return _text(text)

    def document(self, block: Block, document: Document, role: Role = "user") -> JsonObject:
        """Return the block of a document; words in an answer, which holds none."""
        return (
            _text(words_for(document)) if role == "assistant" else self._media.said(block, document)
        )

    def note(self, block: Block, role: Role) -> list[JsonObject]:
        """Return a note of the operator's."""
        why = "few models take a note of the operator's: it goes as the user's"
        self.draft.note("translated", "B17", block.version, why)
        return self.said(block, "user")

    def own_parts(self, block: Block, role: Role) -> list[JsonObject] | None:
        """Return a block of this API; None for a block of any other."""
        value = self.draft.own(block)
        if value is None:
            return None
        if MARK in value:
            self.draft.note("repaired", "B13", block.version, "cache points are placed anew")
            return []
        return (
            self._own_answer(block, value) if role == "assistant" else self._own_words(block, value)
        )

    def unsent(self, block: Block, content: Content) -> list[JsonObject]:
        """Leave out what no API has made, and a model would have had to."""
        if isinstance(content, Reasoning):
            self.draft.leave_out("B10", block, "reasoning that no model has signed")
        else:
            self.draft.leave_out("B1", block, "a call that was not recorded as one")
        return []

    def _own_answer(self, block: Block, value: JsonObject) -> list[JsonObject]:
        """Return a block of an answer as it came, for a model that can read it."""
        kind = kind_of(value)
        is_servers = kind == "toolUse" and held(value).get("type") == "server_tool_use"
        if kind not in _ALWAYS or is_servers:
            if self.draft.is_kin(block):
                self.draft.has_own_tools |= kind in ("toolUse", "toolResult")
                return [value] if _says(value) else self._blank(block)
            return self.foreign(block, Native(api=NAME, value=value), "assistant")
        if kind == "toolUse":
            self.draft.leave_out("B1", block, "a call that was not recorded as one")
            return []
        return [value] if _says(value) else self._blank(block)

    def _own_words(self, block: Block, value: JsonObject) -> list[JsonObject]:
        """Return what the caller said in this API's own words."""
        kind = kind_of(value)
        if kind == "toolResult":
            return self.stray(block)
        if kind in ("toolUse", "reasoningContent"):
            self.draft.leave_out("B1", block, f"a {kind} is the assistant's alone")
            return []
        if kind in MEDIA or kind == "searchResult":
            return [self._media.own(block, value)]
        return [value] if _says(value) else self._blank(block)

    def _blank(self, block: Block) -> list[JsonObject]:
        self.draft.leave_out_blank(block)
        return []

    def _call(self, block: Block, answered: Container[int | None]) -> list[JsonObject]:
        draft = self.draft
        if block.call not in answered:
            draft.leave_out("B1", block, "a call that has no result, and can have none")
            return []
        call_id = draft.ids.of_call(block)
        if call_id != block.call_id:
            why = "the id of the call is not one that the service takes"
            draft.note("translated", "B11", block.version, why)
        members, called_name = self._called(block)
        name = draft.tool_name(called_name, block.version)
        draft.called.setdefault(name)
        arguments = members.get("input", {})
        if not isinstance(arguments, dict):
            why = "the input of a call is an object"
            draft.note("translated", "B11", block.version, why)
            arguments = {"arguments": arguments}
        return [{"toolUse": {**members, "toolUseId": call_id, "name": name, "input": arguments}}]

    def _called(self, block: Block) -> tuple[JsonObject, str]:
        """Return the members of a call that are known, and the name of its tool."""
        name = block.name or ""
        if (value := self.draft.own(block)) is not None:
            members = held(value)
            own: Any = members.get("name")
            return members, own if isinstance(own, str) else name
        if (native := self.draft.native(block)) is not None:
            arguments, note = arguments_of(native, block)
            self.draft.notes.append(note)
            return _CALL | {"input": arguments}, name
        content = block.content
        return _CALL | {"input": content.arguments if isinstance(content, ToolCall) else {}}, name


_CALL: Final[JsonObject] = {"toolUseId": "", "name": "", "input": {}}
"""The members of a call, in the order in which the service documents them."""


def _plain_text(block: Block) -> JsonObject | None:
    """Return a block of text that needs no repair, as most do; None for any other."""
    if block.mark or block.spilled:
        return None
    plain = block.plain
    if plain["kind"] == "text":
        text = plain["text"]
        return {"text": text} if text and not text.isspace() else None
    if plain["kind"] != "native" or plain["api"] != "bedrock-converse":
        return None
    value: JsonObject = plain["value"]
    text = value.get("text")
    is_plain = len(value) == 1 and isinstance(text, str) and text and not text.isspace()
    return value if is_plain else None


def _says(value: JsonObject) -> bool:
    """Whether a block is not a blank text, cited or not."""
    if isinstance(text := value.get("text"), str):
        return bool(text.strip())
    if "citationsContent" not in value:
        return True
    content = document({"searchResult": {"content": held(value).get("content")}})
    return isinstance(content, Text) and bool(content.text.strip())
