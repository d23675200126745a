"""`onrecord capabilities`: what models take, and which entry says so."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, get_args

import typer

from onrecord.adapters.cli.program.options import AsJson, existing_file, known_api
from onrecord.adapters.presentation.control_characters import flat
from onrecord.adapters.presentation.sizes_and_times import size
from onrecord.adapters.terminal import output
from onrecord.domain.documents import Modality
from onrecord.domain.errors import InvalidProvider
from onrecord.projections.api import names

if TYPE_CHECKING:
    from onrecord.projections.apis.capabilities import Capabilities

_MODALITIES: Final[tuple[Modality, ...]] = get_args(Modality)
_FLAGS: Final = ("reasoning", "signatures", "cache", "parallel_calls")


def capabilities(
    api: Annotated[
        str | None,
        typer.Argument(
            metavar="API",
            parser=known_api,
            help="The wire format.",
            show_default="all",
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Argument(
            metavar="MODEL", help="The model that it is about.", show_default="every entry"
        ),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            parser=existing_file,
            help="What lies over the entries that come with Onrecord.",
            show_default="$ONRECORD_CAPABILITIES",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show which documents an API and a model accept, where and how large, and which entry says so.

    Piped: API, entry, kinds of documents in messages, in results, the most bytes of a kind, what else
    it does, tokens it reads, tokens it writes.

    Example: `onrecord capabilities openai-chat gpt-4o-mini`
    """
    rows = _rows(api, model, file)
    output.entries(rows, _document, _columns, draw=lambda: _draw(rows), as_json=as_json)


def _rows(api: str | None, model: str | None, file: Path | None) -> list[Capabilities]:
    """Return what a model takes; without one all that is said of an API, or of all of them."""
    from onrecord.adapters.settings import capabilities, matrix_given
    from onrecord.projections.apis.capabilities import rows_of

    if api is not None and model is not None:
        return [capabilities(api, model, file=file)]
    matrix = matrix_given(file)
    if api is not None:
        return list(rows_of(api, matrix.get(api)))
    rows: list[Capabilities] = []
    for name in names():
        # A package that cannot be used takes no rows away from the others.
        with suppress(InvalidProvider):
            rows += rows_of(name, matrix.get(name))
    return rows


def _document(row: Capabilities) -> dict[str, Any]:
    """Return what a model takes as JSON says it."""
    api, _, name = row.row.partition(" ")
    return {
        "api": api,
        "entry": name,
        "key": row.key,
        "user": _ordered(row.user),
        "tool_result": _ordered(row.tool_result),
        "document_bytes": dict(row.document_bytes),
        **{flag: getattr(row, flag) for flag in _FLAGS},
        "context_tokens": row.context_tokens,
        "output_tokens": row.output_tokens,
    }


def _columns(row: Capabilities) -> tuple[object, ...]:
    shown = _document(row)
    return (
        shown["api"],
        shown["entry"],
        ",".join(shown["user"]),
        ",".join(shown["tool_result"]),
        ",".join(f"{kind}={most}" for kind, most in _limits(row)),
        ",".join(flag for flag in _FLAGS if shown[flag]),
        row.context_tokens,
        row.output_tokens,
    )


def _draw(rows: list[Capabilities]) -> None:
    """Draw a table; of one row all that it tells, of several what is compared."""
    if len(rows) == 1:
        _draw_one(rows[0])
        return
    for api, of_api in groupby(rows, key=lambda row: row.row.partition(" ")[0]):
        _draw_api(api, list(of_api))
    output.console().print("m: in messages, r: in results", style="dim")


def _draw_one(row: Capabilities) -> None:
    from rich.table import Table
    from rich.text import Text

    shown = _document(row)
    limits = ", ".join(f"{size(most)} {' '.join(kinds)}" for most, kinds in _by_limit(row).items())
    flags = ", ".join(flag.replace("_", " ") for flag in _FLAGS if shown[flag])
    grid = Table.grid(padding=(0, 2))
    for name, value in (
        ("in messages", " ".join(shown["user"])),
        ("in results", " ".join(shown["tool_result"])),
        ("at most", limits),
        ("reads", _tokens(row.context_tokens)),
        ("writes", _tokens(row.output_tokens)),
        ("and", flags),
        ("key", shown["key"]),
    ):
        if value:
            grid.add_row(Text(name, "dim"), Text(flat(value)))
    output.console().print(Text(f"{shown['api']} {flat(shown['entry'])}", "bold"))
    output.console().print(grid)


def _draw_api(api: str, rows: list[Capabilities]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="dim", pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column(Text(api, "bold not dim"), overflow="fold")
    for kind in _MODALITIES:
        table.add_column(kind, no_wrap=True)
    for heading in ("reads", "writes"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        holders = (("m", row.user), ("r", row.tool_result))
        marks = [" ".join(m for m, taken in holders if kind in taken) for kind in _MODALITIES]
        tokens = (_tokens(row.context_tokens), _tokens(row.output_tokens))
        table.add_row(Text(flat(_document(row)["entry"])), *marks, *tokens)
    output.console().print(table)
    output.console().print()


def _limits(row: Capabilities) -> list[tuple[Modality, int]]:
    """Return the limits of what is taken at all."""
    taken = row.user | row.tool_result
    return [(kind, most) for kind, most in row.document_bytes.items() if kind in taken]


def _by_limit(row: Capabilities) -> dict[int, list[Modality]]:
    """Return limits, each with the kinds that have it."""
    limits: dict[int, list[Modality]] = {}
    for kind, most in _limits(row):
        limits.setdefault(most, []).append(kind)
    return limits


def _tokens(most: int | None) -> str:
    return "" if most is None else f"{most:,}"


def _ordered(modalities: Iterable[Modality]) -> list[Modality]:
    return sorted(modalities, key=_MODALITIES.index)
