"""What blocks and events say in a line of text: for people, not for models."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, assert_never, cast

from onrecord.domain import events, jsontext
from onrecord.domain.content import (
    Document,
    HeldFile,
    Native,
    Reasoning,
    ServerToolResult,
    Text,
    ToolResult,
    Url,
)
from onrecord.domain.errors import counted
from onrecord.domain.items import ItemEvent
from onrecord.domain.tools import (
    ApprovalDecided,
    ApprovalRequested,
    BuiltinTool,
    CallStep,
    ToolCallBegun,
    ToolDefinition,
)
from onrecord.projections.api import instructions_of, neutral_of, tool_of
from onrecord.projections.frameworks.item_text import described


def request(event: events.RequestSent) -> str:
    """Return what was sent, to whom and how much."""
    made = "" if event.recipe is None else f", rendered from version {event.recipe.version}"
    place = "" if event.after is None else f" after version {event.after}"
    goes_on = "" if event.relation == "extends" else f", {event.relation}{place}"
    return f"{counted(event.template.size, 'byte')} to {event.model or event.api}{goes_on}{made}"


def attempt(event: events.AttemptFailed) -> str:
    """Return how an attempt failed."""
    status = "no answer" if event.status is None else f"HTTP {event.status}"
    return with_reason(status, event.reason or (compact(event.error) if event.error else None))


def response(event: events.ResponseCompleted) -> str:
    """Return how a response ended and what it cost."""
    text = f"{event.stop_reason or 'complete'}, {event.model or event.api}"
    read, written = event.input_tokens, event.output_tokens
    if read is None and written is None:
        return text
    tokens = "unknown tokens" if read is None else counted(read, "token")
    return f"{text}, {tokens} in, {'unknown' if written is None else f'{written:,}'} out"


def instructions(content: str | Text | Native) -> str:
    """Return instructions as text; `none` where they were taken away."""
    match content:
        case (str() as text) | Text(text=text):
            return text or "none"
        case Native():
            return instructions_of(content) or native(content)


def reasoning(content: Native | Reasoning) -> str:
    """Return what was thought, as far as it may be read."""
    if isinstance(content, Reasoning):
        return content.text
    return native(content)


NO_TEXT: Final = "no text"


def message(block: Native) -> str:
    """Return what a provider's message, or a block of one, says."""
    if block.value.get("type", "message") != "message":
        return NO_TEXT if block.value == {"type": "text", "text": ""} else native(block)
    if text := _said(block.value.get("content")):
        return text
    read = neutral_of(block.api, block.value)
    if isinstance(read, Text) and (read.text or not block.value.get("content")):
        return read.text or NO_TEXT
    return native(block)


def result(block: Native) -> str:
    """Return what a provider's result of a call says."""
    if text := _said(block.value.get("output")):
        return text
    read = None if "content" in block.value else neutral_of(block.api, block.value)
    if not isinstance(read, ToolResult | ServerToolResult):
        return native(block)
    parts = map(_part, read.content)
    return "; ".join(filter(None, parts)) or (
        native(block) if block.value.get("output") else "nothing"
    )


def gave(result: ServerToolResult) -> str:
    """Return what a provider's own tool gave, and how code ended if not well."""
    code = result.metadata.get("return_code")
    ended = f"return code {code}" if isinstance(code, int) and code else ""
    return "; ".join(filter(None, [*map(_part, result.content), ended])) or "nothing"


def _part(part: Text | Url | Document | HeldFile) -> str:
    match part:
        case Text(text=text):
            return text
        case Url(url=url, title=title):
            return f"{title} <{url}>" if title else url
        case HeldFile(file_id=file_id):
            return f"file {file_id}"
        case Document():
            return document(part)
        case _:
            assert_never(part)


_TEXTS: Final = ("text", "thinking", "content")
_SEALED: Final = ("data", "signature", "encrypted_content")


def native(block: Native) -> str:
    """Return what a provider's block says: its text where it has one, else its JSON."""
    match block.value:
        case {"type": "document" | "image" | "file" as kind, "source": dict()}:
            about = cast("dict[str, Any]", block.value["source"])
            parts = (block.value.get("title"), about.get("media_type"), about.get("url"))
            return ", ".join(str(part) for part in parts if part) or kind
        case _:
            return _native(block)


def _native(block: Native) -> str:
    for name in _TEXTS:
        if text := _said(block.value.get(name)):
            return text
    if any(name in block.value for name in _SEALED):
        return "sealed by the provider"
    return compact({name: member for name, member in block.value.items() if name != "type"})


def _said(value: Any) -> str:
    match value:
        case str():
            return value
        case {"$onrecord.blob": str(), "size": int() as size}:
            return f"{counted(size, 'byte')}, held apart"
        case list():
            parts = [_said_of(item) for item in cast("list[Any]", value)]
            return "; ".join(part for part in parts if part)
        case _:
            return ""


def _said_of(item: Any) -> str:
    match item:
        case {"title": str() as title, "url": str() as url}:
            return f"{title} <{url}>"
        case {"text": str() as text}:
            return text
        case _:
            return ""


def adoption(event: events.LineAdopted) -> str:
    """Return what the main branch goes on from."""
    line = "" if event.begun is None else f" with the line from version {event.begun}"
    place = f"version {event.after}" if event.after else "the beginning"
    return f"goes on from {place}{line}"


def document(value: Document) -> str:
    """Return a document's name, kind and size."""
    size = "" if value.blob is None else counted(value.blob.size, "byte")
    url = None if value.url is None or value.url.startswith("data:") else value.url
    parts = (value.name or url, value.media_type, size)
    return ", ".join(part for part in parts if part)


def extracted(event: events.DocumentExtracted) -> str:
    """Return which document was found, in the result of which tool, and where in it."""
    tool = f" in the result of {event.tool_name}" if event.tool_name else ""
    place = f" at {event.path}" if event.path else ""
    return f"{document(event.document)}{tool}{place}"


def tool_name(tool: ToolDefinition | BuiltinTool | Native) -> str:
    """Return the name of a tool; the type of one that has none."""
    match tool:
        case Native(value=value):
            read = tool_of(tool)
            if read is not None:
                return read.name
            # Gemini and Bedrock name a tool by the member that holds it.
            named = value.get("name") or value.get("type") or next(iter(value), "unnamed")
            return str(named)
        case ToolDefinition() | BuiltinTool():
            return tool.name


def tool_title(tool: ToolDefinition | BuiltinTool | Native) -> str:
    """Return the name of a tool, and of the MCP servers that it stands for: `mcp (parcels)`."""
    match tool:
        case Native(value=value):
            servers = dict.fromkeys(_servers(value))
        case BuiltinTool(options=options):
            servers = dict.fromkeys(name for each in options.values() for name in _servers(each))
        case ToolDefinition():
            return tool.name
    return f"{tool_name(tool)} ({', '.join(servers)})" if servers else tool_name(tool)


def _servers(value: jsontext.JsonObject) -> Iterator[str]:
    """Yield the names of MCP servers in what declares a tool, as each API has them."""
    match value:
        case {"server_label": str() as name} | {"mcp_server_name": str() as name}:
            yield name
        case {"mcpServers": list()}:
            for server in cast("list[object]", value["mcpServers"]):
                match server:
                    case {"name": str() as name}:
                        yield name
                    case _:
                        pass
        case _:
            pass


def pairs(labels: dict[str, str]) -> str:
    """Return labels as `name=value, …`."""
    return ", ".join(f"{name}={value}" for name, value in labels.items())


def with_reason(text: str, reason: str | None) -> str:
    """Return a text and the reason for it, if there is one."""
    return f"{text}: {reason}" if reason else text


def compact(value: Any) -> str:
    """Return a value as compact JSON."""
    return jsontext.write(value).decode()


# What is beside the conversation itself, as rows of a timeline tell it: starts, settings, amendments.

Speaker = Literal["user", "assistant", "system", "tool", "provider", "record", "outside"]
"""Who a row is of; `record`: nobody spoke, the record notes what happened around the conversation; `outside`:
what is neither a user nor a tool sent a signal."""

Mark = Literal[
    "error",
    "cancelled",
    "interrupted",
    "opaque",
    "unread",
    "erased",
    "redacted",
    "linked",
    "aside",
    "given up",
    "rejected",
    "interrupts",
]
"""What is out of the ordinary about a row."""


@dataclass(frozen=True, slots=True)
class Told:
    """What one event tells, before it has a place; the members are as in a `Row` of the timeline."""

    speaker: Speaker
    kind: str
    text: str
    marks: tuple[Mark, ...] = ()
    answers: int | None = None


_Retold: TypeAlias = events.LineAdopted | events.HistoryCompacted | events.ContentRedacted
Aside: TypeAlias = (
    events.ConversationStarted
    | events.ConversationForked
    | events.ConversationEnded
    | events.InstructionsSet
    | events.ToolsDeclared
    | events.DocumentExtracted
    | events.ContextCarried
    | events.AnnotationAdded
    | CallStep
    | ItemEvent
    | _Retold
)
"""What is beside the conversation itself."""


def aside(event: Aside) -> Told:
    """Return what an event tells that is beside the conversation itself."""
    match event:
        case events.ConversationStarted():
            return Told("record", "started", event.key)
        case events.ConversationForked():
            origin = f"from {event.origin} as it stood at version {event.version}"
            return Told("record", "forked", with_reason(origin, event.reason))
        case events.ConversationEnded():
            return Told("record", "closed", event.reason or "")
        case events.InstructionsSet(content=content):
            return Told("system", "instructions", instructions(content))
        case events.ToolsDeclared():
            return Told("system", "tools", ", ".join(map(tool_title, event.tools)) or "none")
        case events.DocumentExtracted():
            return Told("record", "extracted", extracted(event))
        case events.ContextCarried():
            return Told("record", "context", "what tool calls carry: onrecord context shows it")
        case events.AnnotationAdded():
            place = "" if event.version is None else f"on version {event.version}: "
            return Told("record", "annotation", place + pairs(event.labels))
        case ApprovalRequested() | ApprovalDecided() | ToolCallBegun():
            return _step(event)
        case _:
            return _retold(event)


def _step(event: CallStep) -> Told:
    """Tell of what became of a call that awaits its result."""
    match event:
        case ApprovalRequested(unsure=True):
            unsure = f"{event.call_id} was begun, and nobody knows whether it was made"
            return Told("record", "approval", unsure)
        case ApprovalRequested():
            return Told("record", "approval", f"{event.call_id} waits for a person")
        case ApprovalDecided():
            return Told("record", event.decision, with_reason(event.call_id, event.reason))
        case ToolCallBegun(renews=False):
            return Told("record", "begun", event.call_id)
        case ToolCallBegun():
            what = "goes on" if event.until > event.at else "was left unfinished"
            return Told("record", "begun", f"{event.call_id} {what}")
        case _:
            assert_never(event)


def _retold(event: _Retold | ItemEvent) -> Told:
    """Tell of an event that changes what the history is, or what a framework's streams hold."""
    match event:
        case events.LineAdopted():
            return Told("record", "adopted", adoption(event))
        case events.HistoryCompacted():
            stands = f"stands for what was said up to version {event.until}: "
            return Told("record", "compacted", stands + event.summary)
        case events.ContentRedacted():
            redacted = f"version {event.version} is left out of every request from here on"
            return Told("record", "redacted", with_reason(redacted, event.reason))
        case _:
            kind, text = described(event)
            return Told("record", kind, text)
