"""Blocks of a history in the spelling of Bedrock's Converse API: its own as they came, others anew.

What is repaired here concerns one block: ids, names, blank texts, what a model cannot read.
"""

from __future__ import annotations

from typing import Any, Final, assert_never

from onrecord.domain.content import Document, Native, Reasoning, Role, Text, ToolCall, ToolResult
from onrecord.domain.conversation import CANCELLED
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.answer_words import FAILURE, headline, words_for_nothing
from onrecord.projections.apis.anthropic.draft import Message
from onrecord.projections.apis.bedrock.documents import MEDIA, Media
from onrecord.projections.apis.bedrock.draft import MARK, Draft
from onrecord.projections.apis.bedrock.read import Part, document, held, kind_of, neutral
from onrecord.projections.apis.documents import Behind, texts_before, words_for
from onrecord.projections.apis.foreign import arguments_of, content_of, told_of
from onrecord.projections.apis.members import objects
from onrecord.projections.history.history import Block, Turn
from onrecord.projections.history.report import Where

# Results of tools in the spelling of Bedrock's Converse API, and the files that follow them.

_FILES: Final = MEDIA | {"searchResult"}


class Results:
    """Spells the results of one request, in order."""

    def __init__(self, draft: Draft, media: Media) -> None:
        """Spell into a draft."""
        self._draft = draft
        self._media = media
        self._behind = self._none()

    def spell(self, block: Block) -> JsonObject:
        """Return a result."""
        if block.mark == "missing":
            why = f"no result in time: {CANCELLED!r} stands in"
            self._draft.note("repaired", "B1", block.version, why)
        told: JsonObject = {"toolUseId": self._draft.ids.of_result(block)}
        if (own := self._draft.own(block)) is not None:
            told = {**held(own), **told}
            given = held(own).get("content")
            content = [part for each in objects(given) for part in self._kept(block, each)]
            is_bare = given == []
        else:
            content = [part for each in self.parts_of(block) for part in self._part(block, each)]
            is_bare = False
        if not content and not is_bare:
            content = [{"text": words_for_nothing(is_error=block.is_error)}]
        return {"toolResult": self._ended(block, {**told, "content": content})}

    def following(self) -> list[tuple[Block, JsonObject]]:
        """Return what follows the results of the round that is spelled, and begin the next."""
        behind, self._behind = self._behind, self._none()
        return list(zip(behind.blocks, behind.parts, strict=True))

    def parts_of(self, block: Block) -> tuple[Part, ...]:
        """Return what a result holds, whichever API it is of."""
        if (value := self._draft.own(block)) is not None:
            result = neutral(value)
            return result.content if isinstance(result, ToolResult) else ()
        if (native := self._draft.foreign(block)) is not None:
            content, note = content_of(native, block)
            self._draft.notes.append(note)
            return content
        plain = block.plain
        if plain["kind"] != "tool_result":
            return ()
        return tuple(map(_part, plain["content"]))

    def _ended(self, block: Block, told: JsonObject) -> JsonObject:
        """Return a result that says whether it failed, as the model takes it (B12)."""
        model = self._draft.model
        if model.reads_status:
            return {**told, "status": "error"} if block.is_error else told
        if "status" in told and not model.takes_status:
            self._draft.leave_out("B12", block, "the model takes no status of a result")
            told = {name: value for name, value in told.items() if name != "status"}
        if block.is_error and block.mark != "missing":
            return {**told, "content": [{"text": FAILURE}, *told["content"]]}
        return told

    def _none(self) -> Behind[JsonObject]:
        return Behind(self._draft.options.tags, _text)

    def _kept(self, block: Block, value: JsonObject) -> list[JsonObject]:
        """Return a part of a result of this API."""
        text: Any = value.get("text")
        if isinstance(text, str) and not text.strip():
            self._draft.leave_out("B4", block, "blank text in a result")
            return []
        if kind_of(value) not in _FILES:
            return [value]
        where, spelled = self._media.own_in_result(block, value)
        return [self._placed(block, document(value), where, spelled)]

    def _part(self, block: Block, part: Text | Document) -> list[JsonObject]:
        """Return a part of a result that another API or the caller spelled."""
        if isinstance(part, Text):
            return self._kept(block, _text(part.text))
        where, spelled = self._media.in_result(block, part)
        return [self._placed(block, part, where, spelled)]

    def _placed(
        self, block: Block, file: Part | None, where: Where, spelled: JsonObject
    ) -> JsonObject:
        """Return a file of a result, or the tag of one that follows it."""
        if where != "behind" or not isinstance(file, Document):
            self._draft.kinds.add(kind_of(spelled))
            return spelled
        why = "a file of a result follows it: the model does not read it there"
        self._draft.note("moved", "B8", block.version, why)
        return _text(self._behind.add(block, file, spelled))


def _text(text: str) -> JsonObject:
    return {"text": text}


def _part(plain: JsonObject) -> Part:
    if plain["kind"] == "text":
        return Text.model_construct(**plain)
    return Document.model_validate(plain)


_RESULTS: Final = frozenset({"result", "missing"})
_ALWAYS: Final = frozenset({"text", "toolUse", "reasoningContent"})
"""Kinds of an answer's blocks that models of another vendor read as well, or that B10 is about."""


class Speller:
    """Spells the turns of one request, in order."""

    def __init__(self, draft: Draft) -> None:
        """Spell into a draft."""
        self._draft = draft
        self._media = Media(draft)
        self._results = Results(draft, self._media)

    def spell(self, turn: Turn, after: Turn | None) -> Message:
        """Return the message of a turn; `after` holds the results of its calls."""
        role: Role = "assistant" if turn.role == "assistant" else "user"
        blocks = turn.blocks
        if len(blocks) == 1 and turn.role != "system" and (value := _plain_text(blocks[0])):
            return Message(role, [value], blocks)
        answered = _answered(after) if role == "assistant" else set[int | None]()
        content: list[JsonObject] = []
        spelled: list[Block] = []
        for block, value in self._spelled(turn, answered):
            content.append(value)
            spelled.append(block)
            self._draft.kinds.add(kind_of(value))
        if not content:
            self._draft.has_gaps = True
        return Message(role, content, spelled)

    def _spelled(self, turn: Turn, answered: set[int | None]) -> list[tuple[Block, JsonObject]]:
        """Return the blocks of a turn; what follows the results stands before all else."""
        told: list[tuple[Block, JsonObject]] = []
        stray: list[tuple[Block, JsonObject]] = []
        before: Block | None = None
        for block in turn.blocks:
            if block.mark not in _RESULTS:
                told += [*self._results.following(), *stray]
                stray = []
                values = self._block(block, before, turn.role, answered)
                told += [(block, value) for value in values]
            elif self._draft.ids.of_result(block) is None:
                stray += [(block, value) for value in self._stray(block)]
            else:
                told.append((block, self._results.spell(block)))
            before = block
        return [*told, *self._results.following(), *stray]

    def _block(
        self, block: Block, before: Block | None, role: Role, answered: set[int | None]
    ) -> list[JsonObject]:
        match block.mark:
            case "call" | "unawaited":
                return self._call(block, answered)
            case "late":
                return self._late(block)
            case "document":
                return self._found(block, before)
            case "result" | "missing":
                return self._stray(block)
            case "note":
                why = "few models take a note of the operator's: it goes as the user's"
                self._draft.note("translated", "B17", block.version, why)
                return self._said(block, "user")
            case "":
                return self._said(block, role)
            case _:
                assert_never(block.mark)

    def _said(self, block: Block, role: Role) -> list[JsonObject]:
        if (value := self._draft.own(block)) is not None:
            if MARK in value:
                self._draft.note("repaired", "B13", block.version, "cache points are placed anew")
                return []
            if role == "assistant":
                return self._own_answer(block, value)
            return self._own_words(block, value)
        if (native := self._draft.foreign(block)) is not None:
            return self._foreign(block, native, role)
        content = block.content
        match content:
            case Text() | Document():
                return self._part(block, content, role)
            case ToolResult():
                return self._stray(block)
            case Reasoning():
                self._draft.leave_out("B10", block, "reasoning that no model has signed")
                return []
            case Native() | ToolCall():
                self._draft.leave_out("B1", block, "a call that was not recorded as one")
                return []
            case _:
                assert_never(content)

    def _own_answer(self, block: Block, value: JsonObject) -> list[JsonObject]:
        """Return a block of an answer as it came, for a model that can read it."""
        kind = kind_of(value)
        is_servers = kind == "toolUse" and held(value).get("type") == "server_tool_use"
        if kind not in _ALWAYS or is_servers:
            if self._draft.is_kin(block):
                self._draft.has_own_tools |= kind in ("toolUse", "toolResult")
                return [value] if _says(value) else self._blank(block)
            return self._foreign(
                block, Native(api=self._draft.options.api, value=value), "assistant"
            )
        if kind == "toolUse":
            self._draft.leave_out("B1", block, "a call that was not recorded as one")
            return []
        return [value] if _says(value) else self._blank(block)

    def _own_words(self, block: Block, value: JsonObject) -> list[JsonObject]:
        """Return what the caller said in this API's own words."""
        kind = kind_of(value)
        if kind == "toolResult":
            return self._stray(block)
        if kind in ("toolUse", "reasoningContent"):
            self._draft.leave_out("B1", block, f"a {kind} is the assistant's alone")
            return []
        if kind in MEDIA or kind == "searchResult":
            return [self._media.own(block, value)]
        return [value] if _says(value) else self._blank(block)

    def _foreign(self, block: Block, native: Native, role: Role) -> list[JsonObject]:
        told, note = told_of(native, block)
        self._draft.notes.append(note)
        return [value for part in told for value in self._part(block, part, role)]

    def _part(self, block: Block, part: Text | Document, role: Role = "user") -> list[JsonObject]:
        if isinstance(part, Text):
            return [{"text": part.text}] if part.text.strip() else self._blank(block)
        if role == "assistant":
            return [{"text": words_for(part)}]
        return [self._media.said(block, part)]

    def _blank(self, block: Block) -> list[JsonObject]:
        self._draft.leave_out("B4", block, "blank text")
        return []

    def _call(self, block: Block, answered: set[int | None]) -> list[JsonObject]:
        draft = self._draft
        if block.call not in answered:
            draft.leave_out("B1", block, "a call that has no result, and can have none")
            return []
        call_id = draft.ids.of_call(block)
        if call_id != block.call_id:
            why = "the id of the call is not one that the service takes"
            draft.note("translated", "B11", block.version, why)
        told, given = self._called(block)
        name = draft.tool_name(given, block.version)
        draft.called.setdefault(name)
        arguments = told.get("input", {})
        if not isinstance(arguments, dict):
            why = "the input of a call is an object"
            draft.note("translated", "B11", block.version, why)
            arguments = {"arguments": arguments}
        return [{"toolUse": {**told, "toolUseId": call_id, "name": name, "input": arguments}}]

    def _called(self, block: Block) -> tuple[JsonObject, str]:
        """Return the members of a call that are known, and the name of its tool."""
        name = block.name or ""
        if (value := self._draft.own(block)) is not None:
            told = held(value)
            own: Any = told.get("name")
            return told, own if isinstance(own, str) else name
        if (native := self._draft.foreign(block)) is not None:
            arguments, note = arguments_of(native, block)
            self._draft.notes.append(note)
            return _CALL | {"input": arguments}, name
        content = block.content
        return _CALL | {"input": content.arguments if isinstance(content, ToolCall) else {}}, name

    def _late(self, block: Block) -> list[JsonObject]:
        if block.cancelled:
            why = "the call was given up, and was answered so before"
            self._draft.leave_out("late", block, why)
            return []
        self._draft.note("moved", "late", block.version, "a result came late: it goes as text")
        return self._as_words(block)

    def _stray(self, block: Block) -> list[JsonObject]:
        self._draft.note("moved", "B2", block.version, "a result of no call goes as text")
        return self._as_words(block)

    def _as_words(self, block: Block) -> list[JsonObject]:
        parts = self._results.parts_of(block)
        told = [value for part in parts for value in self._part(block, part)]
        words = words_for_nothing(is_error=block.is_error)
        return [{"text": headline(block)}, *(told or [{"text": words}])]

    def _found(self, block: Block, before: Block | None) -> list[JsonObject]:
        found = block.content
        if not isinstance(found, Document):
            return []
        texts = texts_before(block, found, self._draft.options.tags, before)
        return [*({"text": text} for text in texts), self._media.said(block, found)]


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
    said = document({"searchResult": {"content": held(value).get("content")}})
    return isinstance(said, Text) and bool(said.text.strip())


def _answered(turn: Turn | None) -> set[int | None]:
    """Return the calls whose results a user's turn begins with."""
    if turn is None or turn.role != "user":
        return set()
    return {block.call for block in turn.blocks if block.mark in _RESULTS}
