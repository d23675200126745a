"""The commands that keep views: their arguments and their help; view_keeping.py does the work."""

from __future__ import annotations

from typing import Annotated

import typer

from onrecord.adapters.cli.commands.options import AsJson, Url
from onrecord.adapters.cli.commands.program import opened

View = Annotated[str, typer.Argument(help="The view's name: `onrecord views` lists them.")]


def views(context: typer.Context, url: Url = None, as_json: AsJson = False) -> None:
    """Show how the views stand: how far each has come, what is parked, what stands still.

    And, on standard error, whether workers are at work, and what is parked of other tenants.
    Piped: view, generation that is read, position, events that it is behind, conversations of this
    tenant that are parked, state.

    Example: `onrecord views`
    """
    from onrecord.adapters.cli.view_keeping import status

    with opened(context, url) as store:
        status(store, as_json=as_json)


def parked(
    context: typer.Context,
    view: Annotated[str | None, typer.Argument(help="Of this view.", show_default="all")] = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Show the events that a view could not fold, behind which their conversations wait in it.

    Piped: view, key, version, type, attempts, when it is tried again, error.

    Example: `onrecord parked search`
    """
    from onrecord.adapters.cli.view_keeping import parked

    with opened(context, url) as store:
        parked(store, view, as_json=as_json)


def pause(context: typer.Context, view: View, url: Url = None, as_json: AsJson = False) -> None:
    """Let a view stand still until it is resumed; it can still be read.

    Example: `onrecord pause search`
    """
    from onrecord.adapters.cli.view_keeping import changed

    with opened(context, url) as store:
        store.views.keeper.pause(view)
    changed(view, "paused", as_json=as_json)


def resume(context: typer.Context, view: View, url: Url = None, as_json: AsJson = False) -> None:
    """Let a view go on that was paused, or that stopped by itself.

    Example: `onrecord resume search`
    """
    from onrecord.adapters.cli.view_keeping import changed

    with opened(context, url) as store:
        store.views.keeper.resume(view)
    changed(view, "resumed", as_json=as_json)


def retry(
    context: typer.Context,
    view: View,
    conversation: Annotated[
        str | None,
        typer.Option(
            "--conversation", "-c", metavar="KEY", help="This one only.", show_default="all"
        ),
    ] = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Have parked events tried again now.

    Example: `onrecord retry search --conversation support/4711`
    """
    from onrecord.adapters.cli.view_keeping import retried

    with opened(context, url) as store:
        retried(store, view, conversation, as_json=as_json)


def rebuild(
    context: typer.Context,
    view: View,
    abandon: Annotated[
        bool, typer.Option("--abandon", help="Drop what an unfinished rebuild has made.")
    ] = False,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Make a view anew from the log, beside the one that is read, and switch when it has caught up.

    After Ctrl-C, the same command goes on where it was.

    Example: `onrecord rebuild search`
    """
    from onrecord.adapters.cli.view_keeping import changed, rebuilt

    with opened(context, url) as store:
        keeper = store.views.keeper
        if not abandon:
            rebuilt(keeper, view, as_json=as_json)
            return
        done = "abandoned" if keeper.abandon(view) else "there was nothing to abandon"
    changed(view, done, as_json=as_json)
