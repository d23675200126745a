"""`onrecord check-request`: what a provider would refuse in a request, before it is sent."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, cast

import typer

from onrecord.adapters.cli import output
from onrecord.adapters.cli.quantities import counted
from onrecord.adapters.request_check import Verdict, check_request
from onrecord.domain import jsontext
from onrecord.domain.errors import MalformedJson
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.members import member
from onrecord.projections.apis.rules import Violation

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
        _draw(verdict.violations)
    else:
        for violation in verdict.violations:
            output.plain(violation.where, violation.rule, violation.said, violation.advice)
    if verdict.types is None:
        output.told("onrecord: types were not checked: the API's SDK is not installed")
    if verdict.is_accepted:
        output.sentence("No rule is known that it breaks.")
    else:
        output.told(f"onrecord: {counted(len(verdict.violations), 'violation')}")


def _draw(violations: Iterable[Violation]) -> None:
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
