"""The views of a log on SQLite, or in memory, opened for a store."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

from onrecord.adapters.views.encrypted import Opening
from onrecord.adapters.views.own_projections import OwnProjections, views_of_store
from onrecord.adapters.views.reading import Views
from onrecord.adapters.views.row_names import with_keys
from onrecord.adapters.views.sqlite.views import SqliteViews

if TYPE_CHECKING:
    from onrecord.adapters.redis.tails import Followed


def file_views(log: Followed, path: Path | None, tenant: UUID, opening: Opening) -> Views:
    """Return the views of a log as it is stored, beside its file; in memory without a path."""
    table, naming = views_of_store(opening.texts), partial(with_keys, opening.named, tenant)
    views = SqliteViews(log, path, naming=naming, views=table, reading=opening.reading)
    own_projections = OwnProjections(
        table, lambda view: views.runner(view, log.wakeups), opening.texts
    )
    return Views(views, lambda: views, opening.named, tenant, own_projections=own_projections)
