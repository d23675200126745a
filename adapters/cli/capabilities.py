"""`onrecord capabilities`: what models take, and which entry says so."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, get_args

from onrecord.adapters.capability_files import capabilities, matrix_given
from onrecord.adapters.cli import output
from onrecord.adapters.cli.quantities import size
from onrecord.domain.documents import Modality
from onrecord.projections.api import FOLDERS
from onrecord.projections.apis.capabilities import Capabilities, rows_of

_MODALITIES: Final[tuple[Modality, ...]] = get_args(Modality)
_FLAGS: Final = ("reasoning", "signatures", "cache", "parallel_calls")


def show(api: str | None, model: str | None, file: Path | None, *, as_json: bool) -> None:
    """Write what a model takes; without one all that is said of an API, or of all of them."""
    if api is not None and model is not None:
        rows = [capabilities(api, model, file=file)]
    else:
        matrix = matrix_given(file)
        apis = FOLDERS if api is None else (api,)
        rows = [row for name in apis for row in rows_of(name, matrix.get(name))]
    if as_json:
        for row in rows:
            output.json_line(document(row))
    elif output.is_drawn():
        _draw(rows)
    else:
        for row in rows:
            output.plain(*_columns(row))


def document(row: Capabilities) -> dict[str, Any]:
    """Return what a model takes as JSON says it."""
    api, _, name = row.row.partition(" ")
    return {
        "api": api,
        "entry": name,
        "user": _ordered(row.user),
        "tool_result": _ordered(row.tool_result),
        "document_bytes": dict(row.document_bytes),
        **{flag: getattr(row, flag) for flag in _FLAGS},
        "context_tokens": row.context_tokens,
        "output_tokens": row.output_tokens,
    }


def _columns(row: Capabilities) -> tuple[object, ...]:
    told = document(row)
    return (
        told["api"],
        told["entry"],
        ",".join(told["user"]),
        ",".join(told["tool_result"]),
        ",".join(f"{kind}={most}" for kind, most in _limits(row)),
        ",".join(flag for flag in _FLAGS if told[flag]),
        row.context_tokens,
        row.output_tokens,
    )


def _draw(rows: list[Capabilities]) -> None:
    """Draw a table; of one row all that it tells, of several what is compared."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, header_style="dim", pad_edge=False)
    for heading in ("API", "entry", "in messages", "in results", "at most"):
        table.add_column(heading, overflow="fold")
    for heading in ("reads", "writes"):
        table.add_column(heading, justify="right", no_wrap=True)
    if len(rows) == 1:
        table.add_column("and", overflow="fold")
    before = ""
    for row in rows:
        told = document(row)
        table.add_row(
            Text("" if told["api"] == before else told["api"], "bold"),
            Text(output.flat(told["entry"])),
            " ".join(told["user"]),
            " ".join(told["tool_result"]),
            "\n".join(f"{size(most)} {' '.join(kinds)}" for most, kinds in _by_limit(row).items()),
            _tokens(row.context_tokens),
            _tokens(row.output_tokens),
            *(
                ["\n".join(flag.replace("_", " ") for flag in _FLAGS if told[flag])]
                if len(rows) == 1
                else []
            ),
        )
        before = told["api"]
    output.console().print(table)


def _limits(row: Capabilities) -> list[tuple[Modality, int]]:
    """Return the limits of what is taken at all."""
    taken = row.user | row.tool_result
    return [(kind, most) for kind, most in row.document_bytes.items() if kind in taken]


def _by_limit(row: Capabilities) -> dict[int, list[Modality]]:
    """Return limits, each with the kinds that have it."""
    found: dict[int, list[Modality]] = {}
    for kind, most in _limits(row):
        found.setdefault(most, []).append(kind)
    return found


def _tokens(most: int | None) -> str:
    return "" if most is None else f"{most:,}"


def _ordered(modalities: Iterable[Modality]) -> list[Modality]:
    return sorted(modalities, key=_MODALITIES.index)
