"""`onrecord request`: the next request, what was done to the record for it, and where documents go."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from onrecord.adapters.cli import output
from onrecord.adapters.cli.output import counted, named, size
from onrecord.adapters.conversation.conversation import Talk
from onrecord.adapters.conversation.requests import replays
from onrecord.adapters.store import Store
from onrecord.domain import jsontext
from onrecord.domain.errors import InvalidInput
from onrecord.projections.api import known_api
from onrecord.projections.apis.request import Request
from onrecord.projections.history.report import Deed, Where
from onrecord.projections.history.window import MessageWindow, Window
from onrecord.projections.matching.replay import Outcome, Sent, sent_in

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


_STEP: Final = 1
_LONG: Final = 200
_SHOWN: Final = 48
_ONE: Final = {"input": "item", "contents": "content"}
"""What one is called of those that a member of a request holds."""
_DEEDS: Final[dict[Deed, str]] = {
    "repaired": "yellow",
    "left out": "red",
    "moved": "cyan",
    "translated": "magenta",
    "noted": "dim",
}

_WAYS: Final[dict[Where, str]] = {"inline": "green", "behind": "cyan", "words": "red"}


@dataclass(frozen=True, slots=True)
class Wish:
    """Which request is wanted; `model` is whom it is for."""

    api: str
    model: str | None = None
    at: int | None = None
    window: Window | MessageWindow | None = None
    cache: bool = False
    thinking: Literal["keep", "drop"] = "keep"


def window_wished(
    exchanges: int | None,
    messages: int | None,
    strategy: Literal["message-window", "sliding-window"],
) -> Window | MessageWindow | None:
    """Return the window by messages where that is wished, else the one by exchanges, if any."""
    if messages is not None:
        return MessageWindow(messages=messages, strategy=strategy)
    return None if exchanges is None else Window(exchanges=exchanges, step=_STEP)


def ask(store: Store, key: str, wish: Wish, *, as_json: bool) -> None:
    """Write the request that a conversation makes."""
    made = request(store, key, wish)
    if as_json:
        notes = [note._asdict() for note in made.report]
        routes = [route._asdict() for route in made.report.routes]
        told = {"request": dict(made.body), "report": notes, "routes": routes}
        output.json_line({"api": made.api, **told})
    elif output.is_drawn():
        draw(output.console(), made)
    else:
        output.raw(jsontext.write(dict(made.body)) + b"\n")
        for note in made.report:
            output.told(f"onrecord: {note}")
        for route in made.report.routes:
            output.told(f"onrecord: {route}")


def request(store: Store, key: str, wish: Wish) -> Request:
    """Return the request that a conversation makes."""
    found = named(store, key)
    if found.key is None:
        raise InvalidInput("the conversation was forgotten: there is nothing left to send")
    return store.conversation(found.key).request(
        wish.api,
        at=wish.at,
        window=wish.window,
        thinking=wish.thinking,
        cache=wish.cache,
        model=wish.model,
    )


def draw(console: Console, made: Request) -> None:
    """Draw a request as JSON with its long strings shortened, then its report."""
    from rich.json import JSON

    console.print(JSON(jsontext.write(_shortened(dict(made.body))).decode(), indent=2))
    draw_report(console, made)


def draw_report(console: Console, made: Request) -> None:
    """Draw what a request holds, each note of its report, and where documents go."""
    from rich.table import Table
    from rich.text import Text

    sizes = (f"{name} {size(len(part))}" for name, part in made.body_parts().items())
    messages = counted(*said_in(made))
    console.print(Text.assemble((messages, "bold"), (f"  {', '.join(sizes)}", "dim")))
    if not made.report:
        console.print(Text("everything goes as it was recorded", "green"))
    notes = Table.grid(padding=(0, 2))
    notes.add_column(justify="right", style="dim", min_width=3)
    for note in made.report:
        place = "" if note.version is None else str(note.version)
        why = Text.assemble(output.flat(note.why), (f"  {note.rule}", "dim"))
        notes.add_row(place, Text(note.deed, _DEEDS[note.deed]), why)
    console.print(notes)
    _draw_routes(console, made)


def _draw_routes(console: Console, made: Request) -> None:
    """Draw where each document of a request goes, and which entry of the capabilities decided."""
    from rich.table import Table
    from rich.text import Text

    routes = Table.grid(padding=(0, 2))
    routes.add_column(justify="right", style="dim", min_width=3)
    for route in made.report.routes:
        what = f"{route.media_type} of a {route.holder} {route.why}"
        told = Text.assemble(output.flat(what), (f"  {route.row}", "dim"))
        routes.add_row(str(route.version), Text(route.where, _WAYS[route.where]), told)
    if made.report.routes:
        console.print(routes)


def said_in(made: Request) -> tuple[int, str]:
    """Return how many messages a request holds, and what its API calls one of them."""
    member = known_api(made.api).messages
    return len(made.body[member]), _ONE.get(member, "message")


def _shortened(value: Any) -> Any:
    match value:
        case str() if len(value) > _LONG:
            return f"{value[:_SHOWN]}… ({len(value):,} characters)"
        case dict():
            members = cast("dict[str, Any]", value).items()
            return {name: _shortened(held) for name, held in members}
        case list():
            return [_shortened(item) for item in cast("list[Any]", value)]
        case _:
            return value


# `onrecord replay`: the requests that were sent, and the proof that their bytes are still known.


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
