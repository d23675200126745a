"""The views of a log on PostgreSQL, opened for a store."""

from __future__ import annotations

from functools import partial
from uuid import UUID

from onrecord.adapters.storage.postgres.postgres import Postgres
from onrecord.adapters.views.encrypted import Opening
from onrecord.adapters.views.own_projections import OwnProjections, views_of_store
from onrecord.adapters.views.postgres.keeper import PostgresKeeper
from onrecord.adapters.views.postgres.pages import PostgresPages
from onrecord.adapters.views.postgres.worker import Worker
from onrecord.adapters.views.reading import Views
from onrecord.adapters.views.row_names import with_keys
from onrecord.projections.views.view import View


def server_views(log: Postgres, url: str, tenant: UUID, opening: Opening) -> Views:
    """Return the views of a log as it is stored; workers of this process connect by `url`."""
    texts, reading = opening.texts, opening.reading
    table, naming = views_of_store(texts), partial(with_keys, opening.named, tenant)

    def worker(view: View) -> Worker:
        return Worker(url, {view.name: view}, wakeups=log.wakeups, reading=reading)

    # A forked child has other connections.
    return Views(
        PostgresPages(log, texts.views(), reading=reading),
        lambda: PostgresKeeper(log.connections, table, naming=naming, reading=reading),
        opening.named,
        tenant,
        own_projections=OwnProjections(table, worker, texts),
    )
