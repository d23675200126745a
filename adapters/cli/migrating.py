"""`onrecord migrate`: bring a store to this release's schema."""

from __future__ import annotations

from onrecord.adapters import app
from onrecord.adapters.cli import output
from onrecord.adapters.cli.quantities import counted


def migrate(url: str | None, *, as_json: bool) -> None:
    """Migrate a store and say how many steps that took."""
    steps = app.migrate(url)
    if as_json:
        output.json_line({"steps": steps})
    elif steps:
        output.sentence(f"Done, in {counted(steps, 'step')}.")
    else:
        output.sentence("Nothing to do: the schema is this release's.")
