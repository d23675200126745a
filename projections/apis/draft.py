"""A request while it is made: what it is made of, and the notes on what was done.

Each API has a draft of its own, with what its rules need to know beside this.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple, cast

from onrecord.domain import jsontext
from onrecord.domain.blobs import restore
from onrecord.domain.content import Document, Native, Text, ToolResult
from onrecord.domain.conversation import CANCELLED
from onrecord.domain.encoding import read_stored
from onrecord.domain.errors import MalformedJson
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.tools import BuiltinTool, ToolDefinition
from onrecord.projections.api import neutral_of
from onrecord.projections.apis.documents import Router, words_for
from onrecord.projections.apis.foreign import (
    Part,
    arguments_of,
    content_of,
    instructions_told,
    tool_told,
    whole,
)
from onrecord.projections.apis.request import Options, Request, report_of
from onrecord.projections.apis.tools import Wants, encode_tool, schema_for
from onrecord.projections.history.history import Block, History, Note, NoteKind
from onrecord.projections.history.tool_names import OPENAI, name_for, renamed


class RuleNames(NamedTuple):
    """The names of an API's rules on what each API has a rule on; docs/rendering.md lists them.

    `names` of tools, `arguments` of calls, `blank` texts, results that are `missing` for a call,
    `stray` results that have no call, documents that go `behind` the results that hold them.
    """

    names: str = "names"
    arguments: str = "arguments"
    blank: str = "blank"
    missing: str = "missing"
    stray: str = "stray"
    behind: str = "document"


@dataclass(slots=True)
class Draft:
    """What a request is made of, and the notes on what was done to get there.

    `blobs` has the bytes that blocks refer to, by digest; `router` decides where documents go.
    `call_ids` are the ids that calls have in the request, by their number; `CallIds` adds them.
    """

    API: ClassVar[str]
    """The name of the API."""
    RULES: ClassVar[RuleNames] = RuleNames()
    """The rules of the API on what all APIs have rules on."""
    LONGEST_NAME: ClassVar[int] = OPENAI
    """The longest name of a tool that the API takes."""

    history: History
    options: Options
    blobs: Mapping[str, bytes]
    router: Router = field(init=False)
    notes: list[Note] = field(default_factory=list[Note], kw_only=True)
    call_ids: dict[int | None, str] = field(default_factory=dict[int | None, str], kw_only=True)

    def __post_init__(self) -> None:
        """Let the router decide for the same request."""
        self.router = Router(self.history, self.options)

    def note(self, deed: NoteKind, rule: str, version: int | None, why: str) -> None:
        """Add a note to the report."""
        self.notes.append(Note(deed, rule, version, why))

    def leave_out(self, rule: str, block: Block, why: str) -> None:
        """Add a note that a block, or a part of it, does not go."""
        self.note("left out", rule, block.version, why)

    def leave_out_blank(self, block: Block, what: str = "blank text") -> None:
        """Add a note that a blank text of a block does not go."""
        self.leave_out(self.RULES.blank, block, what)

    # Blocks of the history.

    def own(self, block: Block) -> JsonObject | None:
        """Return a block of this API as it came; None for any other."""
        plain = block.plain
        if plain["kind"] != "native" or plain["api"] != self.API:
            return None
        value: JsonObject = plain["value"]
        return restore(value, self.blobs) if block.spilled else value

    def native(self, block: Block) -> Native | None:
        """Return a block of any API, whole; None for one in neutral form."""
        plain = block.plain
        if plain["kind"] != "native":
            return None
        value: JsonObject = plain["value"]
        value = restore(value, self.blobs) if block.spilled else value
        return Native(api=plain["api"], value=value)

    def result_parts(self, block: Block) -> tuple[Part, ...]:
        """Return what a result holds, whichever API it is of."""
        if (value := self.own(block)) is not None:
            result = neutral_of(self.API, value)
            return result.content if isinstance(result, ToolResult) else ()
        native = self.native(block)
        if native is None:
            plain = block.plain
            return tuple(map(_part, plain["content"])) if plain["kind"] == "tool_result" else ()
        parts, note = content_of(native, block)
        self.notes.append(note)
        return parts

    def value_of(self, block: Block, text: str) -> Any:
        """Return the value whose JSON the first text of a result is; the text if it is none."""
        if self.native(block) is not None or not block.plain.get("is_json"):
            return text
        try:
            return jsontext.read(text)
        except MalformedJson:
            return text

    def as_sent(self, block: Block) -> Block:
        """Return a block with the id and the name that its call has in the request.

        Where the API has no ids it keeps its own: that tells equal calls apart.
        """
        name = self.fitting_name(block.name) if block.name else block.name
        call_id = block.call_id
        if block.call is not None:
            call_id = self.call_ids.get(block.call, call_id)
        if (call_id, name) == (block.call_id, block.name):
            return block
        return replace(block, call_id=call_id, name=name)

    def note_missing(self, block: Block) -> None:
        """Note the result that stands in for one that did not come."""
        if block.mark == "missing":
            why = f"no result in time: {CANCELLED!r} stands in"
            self.note("repaired", self.RULES.missing, block.version, why)

    def arguments(self, block: Block) -> JsonObject:
        """Return the arguments of a call that is not this API's, as the object they must be."""
        if (native := self.native(block)) is not None:
            arguments, note = arguments_of(native, block)
            self.notes.append(note)
        else:
            arguments = block.plain.get("arguments", {})
        return self.as_object(block, arguments)

    def as_object(self, block: Block, arguments: Any) -> JsonObject:
        """Return the arguments of a call as an object."""
        if isinstance(arguments, dict):
            return cast("JsonObject", arguments)
        why = "the arguments of a call are an object"
        self.note("translated", self.RULES.arguments, block.version, why)
        return {"arguments": arguments}

    def words(self, block: Block, document: Document) -> str:
        """Return the words in place of a document that was last decided on, with a note on why."""
        why = f"the document ({document.media_type}) {self.router.routes[-1].why}: it goes as words"
        self.leave_out("document", block, why)
        return words_for(document)

    def goes_late(self, block: Block) -> bool:
        """Return whether a result that came late, or alone, goes as text, with a note on that."""
        if block.cancelled:
            why = "the call was given up, and was answered so before"
            self.leave_out("late", block, why)
            return False
        what = "of a call that is not known" if block.call is None else "that came late"
        self.note("moved", "late", block.version, f"a result {what} goes as text")
        return True

    # Instructions and tools.

    def instructions(self) -> str | JsonObject:
        """Return the instructions in force: this API's own as they came, others as their text.

        Blank ones, and such as no other API can read, are an empty text.
        """
        instructions = self.history.instructions
        match instructions.content if instructions else "":
            case str() as text:
                return text if text.strip() else ""
            case Text(text=text):
                return text if text.strip() else ""
            case Native() as native if native.api == self.API:
                value: JsonObject = restore(native.value, self.blobs)
                return value
            case Native() as native:
                text, note = instructions_told(whole(native, self.blobs))
                self.notes.append(note)
                return text

    def declared_tools(self) -> Sequence[ToolDefinition | BuiltinTool | Native]:
        """Return the tools in force, as they were declared."""
        in_force = self.history.tools
        return in_force.tools if in_force else ()

    def tools_in_force(
        self, define: Callable[[ToolDefinition], JsonObject]
    ) -> Iterator[JsonObject]:
        """Yield the tools in the order in which they were defined, this API's own as they came.

        Raises UnsupportedTool where a provider's tool is one that this API has not.
        """
        for declared in self.declared_tools():
            tool = (
                encode_tool(declared, self.API) if isinstance(declared, BuiltinTool) else declared
            )
            if isinstance(tool, ToolDefinition):
                yield define(tool)
            elif tool.api == self.API:
                yield restore(tool.value, self.blobs)
            else:
                definition, note = tool_told(whole(tool, self.blobs))
                self.notes.append(note)
                if definition is not None:
                    yield define(definition)

    def definition(self, tool: ToolDefinition, wants: Wants) -> tuple[JsonObject, JsonObject]:
        """Return the name and the description of a tool, and its schema as the service takes it."""
        named: JsonObject = {"name": self.tool_name(tool.name, None)}
        if tool.description is not None:
            named["description"] = tool.description
        schema, done = schema_for(tool.input_schema, wants)
        if done:
            self.note("translated", "schema", None, f"the schema of {tool.name}: {done}")
        return named, schema

    def tool_name(self, own_name: str, version: int | None) -> str:
        """Return the name under which a tool goes, with a note if it is another one."""
        name = self.fitting_name(own_name)
        if name != own_name:
            self.note("translated", self.RULES.names, version, renamed(own_name, name))
        return name

    def fitting_name(self, own_name: str) -> str:
        """Return the name under which a tool goes."""
        return name_for(own_name, self.LONGEST_NAME)

    # The request.

    def request(
        self,
        arguments: Mapping[str, Any],
        body: Mapping[str, Any] | None = None,
        *,
        is_own: bool = False,
    ) -> Request:
        """Return the request of these arguments, with the report on all that was done.

        `is_own` says that no event has a part in them.
        """
        report = report_of([*self.history.notes, *self.notes], self.router.routes)
        return Request(arguments, self.options, report, body, is_own=is_own)


def _part(plain: JsonObject) -> Part:
    """Return a part of a result; most are one text, and pydantic's own verbs cost more than all else."""
    shape = Text if plain["kind"] == "text" else Document
    return cast("Part", read_stored(shape.__pydantic_validator__.validate_python, plain))


def present(members: Mapping[str, Any]) -> dict[str, Any]:
    """Return those members of a request that there are."""
    return {name: value for name, value in members.items() if value is not None}


# Ids of tool calls, for the APIs that want them in a form of their own.
#
# An id that does not fit becomes one that is made of the old one and of the call's place, so that
# it is the same in each request; call and result get the same one.


@dataclass(frozen=True, slots=True)
class IdForm:
    """What the ids of an API look like: which fit, and how one is made that does.

    A made id is `prefix` and as many `digits` of a digest. `doubles` says that the id that came goes
    into the digest beside the last one that was tried.
    """

    fits: re.Pattern[str]
    prefix: str
    digits: int = 24
    doubles: bool = False

    def made_of(self, tried: str, original: str, version: int) -> str:
        """Return an id for a call whose id, or the last one tried for it, does not fit."""
        name = f"{version}:{tried}:{original}" if self.doubles else f"{version}:{tried}"
        digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
        return self.prefix + digest[: self.digits]


class CallIds:
    """The ids that the calls of one request bear, each once; those of calls so far are `by_call`."""

    def __init__(self, form: IdForm, by_call: dict[int | None, str]) -> None:
        """Add the ids of calls, by their number, to `by_call`."""
        self._form = form
        self._by_call = by_call
        self._taken: set[str] = set()

    def begin_message(self) -> None:
        """Forget which ids the calls before took, for an API where each is unique in its message."""
        self._taken.clear()

    def of_call(self, block: Block, fits: Callable[[str], object] | None = None) -> str:
        """Return the id of a call, and keep it for its result; `fits` judges in place of the form."""
        original = wire = block.call_id or ""
        fits = fits or self._form.fits.match
        is_fit = wire not in self._taken and bool(fits(wire))
        while not is_fit:
            wire = self._form.made_of(wire, original, block.version)
            is_fit = wire not in self._taken
        self._taken.add(wire)
        self._by_call[block.call] = wire
        return wire

    def of_result(self, block: Block) -> str | None:
        """Return the id of the call that a result answers; None where no call bears one."""
        return self._by_call.get(block.call)
