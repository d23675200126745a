"""`hansard check-request`: what a provider would refuse in a request, before it is sent."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import typer

from hansard.adapters.cli import output
from hansard.adapters.cli.quantities import counted
from hansard.adapters.request_check import Verdict, check_request
from hansard.domain import jsontext
from hansard.domain.errors import MalformedJson
from hansard.domain.jsontext import JsonObject
from hansard.projections.referee.violation import Violation

_STANDARD_INPUT: Final = Path("-")


def check(file: Path, api: str, *, as_json: bool) -> bool:
    """Check the request in a file and tell what is wrong with it; whether nothing is.

    A file that cannot be read, or holds no JSON object, is wrong usage.
    """
    verdict = check_request(api, _request(file))
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
    for violation in verdict.violations:
        output.plain(violation.where, violation.rule, violation.said, violation.advice)
    if verdict.types is None:
        output.told("hansard: types were not checked: the API's SDK is not installed")
    if verdict.is_accepted:
        sys.stdout.write("No rule is known that it breaks.\n")
    else:
        output.told(f"hansard: {counted(len(verdict.violations), 'violation')}")


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
