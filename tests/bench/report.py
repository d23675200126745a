"""What is told: a JSON line a measure on stdout; progress and a table for people on stderr."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

from rich.console import Console
from rich.table import Table

_CONSOLE: Final = Console(stderr=True)
_WIDTH: Final = 132


def say(text: str) -> None:
    """Tell a waiting person what is going on."""
    _CONSOLE.print(f"[dim]… {text}[/dim]", highlight=False)


def tell(line: dict[str, Any]) -> None:
    """Print a JSON line."""
    print(json.dumps(line), flush=True)


def draw(lines: Iterable[dict[str, Any]]) -> None:
    """Draw the table of all measures: the figures, the aim, and whether it was met."""
    table = Table(title="medians, quartiles in brackets", title_justify="left", box=None)
    table.add_column("measure", no_wrap=True)
    for heading in ("ours", "peer", "ratio"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("aim", no_wrap=True)
    table.add_column("")
    for line in lines:
        table.add_row(
            line["name"],
            _figures(line.get("ours"), line["unit"]),
            _figures(line.get("peer"), line["unit"]),
            _ratio(line),
            line.get("aim") or "",
            {True: "[green]met[/green]", False: "[red]missed[/red]", None: ""}[line.get("met")],
        )
    _CONSOLE.print(table, width=max(_WIDTH, _CONSOLE.width), crop=False, no_wrap=True)


def _figures(found: dict[str, Any] | None, unit: str) -> str:
    if found is None:
        return ""
    low, high = found["spread"]
    return f"{found['median']:g} {unit} [dim]({low:g}-{high:g})[/dim]"


def _ratio(line: dict[str, Any]) -> str:
    if line.get("ratio") is None:
        return ""
    low, high = line["ratio_spread"]
    return f"{line['ratio']:.2f} [dim]({low:.2f}-{high:.2f})[/dim]"
