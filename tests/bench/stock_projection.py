"""The same work in the `eventsourcing` library's own terms: sums of tokens by day and model.

An event a response, one row a day and model, tracking and sum in one transaction: as the library's
ProjectionRunner does it, on its stock PostgreSQL recorder.
"""

from __future__ import annotations

from datetime import datetime
from time import perf_counter
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from uuid import UUID

from eventsourcing.application import Application
from eventsourcing.dispatch import singledispatchmethod
from eventsourcing.domain import Aggregate, event
from eventsourcing.persistence import Tracking
from eventsourcing.postgres import PostgresTrackingRecorder
from eventsourcing.projection import Projection, ProjectionRunner
from psycopg.sql import SQL

from tests.bench.payload import text

_RUNS = 100
"""Events of an aggregate that are saved at once: filling is not what is measured."""


class Conversation(Aggregate):
    """A conversation that only its responses are known of."""

    @event("Answered")
    def answer(self, model: str, tokens: int, said: str) -> None:
        """Take a response."""
        del model, tokens, said


class Conversations(Application[UUID]):
    """Conversations."""


class Sums(PostgresTrackingRecorder):
    """Sums by day and model, in one transaction with the tracking."""

    def __init__(self, datastore: Any, **kwargs: Any) -> None:
        super().__init__(datastore, **kwargs)
        table = (
            "CREATE TABLE IF NOT EXISTS tokens_by_day (day date, model text, tokens bigint, "
            "PRIMARY KEY (day, model))"
        )
        self.sql_create_statements.append(SQL(table).format())

    def add(self, day: datetime, model: str, tokens: int, tracking: Tracking) -> None:
        """Add tokens."""
        with self.datastore.transaction(commit=True) as cursor:
            self._insert_tracking(cursor, tracking)
            cursor.execute(
                "INSERT INTO tokens_by_day AS t VALUES (%s, %s, %s) "
                "ON CONFLICT (day, model) DO UPDATE SET tokens = t.tokens + excluded.tokens",
                (day.date(), model, tokens),
                prepare=True,
            )


class Summing(Projection[Sums]):
    """Adds up what responses took."""

    name = "summing"

    @singledispatchmethod
    def process_event(self, domain_event: Any, tracking: Tracking) -> None:
        """Take an event."""
        if isinstance(domain_event, Conversation.Answered):  # type: ignore[attr-defined]
            answered: Any = domain_event
            self.view.add(answered.timestamp, answered.model, answered.tokens, tracking)


def filled(url: str, events: int) -> None:
    """Save conversations of so many events in all."""
    application = Conversations(env=environment(url))
    for _ in range(max(events // _RUNS, 1)):
        chat = Conversation()
        for _ in range(min(_RUNS, events) - 1):
            chat.answer(model="claude-sonnet-5", tokens=110, said=text())
        application.save(chat)
    application.close()


def rate(url: str) -> float:
    """Return how many events a second a runner folds, of all that there are, from the first on."""
    place = environment(url)
    began = perf_counter()
    with ProjectionRunner(
        application_class=Conversations, projection_class=Summing, view_class=Sums, env=place
    ) as runner:
        last = runner.app.recorder.max_notification_id()
        assert last is not None
        runner.wait(last, timeout=600)
        return int(last) / (perf_counter() - began)


def environment(url: str) -> dict[str, str]:
    """Return what names a database to the library."""
    parts = urlsplit(url)
    host = parse_qs(parts.query).get("host", [parts.hostname or ""])[0]
    return {
        "PERSISTENCE_MODULE": "eventsourcing.postgres",
        "POSTGRES_DBNAME": parts.path.lstrip("/"),
        "POSTGRES_HOST": host,
        "POSTGRES_PORT": str(parts.port or 5432),
        "POSTGRES_USER": unquote(parts.username or ""),
        "POSTGRES_PASSWORD": unquote(parts.password or ""),
    }
