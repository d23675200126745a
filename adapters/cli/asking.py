"""`onrecord request`: the next request, what was done to the record for it, and where documents go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from onrecord.adapters.cli import output
from onrecord.adapters.cli.naming import named
from onrecord.adapters.cli.quantities import counted, size
from onrecord.adapters.store import Store
from onrecord.domain import jsontext
from onrecord.domain.errors import InvalidInput
from onrecord.projections.api import known_api
from onrecord.projections.apis.request import Request
from onrecord.projections.history.report import Deed, Where
from onrecord.projections.history.window import MessageWindow, Window

if TYPE_CHECKING:
    from rich.console import Console

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
