"""Filters of the templates: what a conversation says becomes text that steers nothing; pure."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from functools import cache
from typing import Any, Final
from urllib.parse import quote

import nh3
from markdown_it import MarkdownIt
from markupsafe import Markup

from onrecord.adapters.presentation.control_characters import visible
from onrecord.adapters.presentation.sizes_and_times import moment, size
from onrecord.domain.errors import counted

_LONGEST_MARKDOWN: Final = 10_000
"""Longer texts are shown as they are: to lay them out takes too long. So are tables, whose cells may be empty."""

_TAGS: Final = frozenset(
    {
        *("p", "br", "hr", "blockquote", "pre", "code", "em", "strong", "s"),
        *("ul", "ol", "li", "h1", "h2", "h3", "h4", "h5", "h6", "a"),
    }
)
_ATTRIBUTES: Final = {"a": {"href", "title"}, "ol": {"start"}}
_SCHEMES: Final = frozenset({"https", "http", "mailto"})


def markdown(text: str) -> Markup:
    """Return the markup of a text in Markdown: no HTML of its own, no pictures, only plain links."""
    readable = visible(text)
    if len(readable) > _LONGEST_MARKDOWN:
        return Markup('<p class="plain">{}</p>').format(readable)
    return Markup(
        nh3.clean(
            _markdown_it().render(readable),
            tags=set(_TAGS),
            attributes={name: set(each) for name, each in _ATTRIBUTES.items()},
            url_schemes=set(_SCHEMES),
            link_rel="noopener noreferrer nofollow",
        )
    )


def indented(value: Any) -> str:
    """Return a value as indented JSON, each character that steers as its escape."""
    return visible(json.dumps(value, indent=2, ensure_ascii=False))


def segment(text: str) -> str:
    """Return a text as one segment of a path."""
    return quote(text, safe="")


_LENGTHS: Final = (
    *((1_000, 1, "µs"), (1_000_000, 1_000, "ms"), (60_000_000, 1_000_000, "s")),
    *((3_600_000_000, 60_000_000, "min"),),
)


def lasting(microseconds: int) -> str:
    """Return how long something took, in one unit: `812 ms`, `3.4 s`, `12 min`."""
    for limit, unit, name in _LENGTHS:
        if microseconds < limit:
            return f"{_number(microseconds / unit, 0 if unit < 1_000_000 else 1)} {name}"
    return f"{_number(microseconds / 3_600_000_000, 1)} h"


def _number(number: float, decimals: int) -> str:
    return f"{number:,.{decimals}f}".removesuffix(".0")


def dollars(cost: Decimal) -> str:
    """Return a price in dollars, with four decimals where it is less than one."""
    if cost >= 1:
        return f"${cost:,.2f}"
    return f"${cost:.4f}" if cost >= Decimal("0.0001") or not cost else f"${cost:.6f}"


FILTERS: Final[dict[str, Callable[..., Any]]] = {
    "visible": visible,
    "moment": moment,
    "size": size,
    "counted": counted,
    "markdown": markdown,
    "indented": indented,
    "segment": segment,
    "lasting": lasting,
    "dollars": dollars,
}


@cache
def _markdown_it() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False})
