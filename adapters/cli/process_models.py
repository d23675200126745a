"""`onrecord bpmn`: the tools of a process model, or what is wrong with how it declares them."""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from onrecord.adapters.cli.program.options import STANDARD_INPUT, AsJson, InputFile
from onrecord.adapters.cli.tool_commands import draw_definition, takes
from onrecord.adapters.presentation.control_characters import escaped, flat
from onrecord.adapters.terminal import output
from onrecord.domain.errors import InvalidModel, counted
from onrecord.domain.tools import ToolDefinition

if TYPE_CHECKING:
    from onrecord.adapters.bpmn.gateways import Gateway
    from onrecord.adapters.bpmn.lint import Finding
    from onrecord.adapters.bpmn.process_tools import Flavour, ResolvedTools
    from onrecord.adapters.bpmn.wiring import Wiring, Writing
    from onrecord.adapters.terminal.output import Level


class Reader(StrEnum):
    """Who decides which elements are tools."""

    PROCESS = "process"
    TASK = "task"


def bpmn(
    file: InputFile,
    sub_process: Annotated[
        str | None,
        typer.Option(
            "--sub-process",
            metavar="ID",
            help="The ad-hoc sub-process whose elements are the tools.",
            show_default="the only one, or the only one of an agent",
        ),
    ] = None,
    flavour: Annotated[
        Reader,
        typer.Option(help="Which are tools: as the engine says, or a task that reads the file."),
    ] = Reader.PROCESS,
    lint: Annotated[
        bool, typer.Option("--lint", help="List errors in its calls of fromAi instead.")
    ] = False,
    warn: Annotated[
        bool, typer.Option("--warn", help="With --lint: list what its tools leave unsaid, too.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show the tools that a BPMN process model gives to an agent, and their arguments.

    Piped: `tool` or the type of a gateway, name, what it takes, who writes its result and how,
    description. With `--lint` element, rule, what to do, `error` or `warning`; exit code 1 if there
    is any error. With `--warn` tools without documentation, or without a result, are listed too.

    Example: `onrecord bpmn desk.bpmn --sub-process Desk_Agent`
    """
    if lint and sub_process is not None:
        raise typer.BadParameter("--lint looks at the whole file: leave --sub-process out.")
    if warn and not lint:
        raise typer.BadParameter("--warn adds to what --lint lists: give both.")
    if not lint:
        _show(file, sub_process, flavour.value, as_json=as_json)
    elif not _check(file, flavour.value, warn=warn, as_json=as_json):
        raise typer.Exit(1)


def _show(file: Path, sub_process_id: str | None, flavour: Flavour, *, as_json: bool) -> None:
    """Write the tools and gateways of an ad-hoc sub-process; warnings go beside them."""
    from onrecord.adapters.bpmn.process_tools import tools_of
    from onrecord.adapters.bpmn.wiring import wiring_of

    with _printable_errors():
        model = _model(file)
        resolved = tools_of(model, sub_process_id, flavour=flavour)
        wiring = wiring_of(model, sub_process_id, flavour=flavour)
    if as_json:
        output.json_line(_document(resolved, wiring))
        return
    if output.is_drawn():
        _draw(resolved, wiring)
    else:
        for columns in _columns(resolved, wiring):
            output.plain(*columns)
    for warning in resolved.warnings:
        output.note(f"onrecord: {warning}")


def _check(file: Path, flavour: Flavour, *, warn: bool, as_json: bool) -> bool:
    """Write what is wrong with the calls of `fromAi` in a model; whether nothing is."""
    from onrecord.adapters.bpmn.lint import lint, lint_tools

    with _printable_errors():
        model = _model(file)
        findings, warnings = lint(model, flavour=flavour), lint_tools(model) if warn else ()
    if as_json:
        listed = {"findings": findings, **({"warnings": warnings} if warn else {})}
        output.json_line({name: [asdict(each) for each in found] for name, found in listed.items()})
        return not findings
    _write_findings(findings, "error")
    _write_findings(warnings, "warning")
    if findings or warnings:
        counts = [counted(len(findings), "error")]
        counts += [counted(len(warnings), "warning")] if warn else []
        output.note(f"onrecord: {', '.join(counts)}")
    else:
        output.sentence("All that it declares for an agent is well declared.")
    return not findings


def _write_findings(findings: Sequence[Finding], level: Level) -> None:
    for each in findings:
        if output.is_drawn():
            output.draw_breach(each.element, each.rule, each.message, level=level)
        else:
            output.plain(each.element, each.rule, each.message, level)


@contextmanager
def _printable_errors() -> Generator[None]:
    """Escape what errors show of a model: it is anyone's, and may hold control codes."""
    try:
        yield
    except InvalidModel as exc:
        raise InvalidModel(escaped(str(exc)), exc.code) from exc


def _model(file: Path) -> Path | bytes:
    """Return the file, or what standard input holds, no more than it takes to be too large."""
    from onrecord.adapters.bpmn.model import LARGEST

    return sys.stdin.buffer.read(LARGEST + 1) if file == STANDARD_INPUT else file


def _columns(resolved: ResolvedTools, wiring: Wiring) -> Iterator[tuple[str | None, ...]]:
    writings = dict(wiring.writings)
    for tool in resolved.tools:
        written = ", ".join(map(_writing, writings[tool.name]))
        yield "tool", tool.name, takes(tool), written, tool.description
    for gateway in resolved.gateways:
        written = ", ".join(map(_writing, writings[gateway.name]))
        yield gateway.type, gateway.name, None, written, gateway.description


def _writing(writing: Writing) -> str:
    return f"{writing.way} of {writing.element}"


def _draw(resolved: ResolvedTools, wiring: Wiring) -> None:
    """Draw each tool: its name and description, what it takes, who writes its result."""
    from rich.padding import Padding
    from rich.text import Text

    console = output.console()
    writings = dict(wiring.writings)
    console.print(Text(flat(resolved.source.name or ""), "bold"))
    offered: tuple[ToolDefinition | Gateway, ...] = (*resolved.tools, *resolved.gateways)
    for each in offered:
        kind = "" if isinstance(each, ToolDefinition) else f"  {flat(each.type)}"
        console.print(Text.assemble((f"\n{flat(each.name)}", "bold yellow"), (kind, "dim")))
        draw_definition(console, each)
        for writing in writings[each.name]:
            line = Text(f"result by the {flat(_writing(writing))}", "dim")
            console.print(Padding(line, (0, 0, 0, 2)))


def _document(resolved: ResolvedTools, wiring: Wiring) -> dict[str, object]:
    return {
        "source": resolved.source.model_dump(mode="json"),
        "tools": [tool.model_dump(mode="json", exclude_defaults=True) for tool in resolved.tools],
        "gateways": [asdict(gateway) for gateway in resolved.gateways],
        "collecting": asdict(wiring.collecting),
        "results": {
            tool: [asdict(writing) for writing in writings] for tool, writings in wiring.writings
        },
        "warnings": list(resolved.warnings),
    }
