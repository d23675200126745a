"""A report of the audit as one page of HTML: no script, nothing from elsewhere, made to be printed.

Whatever is anybody's text is escaped: markup as entities, and what would hide or turn a text as
a visible escape. The style is named by its digest in the page's own policy, so nothing else styles it.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from importlib.resources import files
from typing import Final, NamedTuple

from onrecord.adapters.presentation.audit_entries import audit_cells
from onrecord.adapters.presentation.control_characters import escaped
from onrecord.adapters.presentation.sizes_and_times import moment
from onrecord.adapters.presentation.view_entries import conversation_name
from onrecord.adapters.reports.audit_report import AuditReport, Heading, Tally
from onrecord.domain.documents import short_id
from onrecord.domain.header import time_of, timestamp
from onrecord.projections.views.audit import AuditEntry

_DIGITS: Final = 8
"""How much of a digest is shown in a cell."""

_FEW: Final = 12
"""How many names of a kind stand in one column; more have the whole width."""

_SUMS: Final = {
    "type": "What",
    "outcome": "Outcome",
    "actor": "Who",
    "model": "Model",
    "tool": "Tool",
}
_COLUMNS: Final = (
    *("Recorded", "Who", "For", "Conversation", "Event", "What", "Model or tool"),
    *("Outcome", "Documents", "Rules", "About"),
)
_NOT_PROVEN: Final = (
    "This report tells who did what and when. It holds nothing of what was said. It is as true as "
    "the program and the database that it was made with: a bundle of onrecord evidence proves "
    "the events of conversations offline, and their erasures."
)
_KEYS: Final = {
    False: (
        "Conversations are named by their keys, which may be personal: "
        "onrecord audit --by-id leaves keys out."
    ),
    True: "Conversations are named by their ids: keys are left out.",
}
"""Whether a report names conversations by their keys, by whether it is by id."""


class Fact(NamedTuple):
    """A line of the heading: what it is, and what it says."""

    name: str
    text: str


def page_pieces(report: AuditReport) -> Iterator[bytes]:
    """Yield the page, piece by piece: heading, entries, erasures and holds, and what it comes to.

    What it comes to is written last, once all is counted, and shown first.
    """
    for text in _texts(report):
        yield text.encode("utf-8", "replace")


def _texts(report: AuditReport) -> Iterator[str]:
    style = files("onrecord.adapters.reports").joinpath("report.css").read_text("utf-8")
    yield _beginning(style)
    yield _head(report.heading, report.remarks)
    yield f'<section class="entries"><h2>Entries</h2><p>{_KEYS[report.by_id]}</p>'
    yield from _table(report.entries(), "Nothing was found.")
    yield '</section><section class="upkeep"><h2>Erasures, legal holds and retention classes</h2>'
    yield "<p>All of that time, whoever did them.</p>"
    yield from _table(report.upkeep(), "There were none.")
    yield "</section>"
    yield _summary(report.tally)
    yield f"<footer><p>{_NOT_PROVEN}</p></footer></main></body></html>\n"


def _beginning(style: str) -> str:
    digest = b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="referrer" content="no-referrer">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Audit report</title>\n<style>{style}</style></head>\n<body><main>"
    )


# What stands above the entries.


def _head(heading: Heading, remarks: Sequence[str]) -> str:
    asked = [Fact(*each) for each in heading.asked] or [Fact("Asked", "for everything")]
    made = f"{time_of(heading.made_at):%d %B %Y, %H:%M:%S} UTC, by {heading.made_by}"
    log = [
        Fact("Log", str(heading.log_id)),
        Fact("Incarnation", str(heading.incarnation)),
        Fact("Tenant", str(heading.tenant)),
        Fact("Store", heading.url),
        Fact("Read up to", f"position {heading.position:,}"),
        *_sealed(heading),
    ]
    warned = "".join(f'<p class="remark">{_shown(remark)}</p>' for remark in remarks)
    return (
        f'<header><h1>Audit report</h1><p class="made">{_shown(made)}</p>{warned}'
        f'<div class="facts">{_facts("What was asked", asked)}{_facts("Which log", log)}</div></header>\n'
    )


def _sealed(heading: Heading) -> Iterator[Fact]:
    if not heading.seals:
        yield Fact("Sealed", "no seal is known here")
    for sealed, place in heading.seals:
        checkpoint = sealed.checkpoint
        yield Fact(
            f"Shard {checkpoint.shard} sealed",
            f"to {checkpoint.size:,} at {place} ({timestamp(checkpoint.sealed_at)}), "
            f"root {checkpoint.root}",
        )


def _facts(title: str, facts: Iterable[Fact]) -> str:
    lines = "".join(f"<dt>{_shown(fact.name)}</dt><dd>{_shown(fact.text)}</dd>" for fact in facts)
    return f"<section><h2>{title}</h2><dl>{lines}</dl></section>"


# The entries.


def _table(entries: Iterable[AuditEntry], nothing: str) -> Iterator[str]:
    headings = "".join(f"<th>{heading}</th>" for heading in _COLUMNS)
    is_empty = True
    for entry in entries:
        if is_empty:
            yield f"<table><thead><tr>{headings}</tr></thead>\n<tbody>"
        is_empty = False
        yield _row(entry)
    yield f'<p class="nothing">{nothing}</p>' if is_empty else "</tbody></table>\n"


def _row(entry: AuditEntry) -> str:
    shown = audit_cells(entry, conversation_name(entry))
    documents = " ".join(short_id(_with_dash(digest)) for digest in entry.documents)
    rules = (entry.policy, entry.deployment, entry.sha256 and f"sha256 {entry.sha256[:_DIGITS]}")
    cells = (
        ("time", moment(shown.recorded_at)),
        *(("name", name) for name in (shown.actor, shown.on_behalf_of, shown.conversation)),
        *(("number", shown.version), ("word", shown.type), ("name", shown.model or shown.tool)),
        *((f"word {shown.outcome or ''}".strip(), shown.outcome), ("code", documents)),
        *(("name", " · ".join(filter(None, rules))), ("text", shown.about)),
    )
    return f"<tr>{''.join(_cell(kind, value) for kind, value in cells)}</tr>\n"


def _with_dash(digest: str) -> str:
    return f"{digest[:_DIGITS]}-{digest[_DIGITS:]}"


def _cell(kind: str, value: object) -> str:
    return f'<td class="{kind}">{"" if value is None else _shown(str(value))}</td>'


# What it comes to.


def _summary(tally: Tally) -> str:
    kinds = [(title, tally.kinds[kind].most_common()) for kind, title in _SUMS.items()]
    sums = "".join(_sums(title, counts) for title, counts in kinds if counts)
    return (
        f'<section class="summary"><p class="count"><b>{tally.count:,}</b> {_spanned(tally)}</p>'
        f'<div class="sums">{sums}</div></section>\n'
    )


def _spanned(tally: Tally) -> str:
    noun = "entry" if tally.count == 1 else "entries"
    if tally.first_at is None or tally.last_at is None:
        return noun
    return f"{noun}, from {moment(tally.first_at)} to {moment(tally.last_at)}"


def _sums(title: str, counts: Sequence[tuple[str, int]]) -> str:
    listed = "".join(
        f"<div><dt>{_shown(name)}</dt><dd>{count:,}</dd></div>" for name, count in counts
    )
    kind = ' class="long"' if len(counts) > _FEW else ""
    return f"<section{kind}><h3>{title}</h3><dl>{listed}</dl></section>"


def _shown(text: str) -> str:
    """Return anybody's text as HTML: what would hide or turn it stands there as an escape."""
    return escape(escaped(text))
