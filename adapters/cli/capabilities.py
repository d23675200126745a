"""`onrecord capabilities`: what models take, and which entry says so."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, cast, get_args

import typer

from onrecord.adapters.check.check import Verdict, check_request
from onrecord.adapters.cli import output
from onrecord.adapters.cli.output import counted, size
from onrecord.adapters.settings import capabilities, matrix_given
from onrecord.domain import jsontext
from onrecord.domain.documents import Modality
from onrecord.domain.errors import MalformedJson
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.api import names
from onrecord.projections.apis.capabilities import Capabilities, rows_of
from onrecord.projections.apis.members import member
from onrecord.projections.apis.rules import Violation

_MODALITIES: Final[tuple[Modality, ...]] = get_args(Modality)
_FLAGS: Final = ("reasoning", "signatures", "cache", "parallel_calls")


def show(api: str | None, model: str | None, file: Path | None, *, as_json: bool) -> None:
    """Write what a model takes; without one all that is said of an API, or of all of them."""
    if api is not None and model is not None:
        rows = [capabilities(api, model, file=file)]
    else:
        matrix = matrix_given(file)
        apis = names() if api is None else (api,)
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


# `onrecord check-request`: what a provider would refuse in a request, before it is sent.

_STANDARD_INPUT: Final = Path("-")


def check(file: Path, api: str, *, as_json: bool) -> bool:
    """Check the request in a file and tell what is wrong with it; whether nothing is.

    A file that cannot be read, or holds no JSON object, is wrong usage.
    """
    request = _request(file)
    checked = check_request(api, request)
    in_order = sorted(checked.violations, key=lambda violation: _place(request, violation.where))
    verdict = replace(checked, violations=tuple(in_order))
    if as_json:
        output.json_line(_document(verdict))
    else:
        _tell(verdict)
    return verdict.is_accepted


def _request(file: Path) -> JsonObject:
    try:
        read = sys.stdin.buffer.read() if file == _STANDARD_INPUT else file.read_bytes()
        return jsontext.read_object(read)
    except OSError as exc:
        raise typer.BadParameter(f"{file} cannot be read: {exc.strerror}") from exc
    except MalformedJson as exc:
        raise typer.BadParameter(f"{file} holds no request: {exc}") from exc


def _tell(verdict: Verdict) -> None:
    if output.is_drawn():
        _draw_verdict(verdict.violations)
    else:
        for violation in verdict.violations:
            output.plain(violation.where, violation.rule, violation.said, violation.advice)
    if verdict.types is None:
        output.told("onrecord: types were not checked: the API's SDK is not installed")
    if verdict.is_accepted:
        output.sentence("No rule is known that it breaks.")
    else:
        output.told(f"onrecord: {counted(len(verdict.violations), 'violation')}")


def _draw_verdict(violations: Iterable[Violation]) -> None:
    """Draw each breach below the other: its place and rule, what the provider says, what to do."""
    from rich.padding import Padding
    from rich.text import Text

    console = output.console()
    for violation in violations:
        where = output.flat(violation.where) or "the request"
        console.print(Text.assemble((where, "bold"), "  ", (violation.rule, "dim")))
        console.print(Padding(Text(output.flat(violation.said), "red"), (0, 0, 0, 2)))
        console.print(Padding(Text(f"→ {output.flat(violation.advice)}"), (0, 0, 1, 2)))


def _place(request: JsonObject, where: str) -> list[int]:
    """Return the place of a JSON pointer in a request: what is not there is at the end."""
    held: Any = request
    places: list[int] = []
    for step in where.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(held, list) and name.isdecimal():
            items = cast("list[Any]", held)
            places.append(int(name))
            held = items[int(name)] if int(name) < len(items) else None
        else:
            names = list(cast("JsonObject", held)) if isinstance(held, dict) else []
            places.append(names.index(name) if name in names else len(names))
            held = member(held, name)
    return places


def _document(verdict: Verdict) -> dict[str, object]:
    return {
        "api": verdict.api,
        "violations": [_listed(violation) for violation in verdict.violations],
        "types": verdict.types,
        "accepted": verdict.is_accepted,
    }


def _listed(violation: Violation) -> dict[str, object]:
    return {
        "where": violation.where,
        "rule": violation.rule,
        "said": violation.said,
        "advice": violation.advice,
    }
