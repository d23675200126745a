"""The commands about process models: their arguments and their help."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from onrecord.adapters.cli.commands.options import AsJson, readable


class Reader(StrEnum):
    """Whose way it is to say which elements are tools."""

    PROCESS = "process"
    TASK = "task"


def bpmn(
    file: Annotated[Path, typer.Argument(callback=readable, help="`-`: standard input.")],
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
        bool, typer.Option("--lint", help="Say what is wrong with its calls of fromAi instead.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show the tools that a process model in BPMN gives to an agent, and what each takes.

    Piped: `tool` or the type of a gateway, name, what it takes, who writes its result and how,
    description. With `--lint` element, rule, what to do; exit code 1 if there is any.

    Example: `onrecord bpmn desk.bpmn --sub-process Desk_Agent`
    """
    from onrecord.adapters.cli.process_models import check, show

    if lint and sub_process is not None:
        raise typer.BadParameter("--lint looks at the whole file: leave --sub-process out.")
    if not lint:
        show(file, sub_process, flavour.value, as_json=as_json)
    elif not check(file, flavour.value, as_json=as_json):
        raise typer.Exit(1)
