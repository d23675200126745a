"""`onrecord tools`: what a model may call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Final

import typer

from onrecord.adapters.cli.program.options import AsJson, At, Key, Url, known_api
from onrecord.adapters.cli.program.stores import open_store
from onrecord.adapters.presentation.control_characters import flat
from onrecord.adapters.presentation.conversations import NamedConversation, require_conversation
from onrecord.adapters.presentation.sizes_and_times import moment
from onrecord.adapters.store import Store, backend_of
from onrecord.adapters.streams.lineage import LineSegment, lineage
from onrecord.adapters.terminal import output
from onrecord.domain import jsontext
from onrecord.domain.errors import counted
from onrecord.domain.header import timestamp
from onrecord.domain.tools import ToolDefinition, ToolSource

if TYPE_CHECKING:
    from rich.console import Console

    from onrecord.adapters.bpmn.gateways import Gateway
    from onrecord.projections.apis.declared_tools import Declared, Tool

_DIGITS: Final = 8
"""How much of a digest is shown: enough to tell two apart."""


def tools(
    context: typer.Context,
    key: Key,
    at: At = None,
    api: Annotated[
        str | None,
        typer.Option(
            metavar="API",
            parser=known_api,
            help="Show the JSON that this API gets instead.",
        ),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Show every declaration, the first one first.")
    ] = False,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Show the tools in force: their arguments, their sources, and since which version.

    Piped: name, what it takes, description, origin, name and version of its source, digest of that,
    version of the declaration. With `--all` version, time, digest, sources, tools.

    Example: `onrecord tools support/4711 --api gemini`
    """
    if everything and api is not None:
        raise typer.BadParameter("--api tells of the tools in force: leave --all out.")
    with open_store(context, url) as store:
        if everything:
            _show_history(store, key, at, as_json=as_json)
        else:
            _show(store, key, at, api=api, as_json=as_json)


def _show(store: Store, key: str, at: int | None, *, api: str | None, as_json: bool) -> None:
    """Write the tools in force, or, for an API, the JSON that tells it of them."""
    from onrecord.adapters.conversation.history_queries import declared

    conversation, segments = _main_branch(store, key, at)
    in_force = declared(backend_of(store), segments)
    if api is not None:
        _tell(in_force, api, as_json=as_json)
    elif as_json:
        output.json_line(_document(in_force))
    elif output.is_drawn():
        _draw(output.console(), conversation, in_force)
    else:
        for tool in in_force.tools:
            output.plain(*_columns(in_force, tool))


def _show_history(store: Store, key: str, at: int | None, *, as_json: bool) -> None:
    """Write every declaration of tools, the first one first."""
    conversation, segments = _main_branch(store, key, at)
    history = list(_declarations(store, segments))
    if as_json:
        for recorded_at, each in history:
            output.json_line({"recorded_at": timestamp(recorded_at), **_document(each)})
    elif output.is_drawn():
        _draw_history(output.console(), conversation, history)
    else:
        for recorded_at, each in history:
            when = timestamp(recorded_at)
            output.plain(each.version, when, _short(each.sha256), _origins(each), _names(each))


def _main_branch(
    store: Store, key: str, at: int | None
) -> tuple[NamedConversation, tuple[LineSegment, ...]]:
    conversation = require_conversation(store, key)
    version = conversation.version_at(at)
    return conversation, lineage(backend_of(store), conversation.conversation_id, version)


def _declarations(
    store: Store, segments: tuple[LineSegment, ...]
) -> Iterator[tuple[int, Declared]]:
    """Yield each declaration with the time at which it was recorded, the first one first."""
    from onrecord.adapters.conversation.history_queries import declaration, declarations

    for recorded in reversed(list(declarations(backend_of(store), segments))):
        yield recorded.recorded_at, declaration(backend_of(store), segments, recorded)


def _tell(in_force: Declared, api: str, *, as_json: bool) -> None:
    """Write what a request to an API says of the tools; the report goes beside it."""
    from onrecord.projections.apis.declared_tools import told_to

    members, report = told_to(in_force.tools, api)
    if as_json:
        notes = [note._asdict() for note in report]
        output.json_line({"api": api, **members, "report": notes})
        return
    if output.is_drawn():
        output.draw_json(output.console(), members)
    else:
        output.raw(jsontext.write(members) + b"\n")
    for note in report:
        output.note(f"onrecord: {note}")


def _draw(console: Console, conversation: NamedConversation, in_force: Declared) -> None:
    """Draw each tool: its name and description, what it takes, where it comes from."""
    from rich.padding import Padding
    from rich.text import Text

    from onrecord.projections.apis.declared_tools import definition_of

    output.draw_title(console, conversation, _since(in_force))
    for tool in in_force.tools:
        definition = definition_of(tool)
        console.print(Text(f"\n{flat(_title(tool))}", "bold yellow"))
        if definition is not None:
            draw_definition(console, definition)
        console.print(
            Padding(Text(f"from {_place(in_force.source_of(tool))}", "dim"), (0, 0, 0, 2))
        )


def draw_definition(console: Console, tool: ToolDefinition | Gateway) -> None:
    """Draw what a model is told of a tool: its description, and each parameter that it takes."""
    from rich.padding import Padding
    from rich.text import Text

    from onrecord.projections.apis.declared_tools import parameters

    if tool.description:
        console.print(Padding(Text(flat(tool.description)), (0, 0, 0, 2)))
    for parameter in parameters(tool) if isinstance(tool, ToolDefinition) else ():
        about = f"  {flat(parameter.description)}" if parameter.description else ""
        line = Text.assemble((flat(str(parameter)), "cyan"), (about, "dim"))
        console.print(Padding(line, (0, 0, 0, 4)))


def takes(tool: ToolDefinition) -> str:
    """Return what a tool takes, as one text."""
    from onrecord.projections.apis.declared_tools import parameters

    return ", ".join(map(str, parameters(tool)))


def _draw_history(
    console: Console, conversation: NamedConversation, history: list[tuple[int, Declared]]
) -> None:
    from rich.table import Table
    from rich.text import Text

    output.draw_title(console, conversation)
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(justify="right", style="dim", no_wrap=True)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(style="dim", no_wrap=True)
    for recorded_at, each in history:
        names = Text(flat(_names(each)) or "none", "yellow")
        places = flat(_origins(each))
        when = moment(recorded_at)
        table.add_row(f"{each.version}", when, _short(each.sha256), names, places)
    console.print(table)


def _since(in_force: Declared) -> str:
    if not in_force.version:
        return "no tools were declared"
    many = counted(len(in_force.tools), "tool")
    return f"{many} since version {in_force.version} · {_short(in_force.sha256)}"


def _columns(in_force: Declared, tool: Tool) -> tuple[object, ...]:
    """Return the columns of a tool: what it is, takes, says of itself, and where it comes from."""
    from onrecord.projections.apis.declared_tools import definition_of

    definition = definition_of(tool)
    source = in_force.source_of(tool)
    return (
        _title(tool),
        "" if definition is None else takes(definition),
        None if definition is None else definition.description,
        *((source.origin, source.name, source.version) if source else (None, None, None)),
        _short(source.sha256) if source else None,
        in_force.version,
    )


def _place(source: ToolSource | None) -> str:
    """Return where a tool comes from, in words."""
    if source is None:
        return "a source that is not known"
    parts = (source.origin, source.name, source.version, _short(source.sha256))
    return " ".join(flat(part) for part in parts if part)


def _origins(each: Declared) -> str:
    places = ((source.origin, source.name) for source in each.sources)
    return ", ".join(" ".join(part for part in place if part) for place in places)


def _names(each: Declared) -> str:
    return ", ".join(map(_title, each.tools))


def _short(digest: str | None) -> str:
    return (digest or "")[:_DIGITS]


def _document(in_force: Declared) -> dict[str, object]:
    conversation = in_force.conversation_id
    return {
        "version": in_force.version,
        "conversation": None if conversation is None else str(conversation),
        "sha256": in_force.sha256,
        "tools": [_listed(in_force, tool) for tool in in_force.tools],
        "sources": [_source(source) for source in in_force.sources],
    }


def _listed(in_force: Declared, tool: Tool) -> dict[str, object]:
    """Return a tool as it was declared, its name always beside it, and its source."""
    from onrecord.projections.history.timeline_text import tool_name

    source = in_force.source_of(tool)
    return {
        "name": tool_name(tool),
        **tool.model_dump(mode="json", exclude_defaults=True),
        "kind": tool.kind,
        "source": None if source is None else _source(source),
    }


def _source(source: ToolSource) -> dict[str, object]:
    return source.model_dump(mode="json", exclude_none=True)


def _title(tool: Tool) -> str:
    from onrecord.projections.history.timeline_text import tool_title

    return tool_title(tool)
