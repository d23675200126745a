"""Forms of the page: what a browser sends when a button is pressed."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, time
from typing import Any, Final
from urllib.parse import parse_qs

from onrecord.adapters.service.bodies import body_of
from onrecord.adapters.service.problems import MALFORMED, WRONG_MEDIA_TYPE, Problem
from onrecord.adapters.service.route import Call

_LARGEST: Final = 16 << 10
_MOST_FIELDS: Final = 8
_MEDIA_TYPE: Final = "application/x-www-form-urlencoded"


async def form_of(call: Call[Any, Any]) -> dict[str, str]:
    """Return the fields of a small form, the first of each name; Problem where the body is none."""
    kind = call.request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != _MEDIA_TYPE:
        raise Problem(WRONG_MEDIA_TYPE, f"send {_MEDIA_TYPE}")
    limits = replace(call.limits, body=_LARGEST)
    body = await body_of(call.request, limits, call.share, is_json=False)
    try:
        fields = parse_qs(body.decode(), max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise Problem(MALFORMED, "the body is no form") from None
    return {name: values[0] for name, values in fields.items()}


def is_count(text: str) -> bool:
    """Return whether a field is a number from 0 on, as a form of the page writes it."""
    return text.isascii() and text.isdecimal() and len(text) < 19


def none_if_blank(value: object) -> object:
    """Return a field of a query, None where a form left it blank; a validator before all others."""
    return None if value == "" else value


def start_of_day(value: object) -> object:
    """Return a day as the time at which it begins (UTC), any other field as it is; a validator before all others."""
    if not isinstance(value, str):
        return value
    try:
        return datetime.combine(date.fromisoformat(value), time(), UTC)
    except ValueError:
        return value
