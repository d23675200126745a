"""What is told: a JSON line a measure on stdout; progress and a table for people on stderr."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

from rich.console import Console
from rich.table import Table

_CONSOLE: Final = Console(stderr=True)
_NARROWEST: Final = 120


def say(text: str) -> None:
    """Tell a waiting person what is going on."""
    _CONSOLE.print(f"[dim]… {text}[/dim]", highlight=False)


def tell(line: dict[str, Any]) -> None:
    """Print a JSON line."""
    print(json.dumps(line), flush=True)


def draw(lines: Iterable[dict[str, Any]]) -> None:
    """Draw the table of all measures: the figures, the aim, and whether it was met."""
    table = Table(title="medians; quartiles of the ratio in brackets", box=None)
    table.add_column("measure", no_wrap=True)
    for heading in ("ours", "peer", "ratio"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("aim", no_wrap=True)
    table.add_column("", no_wrap=True)
    for line in lines:
        table.add_row(
            line["name"],
            _figure(line.get("ours"), line["unit"]),
            _figure(line.get("peer"), line["unit"]),
            _ratio(line),
            line.get("aim") or "",
            {True: "[green]met[/green]", False: "[red]missed[/red]", None: ""}[line.get("met")],
        )
    _CONSOLE.width = max(_CONSOLE.width, _NARROWEST)
    _CONSOLE.print(table)


def _figure(found: dict[str, Any] | None, unit: str) -> str:
    return "" if found is None else f"{found['median']:g} {unit}"


def _ratio(line: dict[str, Any]) -> str:
    if line.get("ratio") is None:
        return ""
    low, high = line["ratio_spread"]
    return f"{line['ratio']:.2f} [dim]({low:.2f}-{high:.2f})[/dim]"
