"""`onrecord replay`: the requests that were sent, and the proof that their bytes are still known."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from onrecord.adapters.cli import output
from onrecord.adapters.cli.naming import named
from onrecord.adapters.cli.quantities import counted, size
from onrecord.adapters.conversation.conversation import Talk
from onrecord.adapters.conversation.requests import replays
from onrecord.adapters.store import Store
from onrecord.domain.errors import InvalidInput
from onrecord.projections.matching.replay import Outcome, Sent, sent_in

if TYPE_CHECKING:
    from rich.table import Table


def replayed(store: Store, key: str, *, verify: bool, as_json: bool) -> bool:
    """Write the requests of a conversation; whether all of them are proven, if that was asked."""
    found = named(store, key)
    if found.key is None:
        raise InvalidInput("the conversation was forgotten: only its digests are left")
    talk = store.conversation(found.key)
    if not verify:
        _list(talk, as_json=as_json)
        return True
    outcomes: list[Outcome] = []
    for outcome in replays(talk):
        outcomes.append(outcome)
        if not as_json and not output.is_drawn():
            output.plain(*_columns(outcome.sent), _proof(outcome))
    if as_json:
        output.json_line(document(outcomes))
    elif output.is_drawn():
        output.console().print(table(outcomes))
        output.sentence(f"{summary(outcomes)}")
    else:
        output.told(summary(outcomes))
    return all(outcome.is_proven for outcome in outcomes)


def summary(outcomes: Iterable[Outcome]) -> str:
    """Return what all replays together prove, in a sentence."""
    all_of_them = list(outcomes)
    if not all_of_them:
        return "No request was sent."
    whole = sum(outcome.is_whole for outcome in all_of_them)
    again = sum(outcome.is_rendered is True for outcome in all_of_them)
    recipes = sum(outcome.is_rendered is not None for outcome in all_of_them)
    total = counted(len(all_of_them), "request")
    rendered = f"; {again} of {recipes} rendered again, byte for byte" if recipes else ""
    return f"{whole} of {total} hash to what was sent{rendered}."


def document(outcomes: Iterable[Outcome]) -> dict[str, object]:
    """Return the outcome of a replay as JSON says it."""
    listed = [
        {
            **_listed(outcome.sent),
            "whole": outcome.is_whole,
            "rendered": outcome.is_rendered,
            "remark": outcome.remark,
        }
        for outcome in outcomes
    ]
    return {
        "requests": listed,
        "whole": sum(bool(it["whole"]) for it in listed),
        "rendered": sum(it["rendered"] is True for it in listed),
        "proven": all(outcome.is_proven for outcome in outcomes),
    }


def table(outcomes: Iterable[Outcome]) -> Table:
    """Return the outcomes as a table to draw."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=box.SIMPLE_HEAD, header_style="dim", pad_edge=False)
    drawn.add_column("at", justify="right", no_wrap=True)
    drawn.add_column("sent to", overflow="ellipsis", no_wrap=True)
    drawn.add_column("size", justify="right", no_wrap=True)
    drawn.add_column("SHA-256", no_wrap=True)
    drawn.add_column("replay", overflow="fold")
    for outcome in outcomes:
        sent = outcome.sent.event
        drawn.add_row(
            str(outcome.sent.version),
            output.flat(sent.model or sent.api),
            size(sent.template.size),
            f"{sent.template.sha256[:12]}…",
            Text(output.flat(_proof(outcome)), "green" if outcome.is_proven else "bold red"),
        )
    return drawn


def _list(talk: Talk, *, as_json: bool) -> None:
    for sent in sent_in(talk.read()):
        if as_json:
            output.json_line(_listed(sent))
        else:
            output.plain(*_columns(sent))


def _columns(sent: Sent) -> tuple[object, ...]:
    template = sent.event.template
    return (sent.version, sent.event.api, sent.event.model, template.size, template.sha256)


def _listed(sent: Sent) -> dict[str, object]:
    event = sent.event
    return {
        "version": sent.version,
        "request": str(sent.request),
        "line": None if event.line is None else str(event.line),
        "api": event.api,
        "model": event.model,
        "size": event.template.size,
        "sha256": event.template.sha256,
        "cut": list(event.template.cut),
    }


def _proof(outcome: Outcome) -> str:
    if outcome.remark:
        return outcome.remark if not outcome.is_whole else f"whole; {outcome.remark}"
    return "rendered again" if outcome.is_rendered else "whole"
