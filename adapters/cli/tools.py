"""`onrecord tools`: what a model is told that it may call, where that comes from, and since when."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from onrecord.adapters.cli import output
from onrecord.adapters.cli.output import Named, counted, named
from onrecord.adapters.conversation.queries import declaration, declarations, declared
from onrecord.adapters.store import Store
from onrecord.adapters.streams.lineage import Stretch, lineage
from onrecord.domain import jsontext
from onrecord.domain.errors import InvalidInput
from onrecord.domain.header import timestamp
from onrecord.domain.tools import ToolSource
from onrecord.projections.apis.declared_tools import (
    Declared,
    Tool,
    definition_of,
    parameters,
    told_to,
)
from onrecord.projections.history.timeline_text import tool_name

if TYPE_CHECKING:
    from rich.console import Console

_DIGITS: Final = 8
"""How much of a digest is shown: enough to tell two apart."""


def tools(store: Store, key: str, at: int | None, *, api: str | None, as_json: bool) -> None:
    """Write the tools in force, or, for an API, the JSON that tells it of them."""
    found, stretches = _main_line(store, key, at)
    in_force = declared(store.backend, stretches)
    if api is not None:
        _tell(in_force, api, as_json=as_json)
    elif as_json:
        output.json_line(_document(in_force))
    elif output.is_drawn():
        _draw(output.console(), found, in_force)
    else:
        for tool in in_force.tools:
            output.plain(*_columns(in_force, tool))


def history(store: Store, key: str, at: int | None, *, as_json: bool) -> None:
    """Write every declaration of tools, the first one first."""
    found, stretches = _main_line(store, key, at)
    told = list(_told(store, stretches))
    if as_json:
        for when, each in told:
            output.json_line({"recorded_at": when, **_document(each)})
    elif output.is_drawn():
        _draw_history(output.console(), found, told)
    else:
        for when, each in told:
            output.plain(each.version, when, _short(each.sha256), _origins(each), _names(each))


def _main_line(store: Store, key: str, at: int | None) -> tuple[Named, tuple[Stretch, ...]]:
    found = named(store, key)
    last = found.head.version
    if at is not None and at > last:
        raise InvalidInput(f"there is no version {at}: the conversation is at {last}")
    return found, lineage(store.backend, found.conversation_id, last if at is None else at)


def _told(store: Store, stretches: tuple[Stretch, ...]) -> Iterator[tuple[str, Declared]]:
    """Yield each declaration with the time at which it was recorded, the first one first."""
    for recorded in reversed(list(declarations(store.backend, stretches))):
        when = timestamp(recorded.recorded_at)
        yield when, declaration(store.backend, stretches, recorded)


def _tell(in_force: Declared, api: str, *, as_json: bool) -> None:
    """Write what a request to an API says of the tools; the report goes beside it."""
    members, report = told_to(in_force.tools, api)
    if as_json:
        notes = [note._asdict() for note in report]
        output.json_line({"api": api, **members, "report": notes})
        return
    if output.is_drawn():
        from rich.json import JSON

        output.console().print(JSON(jsontext.write(members).decode(), indent=2))
    else:
        output.raw(jsontext.write(members) + b"\n")
    for note in report:
        output.told(f"onrecord: {note}")


def _draw(console: Console, found: Named, in_force: Declared) -> None:
    """Draw each tool: its name and description, what it takes, where it comes from."""
    from rich.padding import Padding
    from rich.text import Text

    console.print(
        Text.assemble((output.flat(str(found)), "bold"), (f"  {_since(in_force)}", "dim"))
    )
    for tool in in_force.tools:
        definition = definition_of(tool)
        console.print(Text(f"\n{output.flat(tool_name(tool))}", "bold yellow"))
        if definition is not None and definition.description:
            console.print(Padding(Text(output.flat(definition.description)), (0, 0, 0, 2)))
        for parameter in () if definition is None else parameters(definition):
            about = f"  {output.flat(parameter.description)}" if parameter.description else ""
            line = Text.assemble((output.flat(str(parameter)), "cyan"), (about, "dim"))
            console.print(Padding(line, (0, 0, 0, 4)))
        console.print(
            Padding(Text(f"from {_place(in_force.source_of(tool))}", "dim"), (0, 0, 0, 2))
        )


def _draw_history(console: Console, found: Named, told: list[tuple[str, Declared]]) -> None:
    from rich.table import Table
    from rich.text import Text

    console.print(Text(output.flat(str(found)), "bold"))
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(justify="right", style="dim", no_wrap=True)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(style="dim", no_wrap=True)
    for when, each in told:
        names = Text(output.flat(_names(each)) or "none", "yellow")
        places = output.flat(_origins(each))
        table.add_row(f"{each.version}", _to_seconds(when), _short(each.sha256), names, places)
    console.print(table)


def _to_seconds(when: str) -> str:
    return when[:19].replace("T", " ")


def _since(in_force: Declared) -> str:
    if not in_force.version:
        return "no tools were declared"
    many = counted(len(in_force.tools), "tool")
    return f"{many} since version {in_force.version} · {_short(in_force.sha256)}"


def _columns(in_force: Declared, tool: Tool) -> tuple[object, ...]:
    """Return the columns of a tool: what it is, takes, says of itself, and where it comes from."""
    definition = definition_of(tool)
    source = in_force.source_of(tool)
    takes = "" if definition is None else ", ".join(map(str, parameters(definition)))
    return (
        tool_name(tool),
        takes,
        None if definition is None else definition.description,
        *((source.origin, source.name, source.version) if source else (None, None, None)),
        _short(source.sha256) if source else None,
        in_force.version,
    )


def _place(source: ToolSource | None) -> str:
    """Return where a tool comes from, in words."""
    if source is None:
        return "a source that was not told"
    told = (source.origin, source.name, source.version, _short(source.sha256))
    return " ".join(output.flat(part) for part in told if part)


def _origins(each: Declared) -> str:
    places = ((source.origin, source.name) for source in each.sources)
    return ", ".join(" ".join(part for part in place if part) for place in places)


def _names(each: Declared) -> str:
    return ", ".join(tool_name(tool) for tool in each.tools)


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
    source = in_force.source_of(tool)
    return {
        "name": tool_name(tool),
        **tool.model_dump(mode="json", exclude_defaults=True),
        "kind": tool.kind,
        "source": None if source is None else _source(source),
    }


def _source(source: ToolSource) -> dict[str, object]:
    return source.model_dump(mode="json", exclude_none=True)
