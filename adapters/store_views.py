"""Where the views of a store are kept: beside its log, in the same database."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, cast
from uuid import UUID

if TYPE_CHECKING:
    from onrecord.adapters.redis.tails import Followed
    from onrecord.adapters.storage.postgres.postgres import Postgres
    from onrecord.adapters.storage.sqlite.sqlite import Sqlite
    from onrecord.adapters.views.reading import Views


def views_of(url: str, backend: Followed, tenant: UUID, direct: str | None) -> Views:
    """Return the views of the backend of an URL; `direct` leads past a pooler."""
    from onrecord.adapters.views.own_projections import OwnProjections, views_of_store
    from onrecord.adapters.views.reading import Views, with_keys

    naming, table = partial(with_keys, backend, tenant), views_of_store()
    scheme = url.partition(":")[0].lower()
    if scheme in ("postgresql", "postgres"):
        from onrecord.adapters.views.postgres.keeper import PostgresKeeper
        from onrecord.adapters.views.postgres.pages import PostgresPages
        from onrecord.adapters.views.postgres.worker import Worker

        log = cast("Postgres", backend)
        own_projections = OwnProjections(
            table, lambda view: Worker(direct or url, {view.name: view}, wakeups=log.wakeups)
        )
        # A forked child has other connections.
        return Views(
            PostgresPages(log),
            lambda: PostgresKeeper(log.connections, table, naming=naming),
            log,
            tenant,
            own_projections=own_projections,
        )
    from onrecord.adapters.views.sqlite.views import SqliteViews

    path = cast("Sqlite", backend).file.path if scheme == "sqlite" else None
    views = SqliteViews(backend, path, naming=naming, views=table)
    own_projections = OwnProjections(table, lambda view: views.runner(view, backend.wakeups))
    return Views(views, lambda: views, backend, tenant, own_projections=own_projections)
